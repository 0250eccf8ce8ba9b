# @summary
#   Run a command or a script with environment variables that stand in no plan.
#
# The variables are a JSON object of names and values in the environment variable
# BOLT_ENV_VARS of this machine. Their values are not printed.
#
# @param targets The targets to run the command or script on.
# @param command The command. Give this or script.
# @param script The script: a path, or a file of a module.
# @return The results of the command or script.
plan secure_env_vars(
  TargetSpec $targets,
  Optional[String] $command = undef,
  Optional[String] $script = undef,
) {
  if $command and $script {
    fail_plan('Cannot specify both script and command for secure_env_vars')
  }
  unless $command or $script {
    fail_plan('Must specify either script or command for secure_env_vars')
  }
  $given = system::env('BOLT_ENV_VARS')
  $variables = if $given { parsejson($given) } else { {} }
  $secrets = $variables.reduce({}) |$all, $pair| { $all + { $pair[0] => Sensitive($pair[1]) } }
  if $command {
    return run_command($command, $targets, '_env_vars' => $secrets)
  }
  return run_script($script, $targets, '_env_vars' => $secrets)
}
