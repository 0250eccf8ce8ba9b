# @summary Upgrades the web servers a few at a time, and no customer notices
#
# A batch leaves the balancer, starts the new release, must answer as it, and comes
# back. If that fails, every machine that was touched goes back to the release
# before, and the plan fails. The balancer never has a machine that is not well.
#
# @param version The release: a folder of files/releases
# @param targets The machines
# @param balancer The machine of the balancer
# @param at_once How many machines may be out of the balancer; the first one goes alone
# @param wait How many seconds the release may take to be well
plan shop::upgrade(
  Shop::Version $version,
  TargetSpec $targets = 'web',
  TargetSpec $balancer = 'lb',
  Integer[1] $at_once = 1,
  Integer[0] $wait = 10,
) {
  # Nothing begins unless all is well.
  $running = run_task('shop::health', $targets, 'ask what runs')
  $states = run_task('shop::backend', $balancer, 'ask the balancer').first['servers']
  $out = $running.names.filter |$name| { $states[$name] != 'UP' }
  unless $out.empty {
    fail_plan("Nothing was begun: ${out.join(', ')} must be in the balancer first. The plan shop::rollback brings machines back.",
      'shop/not-ready', { 'states' => $states })
  }
  $todo = $running.filter_set |$r| { $r['version'] != $version }
  if $todo.empty {
    return("All machines run ${version} already")
  }
  $old = $todo.map |$r| { $r['version'] }.unique
  unless $old.length == 1 {
    fail_plan("Nothing was begun: ${old.join(', ')} run, so there is no one release to go back to. Upgrade some of the machines first, with --targets.",
      'shop/not-ready')
  }

  # What takes long harms nobody.
  run_plan('shop::stage', 'targets' => $todo.targets, 'version' => $version)

  $batches = [$todo.targets[0, 1]] + $todo.targets[1, -1].slice($at_once)
  $batches.each |$i, $batch| {
    $outcome = catch_errors() || {
      run_plan('shop::swap', 'targets' => $batch, 'balancer' => $balancer, 'version' => $version, 'wait' => $wait)
    }
    if $outcome =~ Error {
      $what = "Upgrade to ${version} failed on ${shop::reason($outcome)}."
      out::message("${what} Going back to ${old[0]}.")
      $touched = $batches[0, $i + 1].reverse_each.reduce([]) |$list, $b| { $list + $b }
      $back = catch_errors() || {
        run_plan('shop::rollback', 'targets' => $touched, 'balancer' => $balancer, 'version' => $old[0])
      }
      $now = if $back =~ Error { $back.message } else { "All machines run ${old[0]} again." }
      fail_plan("${what} ${now}", 'shop/upgrade-failed')
    }
  }
  return(run_task('shop::health', $targets, 'ask what runs', 'version' => $version))
}
