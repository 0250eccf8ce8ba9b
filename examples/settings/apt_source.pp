setting::apt_source { 'pgdg':
  uris       => ['https://apt.postgresql.org/pub/repos/apt'],
  suites     => ["${facts['os']['distro']['codename']}-pgdg"],
  components => ['main'],
  key        => 'https://www.postgresql.org/media/keys/ACCC4CF8.asc',
}
-> package { 'postgresql-client-17':
  ensure => installed,
}
