class { 'setting::hostname':
  hostname => $trusted['certname'].split('[.]')[0],
  domain   => 'example.com',
}
