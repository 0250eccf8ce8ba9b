# @summary Brings machines to a release that they have already, all of them at once
#
# They are out of the balancer while that happens. If anything fails they stay out.
#
# @param version The release
# @param targets The machines
# @param balancer The machine of the balancer
# @param wait How many seconds the release may take to be well
# @api private
plan shop::swap(Shop::Version $version, TargetSpec $targets, TargetSpec $balancer, Integer[0] $wait = 10) {
  $names = get_targets($targets).map |$t| { $t.name }
  $who = $names.join(', ')

  run_task('shop::backend', $balancer, "take ${who} out of the balancer", 'action' => 'drain', 'servers' => $names)
  run_task('shop::activate', $targets, "make ${version} current", 'version' => $version)
  run_task('shop::service', $targets, 'restart', 'action' => 'restart', '_timeout' => 60)
  run_task('shop::health', $targets, "wait until ${version} is well", 'version' => $version, 'wait' => $wait)
  run_task('shop::backend', $balancer, "put ${who} back", 'action' => 'ready', 'servers' => $names)
}
