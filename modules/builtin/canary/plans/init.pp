# @summary
#   Run a command, a script or a task on a few targets first, and on the others
#   only if it succeeds there.
#
# Exactly one of command, script and task says what is run. The first targets,
# the canaries, are chosen at random. If it fails on one of them, the others are
# skipped: each of those has a result with an error of the kind
# canary/skipped-target.
#
# @param task The name of the task to run.
# @param command The command to run.
# @param script The script to run.
# @param targets The targets to run it on.
# @param params
#   Parameters and options for it, as run_task, run_command and run_script take
#   them.
# @param canary_size How many targets are canaries.
# @return The results of all targets.
#
# @example Run a command
#   run_plan('canary', 'command' => 'whoami', 'targets' => $targets, 'canary_size' => 2)
plan canary (
  TargetSpec           $targets,
  Optional[String[0]]  $task        = undef,
  Optional[String[0]]  $command     = undef,
  Optional[String[0]]  $script      = undef,
  Hash[String, Data]   $params      = {},
  Integer              $canary_size = 1,
) {
  $actions = { 'run_task' => $task, 'run_command' => $command, 'run_script' => $script }
  $given = $actions.filter |$action, $object| { $object =~ NotUndef }
  if $given.length != 1 {
    fail_plan('Give exactly one of command, script and task', 'canary/invalid-params')
  }
  $action = $given.keys[0]
  $object = $given.values[0]

  [$canaries, $others] = canary::random_split(get_targets($targets), $canary_size)
  $options = $params + { '_catch_errors' => true }

  $first = call($action, $object, $canaries, $options)
  $rest = if $first.ok {
    call($action, $object, $others, $options)
  } else {
    canary::skip($others)
  }

  $results = canary::merge($first, $rest)
  unless $results.ok {
    $message = if $first.ok {
      "Failed on ${results.error_set.count} of ${results.count} targets."
    } else {
      "Failed on ${first.error_set.count} of ${first.count} canaries. ${rest.count} targets were skipped."
    }
    fail_plan($message, 'bolt/run-failure', {
      'action'     => $action,
      'object'     => $object,
      'result_set' => $results,
    })
  }
  return $results
}
