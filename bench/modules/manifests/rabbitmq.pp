class { 'rabbitmq':
  port              => 5672,
  delete_guest_user => true,
}
rabbitmq_user { 'shop':
  admin    => true,
  password => 'cart',
}
rabbitmq_vhost { 'shop':
  ensure => present,
}
