yumrepo { 'new':
  ensure   => present,
  descr    => 'A new repository',
  baseurl  => 'http://example.com/$basearch http://example.org/$basearch',
  enabled  => true,
  gpgcheck => 0,
  gpgkey   => 'file:///etc/pki/key',
  cost     => 100,
}
yumrepo { 'base':
  enabled    => '0',
  mirrorlist => 'absent',
  exclude    => 'kernel*',
  descr      => 'Base',
}
yumrepo { 'same':
  enabled => '1',
  timeout => '30',
}
yumrepo { 'old':
  ensure => absent,
}
yumrepo { 'last':
  ensure => absent,
}
yumrepo { 'moved':
  target  => 'elsewhere',
  enabled => 1,
}
yumrepo { 'secret':
  username => 'me',
  password => 'new',
}
