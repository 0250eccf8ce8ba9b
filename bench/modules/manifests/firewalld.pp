include firewalld

firewalld_zone { 'restricted':
  ensure  => present,
  target  => '%%REJECT%%',
  sources => ['192.0.2.0/24'],
}
firewalld_port { 'web':
  ensure   => present,
  zone     => 'public',
  port     => 8080,
  protocol => 'tcp',
}
