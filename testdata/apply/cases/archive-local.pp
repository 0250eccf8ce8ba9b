# A file of the machine, and a directory that does not exist yet.
archive { '/srv/case/new/plain':
  source => '/srv/case/in/plain',
}
# The checksum is that of the file.
archive { '/srv/case/checked':
  source        => 'file:///srv/case/in/plain',
  checksum      => '8b1a9953c4611296a827abf8c47804d7',
  checksum_type => 'md5',
}
archive { '/srv/case/from-url':
  source        => '/srv/case/in/plain',
  checksum_url  => '/srv/case/in/plain.sha256',
  checksum_type => 'sha256',
}
# This file has another content, and is replaced.
archive { '/srv/case/replaced':
  source        => '/srv/case/in/plain',
  checksum      => '8b1a9953c4611296a827abf8c47804d7',
  checksum_type => 'md5',
}
# This one is there, and has no checksum.
archive { '/srv/case/kept':
  source => '/srv/case/in/plain',
}
archive { '/srv/case/gone':
  ensure => absent,
}
# creates exists.
archive { '/srv/case/unneeded':
  source  => '/srv/case/in/plain',
  creates => '/srv/case/in/plain',
}
archive { '/srv/case/from-module':
  source => 'puppet:///modules/demo/hello.txt',
}
