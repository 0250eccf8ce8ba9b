extlib::mkdir_p('/srv/app/data')
file { '/srv/app/data/settings.ini':
  content => extlib::to_ini({ 'main' => { 'network' => extlib::cidr_to_network('192.0.2.10/24') } }),
}
cron { 'report':
  command => '/usr/local/bin/report',
  minute  => extlib::ip_to_cron()[1],
}
