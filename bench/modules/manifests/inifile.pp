ini_setting { 'port':
  ensure  => present,
  path    => '/etc/service.ini',
  section => 'server',
  setting => 'port',
  value   => '8080',
}
ini_subsetting { 'memory':
  ensure     => present,
  path       => '/etc/default/service',
  section    => '',
  setting    => 'JAVA_ARGS',
  subsetting => '-Xmx',
  value      => '512m',
}
inifile::create_ini_settings({ 'main' => { 'color' => 'never' } }, { 'path' => '/etc/tool.ini' })
