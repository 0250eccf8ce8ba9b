class { 'apt':
  update => { 'frequency' => 'daily' },
}
apt::source { 'example':
  location => 'http://packages.example.com/debian',
  release  => 'bookworm',
  repos    => 'main contrib',
}
apt::pin { 'example':
  packages => 'nginx',
  priority => 700,
  origin   => 'deb.example.com',
}
apt::conf { 'norecommends':
  content  => 'APT::Install-Recommends "false";',
  priority => 10,
}
