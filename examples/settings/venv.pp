setting::venv { '/opt/app':
  packages => {
    'requests' => '2.32.3',
    'gunicorn' => 'installed',
  },
}
