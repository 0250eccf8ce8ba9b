# A value as the text that stands for it among keys.
#
# @param value The value.
# @return A string as it is, nothing for undef, and the elements of arrays and
#   hashes as they are written in a program.
# @api private
function aggregate::text(Any $value) >> String {
  case $value {
    String:  { $value }
    Undef:   { '' }
    default: { String($value) }
  }
}
