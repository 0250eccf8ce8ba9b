# The names of the targets that gave each value of each key of the results.
#
# @param resultset The results.
# @return A hash: key of the results, value as text, names of targets.
function aggregate::targets(ResultSet $resultset) >> Hash {
  # Each value of each result is a hash of its own, since flatten leaves those
  # alone. Keys are told apart by group_by, which does not fold their case.
  $values = $resultset.results.map |$result| {
    $result.value.map |$key, $value| {
      { 'key' => $key, 'text' => aggregate::text($value), 'target' => $result.target.name }
    }
  }
  $groups = $values.flatten.group_by |$v| { $v['key'] }
  $pairs = $groups.map |$key, $of_key| {
    $of_text = $of_key.group_by |$v| { $v['text'] }
    $names = $of_text.map |$text, $same| {
      [$text, $same.map |$v| { $v['target'] }]
    }
    [$key, Hash($names)]
  }
  Hash($pairs)
}
