include limits

limits::limits { 'web/nofile':
  soft => 1024,
  hard => 4096,
}
