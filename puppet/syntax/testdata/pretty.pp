class foo($x = 1) { notice($x, "a ${x}") }
$y = { a => [1, []], b => if true { {} } else { undef } }
file { '/tmp/a': content => "x\ny" }
