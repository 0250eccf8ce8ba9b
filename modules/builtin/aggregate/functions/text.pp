# A value as the text that stands for it among keys.
#
# @param value The value.
# @return A string as it is, nothing for undef, and other values as
#   aggregate::literal writes them.
# @api private
function aggregate::text(Any $value) >> String {
  case $value {
    String:  { $value }
    Undef:   { '' }
    default: { aggregate::literal($value) }
  }
}
