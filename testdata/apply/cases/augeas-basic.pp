augeas { 'by context':
  context => '/files/etc/hosts',
  changes => [
    'set 01/ipaddr 192.0.2.1',
    'set 01/canonical one.example.com',
    'set 01/alias[1] one',
  ],
  onlyif  => 'match *[ipaddr = "192.0.2.1"] size == 0',
}
augeas { 'by lens':
  lens    => 'Shellvars.lns',
  incl    => '/srv/case/vars',
  changes => [
    'set A "2"',
    'set B \'"two words"\'',
    'rm C',
    'defvar d D',
    'set $d 4',
    'ins E before F',
    'set E 5',
    'mv G H',
  ],
  onlyif  => 'get A != 2',
}
augeas { 'nothing to do':
  lens    => 'Shellvars.lns',
  incl    => '/srv/case/vars',
  changes => 'set F 6',
  require => Augeas['by lens'],
}
augeas { 'condition is false':
  lens    => 'Shellvars.lns',
  incl    => '/srv/case/vars',
  changes => 'set A 9',
  onlyif  => 'values * include none',
}
augeas { 'a new file':
  lens    => 'Sysctl.lns',
  incl    => '/srv/case/new.conf',
  changes => ['set net.x 1', 'set #comment[1] "hello"'],
}
augeas { 'many':
  lens    => 'Sysctl.lns',
  incl    => '/srv/case/many.conf',
  changes => ['setm . *[.="1"] 2', 'rename old new', 'touch #comment', 'set #comment[last()] end', 'rm none'],
  onlyif  => 'match old size == 1',
}
augeas { 'malformed':
  lens    => 'Sysctl.lns',
  incl    => '/srv/case/malformed.conf',
  changes => 'set a 1',
}
~> exec { '/bin/echo x >> /srv/case/log':
  refreshonly => true,
}
