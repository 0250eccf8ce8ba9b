# Says in one line why an action on machines failed.
function shop::reason(Error $error) >> String {
  $results = $error.details['result_set']
  $text = if $results =~ ResultSet {
    $results.error_set.map |$r| { "${r.target.name}: ${r.error.message}" }.join('; ')
  } else {
    $error.message
  }
  regsubst($text, '\s+', ' ', 'G').strip
}
