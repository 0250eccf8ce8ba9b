filebucket { 'near':
  path => '/srv/bucket',
}
File { backup => 'near' }
file { '/srv/case/x':
  content => "new\n",
}
file { '/srv/case/y':
  content => "new\n",
  backup  => '.old',
}
file { '/srv/case/z':
  ensure => absent,
}
