class { 'backup':
  directories => ['/etc', '/srv'],
  hour        => 3,
}
