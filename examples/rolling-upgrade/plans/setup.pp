# @summary Sets the shop up: a release on the web servers, HAProxy in front of them
#
# With a shop that is open already, this closes it for a moment.
#
# @param version The release to begin with: a folder of files/releases
# @param targets The web servers
# @param balancer The machine of the balancer
plan shop::setup(Shop::Version $version, TargetSpec $targets = 'web', TargetSpec $balancer = 'lb') {
  $machines = get_targets($targets)
  $lb = get_target($balancer)
  $port = $lb.vars['port']

  run_command('mkdir -p shared', $machines, 'make a place for settings')
  parallelize($machines) |$m| {
    write_file("listen=${m.host}:${port}\n", 'shared/settings', $m)
  }
  run_plan('shop::stage', 'targets' => $machines, 'version' => $version)
  run_task('shop::activate', $machines, "make ${version} current", 'version' => $version)
  run_task('shop::service', $machines, 'restart', 'action' => 'restart')
  run_task('shop::health', $machines, 'ask', 'version' => $version, 'wait' => 10)

  $servers = Hash($machines.map |$m| { [$m.name, $m.host] })
  $config = epp('shop/haproxy.cfg.epp', 'address' => $lb.host, 'port' => $port, 'servers' => $servers)
  write_file($config, 'haproxy.cfg', $lb)
  run_task('shop::balancer', $lb, 'start the balancer', 'action' => 'start')
  run_task('shop::backend', $lb, 'wait for the balancer', 'action' => 'ready', 'servers' => $servers.keys)
  return("http://${lb.host}:${port}/ answers with release ${version}")
}
