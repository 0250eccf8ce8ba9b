# @summary
#   Collect the facts of targets and keep them in the inventory.
#
# The facts are there for the rest of the plan that runs this one.
#
# @param targets The targets to collect facts of.
# @return The results of the task facts.
plan facts (TargetSpec $targets) {
  $results = run_task('facts', $targets)
  $results.each |$result| {
    add_facts($result.target, $result.value)
  }
  return $results
}
