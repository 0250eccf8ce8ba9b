include archive

archive { '/opt/tool.tar.gz':
  ensure       => present,
  source       => 'file:///srv/tool.tar.gz',
  extract      => true,
  extract_path => '/opt',
  creates      => '/opt/tool',
}
