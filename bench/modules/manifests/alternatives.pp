alternative_entry { '/usr/bin/sed':
  ensure   => present,
  altlink  => '/usr/bin/editor',
  altname  => 'editor',
  priority => 10,
}
alternatives { 'editor':
  path => '/usr/bin/sed',
}
