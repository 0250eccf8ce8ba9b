# What all machines have.
class base (
  Array[String[1]] $admins,
  String[1] $group,
) {
  file { '/etc/motd':
    source => 'puppet:///modules/base/motd',
  }
  $admins.each |$name| {
    user { $name:
      ensure => present,
      groups => [$group],
    }
  }
}
