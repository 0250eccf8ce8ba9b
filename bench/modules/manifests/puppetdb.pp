class { 'puppetdb::globals':
  puppet_confdir => '/etc/puppetlabs/puppet',
}
class { 'puppetdb':
  java_args => { '-Xmx' => '1g' },
}
