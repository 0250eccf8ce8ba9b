class { 'ssh':
  storeconfigs_enabled => false,
  server_options       => {
    'PasswordAuthentication' => 'no',
    'Port'                   => [22, 2222],
  },
  client_options       => {
    'Host *.example.com' => { 'User' => 'deploy' },
  },
}
