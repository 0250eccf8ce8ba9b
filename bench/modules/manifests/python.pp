class { 'python':
  version => '3',
  dev     => 'present',
  venv    => 'present',
}
python::pyvenv { '/opt/app':
  ensure  => present,
  version => 'system',
}
python::pip { 'flask':
  ensure     => present,
  virtualenv => '/opt/app',
}
