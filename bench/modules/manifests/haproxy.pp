include haproxy

haproxy::listen { 'web':
  ipaddress => '192.0.2.10',
  ports     => '80',
  options   => { 'balance' => 'roundrobin' },
}
haproxy::balancermember { 'web1':
  listening_service => 'web',
  server_names      => 'web1',
  ipaddresses       => '192.0.2.20',
  ports             => '8080',
}
