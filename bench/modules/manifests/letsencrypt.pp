class { 'letsencrypt':
  email => 'admin@example.com',
}
letsencrypt::certonly { 'www.example.com':
  plugin => 'standalone',
}
