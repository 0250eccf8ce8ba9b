# Loads a kernel module now and at boot, or keeps it from being loaded.
define setting::kernel_module (
  Enum[loaded, blacklisted] $ensure = loaded,
  Pattern[/\A\w[\w-]*\z/] $module = $title,
  Optional[String[1]] $options = undef,
) {
  $path = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']
  $dir = "/sys/module/${module.regsubst('-', '_', 'G')}"
  $built_in = "/${module.regsubst('[-_]', '[-_]', 'G')}[.]ko"
  $config = $ensure ? {
    loaded      => $options ? { undef => undef, default => "options ${module} ${options}\n" },
    blacklisted => "blacklist ${module}\ninstall ${module} /bin/false\n",
  }

  file { "/etc/modprobe.d/setting-${module}.conf":
    ensure  => $config ? { undef => absent, default => file },
    content => $config,
  }
  file { "/etc/modules-load.d/setting-${module}.conf":
    ensure  => $ensure ? { loaded => file, default => absent },
    content => "${module}\n",
  }

  if $ensure == loaded {
    exec { "modprobe ${module}":
      path     => $path,
      provider => shell,
      unless   => "test -d ${dir} || grep -q '${built_in}' /lib/modules/$(uname -r)/modules.builtin",
      require  => File["/etc/modprobe.d/setting-${module}.conf"],
    }
  } else {
    # Only a module that is not built in has this file.
    exec { "modprobe -r ${module}":
      path    => $path,
      onlyif  => "test -e ${dir}/initstate",
      require => File["/etc/modprobe.d/setting-${module}.conf"],
    }
  }
}
