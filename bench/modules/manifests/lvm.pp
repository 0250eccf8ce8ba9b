physical_volume { '/dev/vdb':
  ensure => present,
}
volume_group { 'data':
  ensure           => present,
  physical_volumes => '/dev/vdb',
}
lvm::logical_volume { 'home':
  ensure       => present,
  volume_group => 'data',
  fs_type      => 'ext4',
  size         => '1G',
  mountpath    => '/srv/home',
}
