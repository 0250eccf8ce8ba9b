class { 'memcached':
  max_memory => '12%',
}
