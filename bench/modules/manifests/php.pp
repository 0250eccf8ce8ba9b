class { 'php':
  manage_repos => false,
  settings     => { 'PHP/memory_limit' => '256M' },
}
