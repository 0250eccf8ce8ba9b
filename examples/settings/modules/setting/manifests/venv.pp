# Makes a virtual environment of Python and installs packages in it.
define setting::venv (
  Hash[Pattern[/\A[\w.-]+\z/], String[1]] $packages = {}, # versions, installed or latest
  Pattern[/\A\/[\w.\/-]+\z/] $path = $title,
  String[1] $python = 'python3',
) {
  if $facts['os']['family'] == 'Debian' {
    unless defined(Package['python3-venv']) {
      package { 'python3-venv':
        ensure => installed,
      }
    }
    Package['python3-venv'] -> Exec["venv ${path}"]
  }

  exec { "venv ${path}":
    command => "${python} -m venv ${path}",
    path    => ['/usr/local/bin', '/usr/bin', '/bin'],
    creates => "${path}/bin/pip",
    timeout => 600,
  }
  $packages.each |$name, $version| {
    package { "${path} ${name}":
      ensure   => $version,
      name     => $name,
      provider => pip,
      command  => "${path}/bin/pip",
      require  => Exec["venv ${path}"],
    }
  }
}
