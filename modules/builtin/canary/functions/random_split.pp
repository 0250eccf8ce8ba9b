# Splits an array at random.
#
# @param array The array.
# @param size How many elements the first part has, at most.
# @return Two arrays: the elements that were picked, and the others in their order.
function canary::random_split(Array $array, Integer[0] $size) >> Tuple[Array, Array] {
  # Places are picked and not elements, since elements may be equal.
  $places = shuffle($array.map |$i, $_| { $i })
  $picked = $places[0, $size]
  $others = $places - $picked
  [$picked.map |$i| { $array[$i] }, $others.sort.map |$i| { $array[$i] }]
}
