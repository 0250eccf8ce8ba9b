include nginx

nginx::resource::server { 'www.example.com':
  www_root => '/srv/www',
}
nginx::resource::upstream { 'app':
  members => {
    'one' => { 'server' => '192.0.2.20', 'port' => 3000 },
  },
}
nginx::resource::location { '/api':
  server => 'www.example.com',
  proxy  => 'http://app',
}
