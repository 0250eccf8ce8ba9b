# @summary
#   Destroy the resources of a Terraform configuration from this machine.
#
# @param dir The directory of the configuration, relative to the working directory.
# @param state The state file, relative to dir.
# @param state_out The file to write the new state to, relative to dir.
# @param target The address of a resource, or several, to limit the operation to.
# @param var Values of Terraform variables by their names.
# @param var_file A file with values of variables, or several, relative to dir.
# @return The results of the task terraform::destroy.
plan terraform::destroy(
  Optional[String[1]] $dir = undef,
  Optional[String[1]] $state = undef,
  Optional[String[1]] $state_out = undef,
  Optional[Variant[String[1], Array[String[1]]]] $target = undef,
  Optional[Hash] $var = undef,
  Optional[Variant[String[1], Array[String[1]]]] $var_file = undef,
) {
  return run_task('terraform::destroy', 'localhost', {
    'dir' => $dir, 'state' => $state, 'state_out' => $state_out, 'target' => $target, 'var' => $var, 'var_file' => $var_file,
  })
}
