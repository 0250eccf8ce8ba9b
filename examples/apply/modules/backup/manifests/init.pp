# Archives directories each night.
class backup (
  Array[String[1], 1] $directories,
  Integer[0, 23]      $hour  = 2,
  String[1]           $store = '/var/backups/nightly',
) {
  package { 'cron':
    ensure => installed,
  }

  file { $store:
    ensure => directory,
    mode   => '0700',
  }

  file { '/usr/local/sbin/nightly-backup':
    content => epp('backup/nightly-backup.epp'),
    mode    => '0755',
  }

  file { '/etc/cron.d/nightly-backup':
    content => "0 ${hour} * * * root /usr/local/sbin/nightly-backup\n",
    mode    => '0644',
    require => Package['cron'],
    notify  => Service['cron'],
  }

  service { 'cron':
    ensure => running,
  }
}
