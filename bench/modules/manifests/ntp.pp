class { 'ntp':
  servers => ['0.pool.example.com', '1.pool.example.com'],
}
