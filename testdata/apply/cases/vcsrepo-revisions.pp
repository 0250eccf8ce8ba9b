Vcsrepo {
  provider => git,
  source   => '/srv/origin',
}
vcsrepo { '/srv/case/plain':
  ensure => present,
}
vcsrepo { '/srv/case/tag':
  ensure   => present,
  revision => 'v1',
}
vcsrepo { '/srv/case/branch':
  ensure   => present,
  revision => 'dev',
}
vcsrepo { '/srv/case/latest':
  ensure   => latest,
  revision => 'main',
}
vcsrepo { '/srv/case/detached':
  ensure   => latest,
  revision => 'v1',
}
vcsrepo { '/srv/case/gone':
  ensure => absent,
}
vcsrepo { '/srv/case/owned':
  ensure => present,
  user   => 'daemon',
  owner  => 'daemon',
}
