# Writes a file of rules for sudo. visudo checks it before it replaces the old file.
define setting::sudo (
  Array[String[1]] $rules = [],
  Enum[present, absent] $ensure = present,
  Pattern[/\A[\w-]+\z/] $file = $title, # sudo ignores names with a dot
) {
  unless defined(Package['sudo']) {
    package { 'sudo':
      ensure => installed,
    }
  }
  file { "/etc/sudoers.d/${file}":
    ensure       => $ensure,
    owner        => 'root',
    group        => 'root',
    mode         => '0440',
    content      => "${rules.join("\n")}\n",
    validate_cmd => '/usr/sbin/visudo -cf %',
    require      => Package['sudo'],
  }
}
