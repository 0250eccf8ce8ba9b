# Sets the time zone to a name of the tz database.
class setting::timezone (
  Pattern[/\A[A-Za-z][\w+-]*(\/[\w+-]+)*\z/] $zone,
) {
  $file = "/usr/share/zoneinfo/${zone}"

  package { 'tzdata':
    ensure => installed,
  }

  # Fails if the zone is unknown, and keeps the old one.
  -> exec { "time zone ${zone} exists":
    command => "/usr/bin/test -f ${file}",
    unless  => "/usr/bin/test -f ${file}",
  }
  -> file { '/etc/localtime':
    ensure => link,
    target => $file,
  }

  if $facts['os']['family'] == 'Debian' {
    file { '/etc/timezone':
      content => "${zone}\n",
      require => File['/etc/localtime'],
    }
  }
}
