# Installs a drop-in: settings that change an installed unit of systemd. Let it
# notify the service if the service must restart.
define setting::dropin (
  Pattern[/\A[\w@:.-]+\.[a-z]+\z/] $unit,
  Optional[String[1]] $content = undef,
  Enum[present, absent] $ensure = present,
  Pattern[/\A[\w-]+\z/] $file = $title,
) {
  $dir = "/etc/systemd/system/${unit}.d"

  unless defined(File[$dir]) {
    file { $dir:
      ensure => directory,
      mode   => '0755',
    }
  }
  file { "${dir}/${file}.conf":
    ensure  => $ensure,
    mode    => '0644',
    content => $content,
  }

  # Also true if an earlier run was interrupted here.
  -> exec { "reload systemd for ${title}":
    command  => 'systemctl daemon-reload',
    onlyif   => "systemctl show --property=NeedDaemonReload -- ${unit} | grep -q yes",
    path     => ['/usr/bin', '/bin'],
    provider => shell,
  }
}
