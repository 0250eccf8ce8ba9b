# @summary
#   Reboot targets and wait until they are back.
#
# A target is back when its boot time is another than before.
#
# @param targets The targets to reboot.
# @param message What users who are logged in are told.
# @param reboot_delay Seconds until the targets go down; 3 at the least.
# @param disconnect_wait Seconds to wait after that, before looking for the first time.
# @param reconnect_timeout Seconds until targets that are not back have failed.
# @param retry_interval Seconds between two looks.
# @param fail_plan_on_errors Whether the plan fails if a target does.
# @return A result for each target.
plan reboot (
  TargetSpec        $targets,
  Optional[String]  $message             = undef,
  Integer[1]        $reboot_delay        = 1,
  Integer[0]        $disconnect_wait     = 10,
  Integer[0]        $reconnect_timeout   = 180,
  Integer[0]        $retry_interval      = 1,
  Boolean           $fail_plan_on_errors = true,
) {
  $all = get_targets($targets)
  if $all.empty {
    return ResultSet.new([])
  }

  $before = without_default_logging() || {
    run_task('reboot::last_boot_time', $all)
  }
  $note = $message ? { Undef => {}, default => { 'message' => $message } }
  run_task('reboot', $all, $note + { 'timeout' => $reboot_delay })
  ctrl::sleep(max(3, $reboot_delay) + $disconnect_wait)

  $start = Timestamp()
  # As many rounds as there are seconds are never used up before the time is:
  # a round that changes nothing takes a second at least.
  $rounds = max(1, $reconnect_timeout)
  $pause = max(1, $retry_interval)
  $end = without_default_logging() || {
    $rounds.reduce({ 'waiting' => $all, 'back' => [] }) |$state, $_| {
      $waiting = $state['waiting']
      $elapsed = Integer(Timestamp() - $start)
      if $waiting.empty or $state['over'] {
        break()
      }
      $noun = if $waiting.length == 1 { 'target' } else { 'targets' }
      out::message("Waiting for ${waiting.length} ${noun} to reboot")

      $now = run_task('reboot::last_boot_time', $waiting, '_catch_errors' => true)
      $same = $now.results.filter |$result| {
        !$result.ok or $result.value == $before.find($result.target.name).value
      }
      $still = $same.map |$result| { $result.target }
      $over = Integer(Timestamp() - $start) >= $reconnect_timeout
      unless $still.empty or $over {
        ctrl::sleep($pause)
        $left = max(0, $reconnect_timeout - Integer(Timestamp() - $start))
        wait_until_available($still, 'wait_time' => $left, 'retry_interval' => $pause, '_catch_errors' => true)
      }
      ({
          'waiting' => $still,
          'back'    => $state['back'] + ($waiting - $still),
          'over'    => $over,
      })
    }
  }

  $failed = $end['waiting'].map |$target| {
    Result.new($target, {
        '_output' => 'failed to reboot',
        '_error'  => {
          'kind'    => 'bolt/reboot-timeout',
          'msg'     => "${target.name} was not back within ${reconnect_timeout} seconds",
          'details' => {},
        },
    })
  }
  $rebooted = $end['back'].map |$target| {
    Result.new($target, { '_output' => 'rebooted' })
  }
  $results = ResultSet.new($rebooted + $failed)

  if $fail_plan_on_errors and !$results.ok {
    fail_plan("${failed.length} of ${all.length} targets were not back within ${reconnect_timeout} seconds", 'bolt/reboot-failed', {
        'action'         => 'plan/reboot',
        'result_set'     => $results,
        'failed_targets' => $results.error_set.targets,
    })
  }
  return $results
}
