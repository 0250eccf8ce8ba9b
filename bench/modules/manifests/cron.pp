include cron

cron::job { 'backup':
  minute      => '40',
  hour        => '2',
  user        => 'root',
  command     => '/usr/local/bin/backup',
  environment => ['MAILTO=root'],
}
cron::daily { 'clean':
  minute  => '1',
  hour    => '3',
  command => '/usr/local/bin/clean',
}
