class { 'mongodb::globals':
  manage_package_repo => true,
  version             => '7.0.5',
}
-> class { 'mongodb::server':
  port => 27018,
}
mongodb::db { 'shop':
  user          => 'shop',
  password_hash => mongodb_password('shop', 'cart'),
}
