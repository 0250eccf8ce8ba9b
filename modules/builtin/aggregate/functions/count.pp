# How many targets gave each value of each key of the results.
#
# @param resultset The results.
# @return A hash: key of the results, value as text, number of targets.
function aggregate::count(ResultSet $resultset) >> Hash {
  $pairs = aggregate::targets($resultset).map |$key, $of_key| {
    $counts = $of_key.map |$text, $names| { [$text, $names.length] }
    [$key, Hash($counts)]
  }
  Hash($pairs)
}
