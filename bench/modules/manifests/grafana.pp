class { 'grafana':
  cfg => {
    'app_mode' => 'production',
    'server'   => { 'http_port' => 8080 },
  },
}
