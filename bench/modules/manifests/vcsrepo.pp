vcsrepo { '/opt/site':
  ensure   => present,
  provider => git,
  source   => 'file:///srv/site.git',
  revision => 'main',
}
