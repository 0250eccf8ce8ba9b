class { 'postgresql::server':
}
postgresql::server::db { 'shop':
  user     => 'shop',
  password => postgresql::postgresql_password('shop', 'cart'),
}
postgresql::server::pg_hba_rule { 'local network':
  type        => 'host',
  database    => 'shop',
  user        => 'shop',
  address     => '192.0.2.0/24',
  auth_method => 'md5',
}
