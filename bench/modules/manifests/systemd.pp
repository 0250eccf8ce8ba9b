include systemd

systemd::unit_file { 'job.service':
  content => "[Unit]\nDescription=Job\n[Service]\nExecStart=/bin/true\n",
  enable  => false,
  active  => false,
}
systemd::dropin_file { 'limits.conf':
  unit    => 'job.service',
  content => "[Service]\nLimitNOFILE=1024\n",
}
systemd::manage_unit { 'other.service':
  unit_entry    => { 'Description' => 'Other' },
  service_entry => { 'Type' => 'oneshot', 'ExecStart' => '/bin/true' },
}
