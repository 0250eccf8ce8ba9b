class { 'mysql::server':
  root_password    => 'secret',
  override_options => { 'mysqld' => { 'max_connections' => '1024' } },
}
mysql::db { 'shop':
  user     => 'shop',
  password => 'cart',
  host     => 'localhost',
  grant    => ['SELECT', 'UPDATE'],
}
