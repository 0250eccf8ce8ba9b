class { 'consul':
  version     => '1.17.0',
  config_hash => {
    'data_dir'   => '/opt/consul',
    'datacenter' => 'east',
    'server'     => false,
  },
}
consul::service { 'web':
  port => 8080,
}
