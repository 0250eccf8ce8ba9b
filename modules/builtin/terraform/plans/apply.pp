# @summary
#   Create or update the resources of a Terraform configuration on this machine.
#
# @param dir The directory of the configuration, relative to the working directory.
# @param state The state file, relative to dir.
# @param state_out The file to write the new state to, relative to dir.
# @param target The address of a resource, or several, to limit the operation to.
# @param var Values of Terraform variables by their names.
# @param var_file A file with values of variables, or several, relative to dir.
# @param return_output Whether to return the outputs of the configuration.
# @param refresh_state Whether to update the state before the outputs are read.
# @return The results of the task terraform::apply, or the outputs.
plan terraform::apply(
  Optional[String[1]] $dir = undef,
  Optional[String[1]] $state = undef,
  Optional[String[1]] $state_out = undef,
  Optional[Variant[String[1], Array[String[1]]]] $target = undef,
  Optional[Hash] $var = undef,
  Optional[Variant[String[1], Array[String[1]]]] $var_file = undef,
  Optional[Boolean] $return_output = false,
  Optional[Boolean] $refresh_state = false,
) {
  $place = { 'dir' => $dir, 'state' => $state }
  $values = { 'var' => $var, 'var_file' => $var_file }

  $applied = run_task('terraform::apply', 'localhost', $place + $values + { 'state_out' => $state_out, 'target' => $target })
  unless $return_output {
    return $applied
  }
  if $refresh_state {
    run_task('terraform::refresh', 'localhost', $place + $values)
  }
  return run_task('terraform::output', 'localhost', $place).first.value
}
