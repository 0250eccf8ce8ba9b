# A value of JSON as Ruby writes it, since that is what the keys of results have
# always looked like: {"a"=>[1, nil]}.
#
# @param value The value.
# @return Its text.
# @api private
function aggregate::literal(Any $value) >> String {
  case $value {
    String: { stdlib::to_json($value) }
    Undef:  { 'nil' }
    Array:  {
      $elements = $value.map |$v| { aggregate::literal($v) }
      "[${elements.join(', ')}]"
    }
    Hash:   {
      $pairs = $value.map |$k, $v| { "${aggregate::literal($k)}=>${aggregate::literal($v)}" }
      "{${pairs.join(', ')}}"
    }
    default: { String($value) }
  }
}
