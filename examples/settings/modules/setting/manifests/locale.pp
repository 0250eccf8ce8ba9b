# Generates locales and sets LANG for new sessions. Debian and Red Hat families.
class setting::locale (
  Pattern[/\A[a-zA-Z_]+\.UTF-8\z/] $lang,
  Array[Pattern[/\A[a-zA-Z_]+\.UTF-8\z/]] $more = [],
) {
  $locales = unique([$lang] + $more)

  if $facts['os']['family'] == 'Debian' {
    $file = '/etc/default/locale'
    $names = $locales.map |$l| { "-e ${l.regsubst('UTF-8', 'utf8')}" }

    package { 'locales':
      ensure => installed,
    }
    $locales.each |$l| {
      file_line { "locale ${l}":
        path    => '/etc/locale.gen',
        line    => "${l} UTF-8",
        match   => "^(# *)?${l} UTF-8",
        require => Package['locales'],
        before  => Exec['locale-gen'],
      }
    }
    exec { 'locale-gen':
      path    => ['/usr/sbin', '/usr/bin', '/sbin', '/bin'],
      unless  => "test $(locale -a | grep -cixF ${names.join(' ')}) = ${locales.length}",
      before  => Ini_setting['LANG'],
    }
  } else {
    $file = '/etc/locale.conf'
    $packages = unique($locales.map |$l| { "glibc-langpack-${l.regsubst('_.*', '')}" })
    package { $packages:
      ensure => installed,
      before => Ini_setting['LANG'],
    }
  }

  ini_setting { 'LANG':
    path              => $file,
    setting           => 'LANG',
    value             => $lang,
    key_val_separator => '=',
  }
}
