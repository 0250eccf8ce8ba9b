include archive

exec { 'the archive':
  command => 'mkdir -p /srv/tool && tar -C /srv --sort=name --mtime=2020-01-01 -czf /srv/tool.tar.gz tool',
  path    => '/usr/bin:/bin',
  creates => '/srv/tool.tar.gz',
}
-> archive { '/opt/tool.tar.gz':
  ensure       => present,
  source       => 'file:///srv/tool.tar.gz',
  extract      => true,
  extract_path => '/opt',
  creates      => '/opt/tool',
}
