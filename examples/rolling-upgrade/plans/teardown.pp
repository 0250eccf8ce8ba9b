# @summary Stops the balancer and the services; the files stay
# @param targets The web servers
# @param balancer The machine of the balancer
plan shop::teardown(TargetSpec $targets = 'web', TargetSpec $balancer = 'lb') {
  run_task('shop::balancer', $balancer, 'stop the balancer', 'action' => 'stop')
  run_task('shop::service', $targets, 'stop the service', 'action' => 'stop')
}
