class { 'zabbix::agent':
  server         => '192.0.2.5',
  zabbix_version => '6.0',
}
