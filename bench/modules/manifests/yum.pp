class { 'yum':
  config_options => { 'installonly_limit' => 3 },
}
yum::versionlock { 'bash':
  ensure  => present,
  version => '5.1.8',
  release => '6.el9',
  epoch   => 0,
}
