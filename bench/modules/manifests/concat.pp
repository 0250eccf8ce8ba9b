concat { '/etc/motd.parts':
  ensure => present,
  mode   => '0644',
}
concat::fragment { 'head':
  target  => '/etc/motd.parts',
  content => "first\n",
  order   => '01',
}
concat::fragment { 'tail':
  target  => '/etc/motd.parts',
  content => "last\n",
  order   => '99',
}
