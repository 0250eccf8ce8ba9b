package { ['mariadb-server', 'mariadb-client']:
  ensure => installed,
  mark   => hold,
}
