# Replaces all rules of the packet filter. nft checks the file before it replaces
# the old one, and loads it in one step.
class setting::nftables (
  String[1] $rules,
) {
  $file = $facts['os']['family'] ? {
    'RedHat' => '/etc/sysconfig/nftables.conf',
    default  => '/etc/nftables.conf',
  }

  package { 'nftables':
    ensure => installed,
  }
  -> file { $file:
    mode         => '0600',
    content      => "#!/usr/sbin/nft -f\nflush ruleset\n\n${rules}",
    validate_cmd => '/usr/sbin/nft -c -f %',
  }
  ~> service { 'nftables':
    ensure  => running,
    enable  => true,
    restart => 'systemctl reload nftables', # a restart would open the machine for a moment
  }
}
