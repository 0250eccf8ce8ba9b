class { 'setting::locale':
  lang => 'en_GB.UTF-8',
  more => ['de_DE.UTF-8'],
}
