// Command language measures bolt's Puppet language beside the real puppet, as
// whole processes on the same files: reading manifests, evaluating loops, and
// starting.
//
// Both start in vain here: what a process costs that does next to nothing is
// in the table too, so that it can be taken off.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"bolt/bench/measure"
)

func main() {
	bolt := flag.String("bolt", "bin/bolt", "`program` to measure")
	puppet := flag.String("puppet", "puppet", "`program` to measure it beside; empty or missing: none")
	size := flag.Int("size", 8<<20, "`bytes` of manifests to read")
	runs := flag.Int("runs", 3, "`runs` of each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := language(ctx, os.Stdout, *bolt, *puppet, *size, *runs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "language:", err)
		os.Exit(1)
	}
}

// loop is a program of function calls, arithmetic, blocks and strings.
const loop = `function fib(Integer $n) >> Integer { if $n < 2 { $n } else { fib($n - 1) + fib($n - 2) } }
$sum = Integer[1, 100000].reduce(0) |$m, $x| { $m + $x % 7 }
$words = Integer[1, 50000].map |$x| { "host${x}.example.com" }
$groups = $words.group_by |$w| { $w[-9, 2] }
notice(fib(18), $sum, $groups.length)
`

// manifest is what is read: one file of many, with its number in the names.
const manifest = `# A service with its files, as modules have them.
class site::app%[1]d (
  Enum['present', 'absent'] $ensure = 'present',
  Integer[1, 65535] $port = 8080,
  Hash[String, Variant[String, Integer]] $options = {},
  Optional[Array[String[1]]] $allow = undef,
) {
  $dir = "/srv/app%[1]d/${facts['os']['family']}"
  if $ensure == 'present' and $port > 1024 {
    package { ['app%[1]d', 'app%[1]d-doc']: ensure => installed }
    file { $dir:
      ensure => directory,
      owner  => 'root',
      mode   => '0755',
    }
    $options.filter |$k, $v| { $v =~ Integer }.each |$key, $val| {
      file { "${dir}/${key}.conf":
        content => @("CONF"),
          port = ${port}
          ${key} = ${val + 1}
          | CONF
        require => File[$dir],
        notify  => Service['app%[1]d'],
      }
    }
    service { 'app%[1]d': ensure => running, enable => true }
  } else {
    case $facts['kernel'] {
      'Linux', /BSD$/: { notice("nothing to do for ${title}") }
      default:         { fail("unknown kernel ${facts['kernel']}") }
    }
  }
  Package['app%[1]d'] -> File <| tag == 'app%[1]d' |> ~> Service['app%[1]d']
}
`

func language(ctx context.Context, w io.Writer, bolt, puppet string, size, runs int) (err error) {
	if bolt, err = filepath.Abs(bolt); err != nil {
		return err
	}
	if path, lerr := exec.LookPath(puppet); lerr != nil {
		fmt.Fprintln(os.Stderr, "language: no puppet to measure beside (Debian's package is puppet-agent)")
		puppet = ""
	} else {
		puppet = path
	}
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, bytes, err := writeManifests(dir, size)
	if err != nil {
		return err
	}
	looping, nothing := filepath.Join(dir, "loop.pp"), filepath.Join(dir, "nothing.pp")
	if err := errors.Join(os.WriteFile(looping, []byte(loop), 0o600), os.WriteFile(nothing, []byte("notice(1)\n"), 0o600)); err != nil {
		return err
	}
	env := []string{"HOME=" + dir}
	work := []struct {
		title        string
		ours, theirs []string
	}{
		{fmt.Sprintf("Reading and checking %d files, %.1f MB", len(files), float64(bytes)/1e6),
			append([]string{bolt, "puppet", "validate"}, files...), append([]string{puppet, "parser", "validate"}, files...)},
		{"A program of loops", []string{bolt, "puppet", "eval", looping}, []string{puppet, "apply", "--noop", looping}},
		{"A program of one call", []string{bolt, "puppet", "eval", nothing}, []string{puppet, "apply", "--noop", nothing}},
	}
	for _, j := range work {
		var rows []measure.Row
		for _, tool := range []struct {
			name string
			argv []string
		}{{"bolt", j.ours}, {"puppet", j.theirs}} {
			if tool.argv[0] == "" {
				continue
			}
			row := measure.Row{Name: tool.name, Targets: 1}
			for range runs {
				s, err := measure.Run(ctx, measure.Program{Argv: tool.argv, Env: env, Dir: dir})
				if err != nil {
					return err
				}
				row.Samples = append(row.Samples, s)
			}
			rows = append(rows, row)
		}
		if err := measure.Table(w, j.title, "bolt", rows); err != nil {
			return err
		}
	}
	return nil
}

// writeManifests writes files of together size bytes, and returns their names.
func writeManifests(dir string, size int) (files []string, bytes int, err error) {
	const each = 16 // classes to a file: about 20 KB
	for n := 0; bytes < size; {
		var b strings.Builder
		for range each {
			fmt.Fprintf(&b, manifest, n)
			n++
		}
		name := filepath.Join(dir, fmt.Sprintf("m%05d.pp", len(files)))
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			return nil, 0, err
		}
		files, bytes = append(files, name), bytes+b.Len()
	}
	return files, bytes, nil
}
