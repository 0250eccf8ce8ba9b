# The same as aggregate::targets, under an older name.
#
# @param resultset The results.
# @return A hash: key of the results, value as text, names of targets.
function aggregate::nodes(ResultSet $resultset) >> Hash {
  aggregate::targets($resultset)
}
