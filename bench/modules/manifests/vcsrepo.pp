exec { 'the repository':
  command     => "git init -q -b main /srv/site.git && git -C /srv/site.git commit -q --allow-empty -m first",
  path        => '/usr/bin:/bin',
  creates     => '/srv/site.git',
  environment => [
    'GIT_AUTHOR_NAME=web', 'GIT_AUTHOR_EMAIL=web@example.com', 'GIT_AUTHOR_DATE=2020-01-01T00:00:00Z',
    'GIT_COMMITTER_NAME=web', 'GIT_COMMITTER_EMAIL=web@example.com', 'GIT_COMMITTER_DATE=2020-01-01T00:00:00Z',
  ],
}
-> vcsrepo { '/opt/site':
  ensure   => present,
  provider => git,
  source   => 'file:///srv/site.git',
  revision => 'main',
}
