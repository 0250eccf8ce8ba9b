class { 'motd':
  content => "Welcome\n",
}
