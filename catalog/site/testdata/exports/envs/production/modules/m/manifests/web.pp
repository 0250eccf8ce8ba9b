class m::web {
  tag('webtag')
  $n = $trusted['certname']
  @@group { $n: gid => 7, members => ['a','b'], tag => ['mon', 'x::y'] }
  @@m::check { $n: port => 80, opts => { 'a' => [1, true] , 'r' => /ab/ } }
  @@m::check { "${n}-tls": port => 443 }
  @@file { "conf-$n": path => "/etc/$n.conf", content => 'x', require => Package['p'] }
  package { 'p': }
  @@notify { "n-${n}": message => /re/ }
  @@exec { "e-${n}": command => '/bin/true' }
  @@user { "u-${n}": password => Sensitive('hush'), groups => ['x'] }
}
