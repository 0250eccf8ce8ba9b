# @summary
#   Run a command, a script or a task on targets and tell, for each key of the
#   results, which targets gave each value.
#
# Exactly one of command, script and task says what is run.
#
# @param task The name of the task to run.
# @param command The command to run.
# @param script The script to run.
# @param targets The targets to run it on.
# @param params
#   Parameters and options for it, as run_task, run_command and run_script take
#   them.
# @return A hash: key of the results, value as text, names of targets.
plan aggregate::targets (
  TargetSpec           $targets,
  Optional[String[0]]  $task    = undef,
  Optional[String[0]]  $command = undef,
  Optional[String[0]]  $script  = undef,
  Hash[String, Data]   $params  = {},
) {
  $actions = [$task, $command, $script].filter |$action| { $action =~ NotUndef }
  if $actions.length != 1 {
    fail_plan('Give exactly one of command, script and task', 'aggregate/invalid-params')
  }

  $results = if $task =~ NotUndef {
    run_task($task, $targets, $params)
  } elsif $command =~ NotUndef {
    run_command($command, $targets, $params)
  } else {
    run_script($script, $targets, $params)
  }

  return aggregate::targets($results)
}
