class { 'prometheus::server':
  version        => '2.52.0',
  scrape_configs => [
    {
      'job_name'       => 'node',
      'static_configs' => [{ 'targets' => ['localhost:9100'] }],
    },
  ],
}
include prometheus::node_exporter
