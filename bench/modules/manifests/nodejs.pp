class { 'nodejs':
  repo_version => '20',
}
package { 'express':
  ensure   => present,
  provider => 'npm',
}
