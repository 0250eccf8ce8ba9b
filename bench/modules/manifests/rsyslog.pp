class { 'rsyslog::client':
  remote_type => 'tcp',
  server      => 'logs.example.com',
}
