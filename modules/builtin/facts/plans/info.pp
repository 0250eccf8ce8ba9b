# @summary
#   Tell the operating system of targets, in a line for each.
#
# Targets whose facts cannot be collected are left out.
#
# @param targets The targets to tell the operating system of.
# @return A list of lines of the form "target: name release (family)".
plan facts::info (TargetSpec $targets) {
  $results = run_task('facts', $targets, '_catch_errors' => true)
  return $results.ok_set.map |$result| {
    $os = $result['os']
    "${result.target.name}: ${os['name']} ${os['release']['full']} (${os['family']})"
  }
}
