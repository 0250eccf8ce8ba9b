# A failed result for each target, which says that the target was skipped.
#
# @param targets The targets.
# @return The results.
function canary::skip(Array[Variant[Target, String]] $targets) >> ResultSet {
  $results = $targets.map |$t| {
    $target = get_target($t)
    Result.new($target, {
      '_error' => {
        'kind'    => 'canary/skipped-target',
        'msg'     => "Skipped ${target.name} because of a previous failure",
        'details' => {},
      },
    })
  }
  ResultSet.new($results)
}
