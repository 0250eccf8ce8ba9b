Archive {
  extract      => true,
  extract_path => '/srv/case/out',
  require      => File['/srv/case/out'],
}
file { '/srv/case/out':
  ensure => directory,
}
archive { '/srv/case/a.tar.gz':
  source  => '/srv/case/in/a.tar.gz',
  creates => '/srv/case/out/a/one',
}
archive { '/srv/case/b.tar.xz':
  source  => '/srv/case/in/b.tar.xz',
  creates => '/srv/case/out/b/two',
  cleanup => false,
}
archive { '/srv/case/c.tar.bz2':
  source          => '/srv/case/in/c.tar.bz2',
  creates         => '/srv/case/out/three',
  extract_command => 'tar xjf %s --strip-components=1',
}
archive { '/srv/case/d.gz':
  source  => '/srv/case/in/d.gz',
  creates => '/srv/case/d',
  cleanup => false,
}
# Extracted as a user: its files belong to the user.
file { '/srv/case/own':
  ensure => directory,
  owner  => 'daemon',
}
archive { '/srv/case/e.tar':
  source        => '/srv/case/in/e.tar',
  extract_path  => '/srv/case/own',
  creates       => '/srv/case/own/e/five',
  user          => 'daemon',
  group         => 'daemon',
  extract_flags => '-xf',
  require       => File['/srv/case/own'],
}
