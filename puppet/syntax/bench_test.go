package syntax

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// manifests returns files with the same share of comments, resources and
// expressions as in public modules, of about 4 KB each.
func manifests(total int) []*File {
	const class = `# @summary Manages part %[1]d of the demo service
#
# @param ensure  What the package should be.
# @param port    Where the service listens.
class demo::part%[1]d (
  Enum['present', 'absent', 'latest'] $ensure     = 'present',
  Optional[Stdlib::Port]              $port       = undef,
  Hash[String[1], Array[String]]      $hosts      = {},
  Stdlib::Absolutepath                $config_dir = "/etc/demo/${title}",
) inherits demo::params {
  include stdlib
  include demo::part%[1]d::install

  # Differs by operating system.
  case $facts['os']['family'] {
    'RedHat', 'Suse': {
      $package = "demo-part%[1]d-${facts['os']['release']['major']}"
      $service = 'demod'
    }
    /^(Debian|Ubuntu)$/: {
      $package = 'libdemo%[1]d'
      $service = $port ? {
        undef   => 'demo',
        default => "demo@${port}",
      }
    }
    default: {
      fail("${module_name}: ${facts['os']['family']} is not supported")
    }
  }

  package { $package:
    ensure => $ensure,
    tag    => ['demo', 'part%[1]d'],
  }

  file {
    default:
      ensure => file,
      owner  => 'root',
      group  => $demo::params::root_group,
      mode   => '0644',
    ;
    $config_dir:
      ensure => directory,
      mode   => '0755',
    ;
    "${config_dir}/part%[1]d.conf":
      content => epp('demo/part.conf.epp', {
        'port'  => pick($port, 8000 + %[1]d),
        'hosts' => $hosts,
      }),
      require => Package[$package],
      notify  => Service[$service],
    ;
  }

  $hosts.each |String $name, Array $addresses| {
    unless empty($addresses) {
      demo::host { "${name}-%[1]d":
        addresses => $addresses.filter |$a| { $a =~ /^(\d+)\.(\d+)\./ and $a != '127.0.0.1' },
        weight    => ($addresses.length * 10) + %[1]d,
        options   => { 'check' => true, 'timeout' => '30s', 'limit' => 0x7f },
      }
    }
  }

  if $ensure == 'absent' or !$demo::params::manage_service {
    $running = stopped
  } elsif versioncmp($facts['demo_version'], '2.%[1]d') >= 0 {
    $running = running
    exec { 'demo reload %[1]d':
      command     => @("CMD"/L)
        /usr/bin/democtl reload --part=%[1]d \
          --config "${config_dir}"
        | CMD
      ,
      refreshonly => true,
      subscribe   => File["${config_dir}/part%[1]d.conf"],
    }
  } else {
    $running = $demo::params::states[$ensure]['service']
  }

  service { $service:
    ensure => $running,
    enable => $running == running,
  }

  Package[$package] -> File[$config_dir] ~> Service[$service]
}

# Hosts of part %[1]d.
define demo::part%[1]d::host (
  Array[Stdlib::IP::Address] $addresses,
  Integer[0, 100]            $weight  = 10,
  Hash                       $options = {},
) {
  concat::fragment { "part%[1]d-${title}":
    target  => "${demo::part%[1]d::config_dir}/hosts.conf",
    content => "host ${title} ${join($addresses, ' ')} weight=${weight}\n",
    order   => '%[1]d',
  }
}
`
	var files []*File
	for size := 0; size < total; {
		src := fmt.Sprintf(class, len(files))
		files = append(files, NewFile(fmt.Sprintf("part%d.pp", len(files)), src))
		size += len(src)
	}
	return files
}

func bench(b *testing.B, total int, f func(*File)) {
	files := manifests(total)
	n := 0
	for _, f := range files {
		n += len(f.Src)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		for _, file := range files {
			f(file)
		}
	}
}

func mustParse(b testing.TB, f *File) *Program {
	prog, err := Parse(f, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return prog
}

// BenchmarkParse parses 8 MB of manifests in files of 4 KB.
func BenchmarkParse(b *testing.B) {
	bench(b, 8<<20, func(f *File) { mustParse(b, f) })
}

// BenchmarkParseKept keeps all 8 MB of trees in memory, as a server does.
func BenchmarkParseKept(b *testing.B) {
	kept := make(map[string]*Program)
	bench(b, 8<<20, func(f *File) { kept[f.Name] = mustParse(b, f) })
}

// BenchmarkParseOneFile parses 8 MB in one file.
func BenchmarkParseOneFile(b *testing.B) {
	var all strings.Builder
	for _, f := range manifests(8 << 20) {
		all.WriteString(f.Src)
	}
	f := NewFile("all.pp", all.String())
	b.SetBytes(int64(len(f.Src)))
	b.ReportAllocs()
	for b.Loop() {
		mustParse(b, f)
	}
}

// BenchmarkLex only makes the tokens.
func BenchmarkLex(b *testing.B) {
	bench(b, 8<<20, func(f *File) {
		l := &lexer{file: f}
		l.src = f.Src
		for t := (token{kind: tOther}); t.kind != tEOF; {
			l.next(&t)
		}
	})
}

func BenchmarkPrint(b *testing.B) {
	bench(b, 1<<20, func(f *File) {
		if err := Print(io.Discard, mustParse(b, f)); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkDump(b *testing.B) {
	bench(b, 1<<20, func(f *File) {
		if err := Dump(io.Discard, mustParse(b, f), JSON); err != nil {
			b.Fatal(err)
		}
	})
}

// TestAllocations checks that parsing does not allocate for each token.
func TestAllocations(t *testing.T) {
	f := manifests(1)[0]
	allocs := testing.AllocsPerRun(20, func() { mustParse(t, f) })
	if per := allocs / float64(len(f.Src)) * 1024; per > 50 {
		t.Errorf("%.0f allocations for each KB of text", per)
	}
}
