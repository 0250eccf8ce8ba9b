class { 'unattended_upgrades':
  auto => { 'reboot' => false },
  mail => { 'to' => 'admin@example.com' },
}
