Vcsrepo { provider => git }
vcsrepo { '/srv/case/bare':
  ensure => bare,
  source => '/srv/origin',
}
vcsrepo { '/srv/case/mirror':
  ensure => mirror,
  source => '/srv/origin',
}
vcsrepo { '/srv/case/new':
  ensure => present,
}
vcsrepo { '/srv/case/new-bare':
  ensure => bare,
}
vcsrepo { '/srv/case/remotes':
  ensure => present,
  remote => 'up',
  source => { 'up' => '/srv/origin', 'other' => '/srv/other' },
}
vcsrepo { '/srv/case/parts':
  ensure     => present,
  source     => '/srv/origin',
  excludes   => ['*.o', 'tmp/'],
  skip_hooks => true,
}
vcsrepo { '/srv/case/sparse':
  ensure   => present,
  source   => '/srv/origin',
  includes => ['docs'],
}
vcsrepo { '/srv/case/foreign':
  ensure => present,
  source => '/srv/origin',
}
vcsrepo { '/srv/case/forced':
  ensure => present,
  source => '/srv/origin',
  force  => true,
}
vcsrepo { '/srv/case/unknown':
  ensure   => present,
  source   => '/srv/origin',
  revision => 'none',
}
