setting::timer { 'clean-uploads':
  command     => '/usr/bin/find /srv/uploads -mtime +30 -delete',
  on_calendar => '*-*-* 03:15:00',
  user        => 'www-data',
}
