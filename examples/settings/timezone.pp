class { 'setting::timezone':
  zone => 'Europe/Berlin',
}
