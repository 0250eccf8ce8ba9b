setting::sudo { 'deploy':
  rules => [
    'Defaults:deploy !requiretty',
    'deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart app.service',
  ],
}
