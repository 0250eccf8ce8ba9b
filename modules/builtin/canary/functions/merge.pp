# The results of two sets in one.
#
# @param one The results that come first.
# @param other The results that come then.
# @return All of them.
function canary::merge(ResultSet $one, ResultSet $other) >> ResultSet {
  ResultSet.new($one.results + $other.results)
}
