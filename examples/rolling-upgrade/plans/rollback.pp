# @summary Brings machines back to a release that they have, one after the other
#
# A machine that cannot go back stays out of the balancer, and the next one gets
# its turn. At the end the plan fails if there was one.
#
# @param version The release
# @param targets The machines
# @param balancer The machine of the balancer
plan shop::rollback(Shop::Version $version, TargetSpec $targets, TargetSpec $balancer = 'lb') {
  $failures = get_targets($targets).reduce({}) |$failures, $t| {
    $outcome = catch_errors() || {
      run_plan('shop::swap', 'targets' => $t, 'balancer' => $balancer, 'version' => $version)
    }
    if $outcome =~ Error {
      $failures + { $t.name => shop::reason($outcome).regsubst("^${t.name}: ", '') }
    } else {
      $failures
    }
  }
  unless $failures.empty {
    $list = $failures.map |$name, $why| { "${name} (${why})" }
    fail_plan("Not back on ${version}, to be looked at: ${list.join(', ')}.", 'shop/rollback-failed', { 'failures' => $failures })
  }
}
