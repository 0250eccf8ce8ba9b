# Sets the name of the system now and at boot. With a domain, also its address in /etc/hosts.
class setting::hostname (
  Pattern[/\A[a-z0-9]([a-z0-9-]*[a-z0-9])?\z/] $hostname,
  Optional[Pattern[/\A[a-z0-9.-]+\z/]] $domain = undef,
  String[1] $ip = '127.0.1.1',
) {
  file { '/etc/hostname':
    content => "${hostname}\n",
  }

  # The kernel keeps the name until the next boot, so sysctl.conf must not have it.
  sysctl { 'kernel.hostname':
    value   => $hostname,
    persist => false,
  }

  if $domain {
    host { "${hostname}.${domain}":
      ip           => $ip,
      host_aliases => $hostname,
    }
  }
}
