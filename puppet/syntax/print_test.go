package syntax

import (
	"bytes"
	"testing"
)

// TestPrintStyle has programs in the style of the printer. The printer must not
// change them.
func TestPrintStyle(t *testing.T) {
	for _, src := range []string{
		`class demo::web (
  Optional[Integer[1, 65535]] $port = undef,
  Hash[String, Array[String]] $hosts = {},
) inherits demo::params {
  include stdlib
  $names = $hosts.map |$name, $list| {
    "${name}: ${list[0].upcase} ${facts['os']['family']}"
  }

  file { '/etc/demo.conf':
    ensure  => file,
    mode    => '0644',
    content => epp('demo/demo.conf.epp', { port => $port, 'names' => $names }),
    *       => $extra,
  }
  -> Service['demo']

  package {
    default:
      ensure => installed;
    'a':;
    'b':
      ensure => '1.2';
  }

  if $port =~ Undef and !$hosts.empty {
    fail('no port')
  } elsif $port > 1024 {
    warning 'high'
  } else {
    notice 1, 2
  }
  case $facts['kernel'] {
    'Linux', /BSD/: {
      $x = $port ? { undef => 80, default => $port }
    }
    default: { }
  }
  File <| tag == 'demo' |> {
    owner => 'root',
  }

  @@host { $facts['fqdn']: }
}
`,
		`function demo::f (
  Integer $a,
  *$rest,
) >> Array[Integer] {
  $rest.reduce([$a]) |$memo, $x| {
    $memo + [$x * -1, 0x1f, 017, 1.5e-07]
  }
}

type Demo::T = Variant[String[1], Struct[{ a => Integer }]]
$text = @("END":json/$)
  cost \$5 for ${name}

    and more
  | END
$raw = @(END2)
  no end\n
  |- END2
$quoted = 'it\'s'
$lines = "a\n\t\${x}"
`,
	} {
		prog, err := Parse(NewFile("x.pp", src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Print(&b, prog); err != nil {
			t.Fatal(err)
		}
		if b.String() != src {
			t.Errorf("printed:\n%s\nwant:\n%s", b.String(), src)
		}
	}
}
