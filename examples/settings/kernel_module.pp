setting::kernel_module { 'br_netfilter': }

setting::kernel_module { 'loop':
  options => 'max_loop=64',
}

setting::kernel_module { 'usb-storage':
  ensure => blacklisted,
}
