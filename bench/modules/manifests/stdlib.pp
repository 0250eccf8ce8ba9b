include stdlib

file { '/etc/limits.test':
  content => stdlib::to_yaml({ 'open' => [1, 2], 'name' => 'web' }),
}
file_line { 'path':
  path    => '/etc/environment',
  line    => 'LANG=C.UTF-8',
  match   => '^LANG=',
  require => File['/etc/limits.test'],
}
stdlib::ensure_packages(['curl', 'wget'])
