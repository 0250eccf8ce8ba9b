setting::apt_pin { 'backports':
  packages => 'golang-*',
  pin      => 'release n=bookworm-backports',
  priority => 600,
}
