archive { '/srv/case/missing':
  source => '/srv/case/in/none',
}
archive { '/srv/case/wrong':
  source        => '/srv/case/in/plain',
  checksum      => '00000000000000000000000000000000',
  checksum_type => 'md5',
}
archive { '/srv/case/broken.tar':
  source       => '/srv/case/in/plain',
  extract      => true,
  extract_path => '/srv/case',
}
-> notify { 'after the archive': }
archive { '/srv/case/nowhere.tar':
  source       => '/srv/case/in/plain',
  extract      => true,
  extract_path => '/srv/case/none',
}
archive { '/srv/case/fine':
  source          => '/srv/case/in/plain',
  checksum        => '00000000000000000000000000000000',
  checksum_type   => 'md5',
  checksum_verify => false,
}
