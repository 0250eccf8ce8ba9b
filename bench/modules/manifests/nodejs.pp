class { 'nodejs':
  repo_version => '20',
}
