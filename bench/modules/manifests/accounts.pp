accounts::user { 'dan':
  uid     => '4001',
  shell   => '/bin/bash',
  groups  => ['users'],
  sshkeys => ['ssh-rsa AAAAB3NzaC1yc2EAAAABIwAAAIEAdan dan@example.com'],
}
