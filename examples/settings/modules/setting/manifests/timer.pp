# Runs a command at times that systemd.time(7) describes.
define setting::timer (
  String[1] $command = '/bin/true',
  String[1] $on_calendar = 'daily',
  String[1] $user = 'root',
  Boolean $persistent = true, # run at boot if the machine was off at the time
  Enum[present, absent] $ensure = present,
) {
  $service = @("END")
    [Unit]
    Description=${title}

    [Service]
    Type=oneshot
    User=${user}
    ExecStart=${command}
    | END
  $timer = @("END")
    [Unit]
    Description=${title}

    [Timer]
    OnCalendar=${on_calendar}
    Persistent=${persistent}

    [Install]
    WantedBy=timers.target
    | END

  file { "/etc/systemd/system/${title}.service":
    ensure  => $ensure,
    mode    => '0644',
    content => $service,
  }
  -> setting::unit { "${title}.timer":
    ensure  => $ensure,
    content => $timer,
  }
}
