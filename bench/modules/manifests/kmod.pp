include kmod

kmod::load { 'mymodule':
}
kmod::blacklist { 'floppy':
}
kmod::option { 'bonding':
  module => 'bonding',
  option => 'mode',
  value  => '1',
}
