class { 'elasticsearch':
  jvm_options => ['-Xms1g', '-Xmx1g'],
  config      => { 'cluster.name' => 'search' },
}
