class { 'docker':
  version => 'latest',
}
docker::run { 'web':
  image   => 'nginx',
  command => '',
  ports   => ['8080:80'],
  env     => ['A=1'],
  volumes => ['/srv/web:/usr/share/nginx/html'],
}
