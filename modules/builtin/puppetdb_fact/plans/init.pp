# @summary
#   Read the facts of targets from PuppetDB and keep them in the inventory.
#
# The facts are there for the rest of the plan that runs this one. A target is
# known to PuppetDB by its host name.
#
# @param targets The targets to read facts of.
# @return A hash of host names and facts, as PuppetDB has them.
plan puppetdb_fact (TargetSpec $targets) {
  $all = get_targets($targets)
  $known = puppetdb_fact($all.map |$target| { $target.host })
  $all.each |$target| {
    # A target that PuppetDB does not know has no facts to add.
    if $known[$target.host] =~ NotUndef {
      add_facts($target, $known[$target.host])
    }
  }
  return $known
}
