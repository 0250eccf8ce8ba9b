node 'web1', 'web2' {
  include m::web
}
node 'mon' {
  Group { forcelocal => true }
  package { 'p': }
  @@group { 'own': gid => '9', tag => 'mon' }
  Group <<| tag == 'mon' |>> { allowdupe => true }
  M::Check <<| port == 80 |>>
  File <<| |>>
  Notify <<| tag == 'web' and title != 'n-web2' |>>
  Exec <<| |>> -> Notify['end']
  notify { 'end': }
  User <<| |>>
}
