# The kernel has these parameters for each network namespace.
sysctl { 'net.ipv4.ip_forward':
  ensure => present,
  value  => '1',
}
sysctl { 'net.ipv4.conf.all.rp_filter':
  value   => 2,
  comment => 'loose',
}
sysctl { 'net.ipv4.tcp_rmem':
  value => "4096  100000\t200000",
}
sysctl { 'net.ipv4.conf.all.log_martians':
  ensure => absent,
}
sysctl { 'net.ipv4.icmp_echo_ignore_all':
  value   => '1',
  persist => false,
}
sysctl { 'net.ipv4.conf.all.accept_redirects':
  value  => '0',
  apply  => false,
  target => '/srv/case/other.conf',
}
sysctl { 'net.ipv4.none':
  value  => '1',
  silent => true,
}
sysctl { 'net.ipv4.unknown':
  value => '1',
}
