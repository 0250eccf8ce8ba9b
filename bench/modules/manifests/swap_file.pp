swap_file::files { 'default':
  ensure       => present,
  swapfile     => '/mnt/swap.1',
  swapfilesize => '100 MB',
}
