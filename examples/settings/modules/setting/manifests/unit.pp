# Installs a unit of systemd. A changed unit is restarted.
define setting::unit (
  Optional[String[1]] $content = undef,
  Enum[present, absent] $ensure = present,
  Enum[running, stopped] $active = running,
  Boolean $enable = true,
  Pattern[/\A[\w@:.-]+\.(service|socket|timer|path|mount)\z/] $unit = $title,
) {
  $file = "/etc/systemd/system/${unit}"

  if $ensure == present {
    file { $file:
      mode    => '0644',
      content => $content,
    }
    ~> service { $unit:
      ensure => $active,
      enable => $enable,
    }
  } else {
    service { $unit:
      ensure => stopped,
      enable => false,
    }
    -> file { $file:
      ensure => absent,
    }
    ~> exec { "reload systemd without ${unit}":
      command     => 'systemctl daemon-reload',
      path        => ['/usr/bin', '/bin'],
      refreshonly => true,
    }
  }
}
