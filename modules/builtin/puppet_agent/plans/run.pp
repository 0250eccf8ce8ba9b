# @summary
#   Run the Puppet agent on targets, where it is installed.
#
# @param targets The targets to run the agent on.
# @param noop Only tell what would change.
# @param environment The environment to take the catalog from.
# @param tags Apply only what has one of these tags.
# @return A result for each target. Where no agent is, or where that cannot be
#   told, it is an error.
plan puppet_agent::run (
  TargetSpec                                      $targets,
  Boolean                                         $noop        = false,
  Optional[String[1]]                             $environment = undef,
  Optional[Variant[String[1], Array[String[1]]]]  $tags        = undef,
) {
  $versions = run_task('puppet_agent::version', $targets, 'Look for the Puppet agent', '_catch_errors' => true)

  $unknown = $versions.error_set.map |$result| {
    Result.new($result.target, {
      '_error' => {
        'kind'    => 'puppet_agent/agent-version-error',
        'msg'     => "The task puppet_agent::version failed: ${result.error.message}",
        'details' => {},
      },
    })
  }
  $without = $versions.ok_set.filter |$result| { $result['version'] =~ Undef }
  $absent = $without.map |$result| {
    Result.new($result.target, {
      '_error' => {
        'kind'    => 'puppet_agent/agent-not-installed',
        'msg'     => 'The Puppet agent is not installed on the target. The task puppet_agent::install installs it.',
        'details' => {},
      },
    })
  }

  $with = $versions.ok_set.filter |$result| { $result['version'] =~ NotUndef }
  $given = { 'environment' => $environment, 'tags' => $tags }.filter |$name, $value| { $value =~ NotUndef }
  $runs = run_task('puppet_agent::run', $with.map |$result| { $result.target }, 'Run the Puppet agent',
    $given + { 'noop' => $noop, '_catch_errors' => true })

  return ResultSet.new($unknown + $absent + $runs.results)
}
