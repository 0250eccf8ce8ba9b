include firewall

firewall { '100 accept ssh':
  dport => 22,
  proto => 'tcp',
  jump  => 'accept',
}
firewallchain { 'LOCAL:filter:IPv4':
  ensure => present,
}
