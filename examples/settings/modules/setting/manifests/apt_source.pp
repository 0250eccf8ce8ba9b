# Adds a package repository, with the key that must sign it, and reads its lists.
define setting::apt_source (
  Array[String[1]] $uris = [],
  Array[String[1]] $suites = [$facts['os']['distro']['codename']],
  Array[String[1]] $components = [],
  Optional[Pattern[/\.(asc|gpg)\z/]] $key = undef, # puppet:///modules/..., https://... or a path
  Enum[present, absent] $ensure = present,
  Pattern[/\A[\w-]+\z/] $file = $title,
) {
  $keyring = "/etc/apt/keyrings/${file}${key.then |$k| { $k[-4, 4] }}"
  $list = "/etc/apt/sources.list.d/${file}.sources"
  $fields = {
    'Types' => ['deb'], 'URIs' => $uris, 'Suites' => $suites, 'Components' => $components,
    'Signed-By' => if $key { [$keyring] } else { [] },
  }.filter |$name, $values| { !$values.empty }

  unless defined(File['/etc/apt/keyrings']) {
    file { '/etc/apt/keyrings':
      ensure => directory,
    }
  }
  if $key {
    file { $keyring:
      ensure => $ensure,
      mode   => '0644',
      source => $key,
      before => File[$list],
    }
  }
  file { $list:
    ensure  => $ensure,
    mode    => '0644',
    content => $fields.map |$name, $values| { "${name}: ${values.join(' ')}\n" }.join,
  }

  if $ensure == present {
    # The stamp is older than the source until an update has succeeded.
    $stamp = "/var/cache/apt/${file}.updated"
    $newer = [$list] + if $key { [$keyring] } else { [] }
    $only = "-o Dir::Etc::sourcelist=${list} -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0"

    exec { "apt-get update ${file}":
      command  => "apt-get update ${only} -o APT::Update::Error-Mode=any && touch ${stamp}",
      unless   => $newer.map |$f| { "test ${stamp} -nt ${f}" }.join(' && '),
      path     => ['/usr/bin', '/bin'],
      provider => shell,
      require  => File[$list],
    }
  }
}
