setting::dropin { 'limits':
  unit    => 'cron.service',
  content => "[Service]\nMemoryMax=512M\nTasksMax=100\n",
}
~> service { 'cron':
  ensure => running,
}
