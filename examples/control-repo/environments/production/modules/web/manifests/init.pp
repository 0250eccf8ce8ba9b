# A web server.
class web (Integer[1, 65535] $port) {
  package { 'nginx': ensure => installed }
  -> file { '/etc/nginx/conf.d/site.conf':
    content => epp('web/site.conf.epp', { 'port' => $port }),
    mode    => '0644',
  }
  ~> service { 'nginx':
    ensure => running,
    enable => true,
  }
}
