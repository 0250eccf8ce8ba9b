class { 'selinux':
  mode => 'enforcing',
  type => 'targeted',
}
selinux::boolean { 'httpd_can_network_connect':
}
selinux::port { 'web':
  seltype  => 'http_port_t',
  port     => 8080,
  protocol => 'tcp',
}
