alternative_entry { '/usr/bin/vim.tiny':
  ensure   => present,
  altlink  => '/usr/bin/editor',
  altname  => 'editor',
  priority => 10,
}
alternatives { 'editor':
  path => '/usr/bin/vim.tiny',
}
