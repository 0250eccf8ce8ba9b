// Command language measures bolt's Puppet language compared with the real
// puppet, as whole processes on the same files: reading manifests, evaluating
// loops, and starting.
//
// The cost of a process that does almost nothing is measured first, and
// subtracted from the net figures. Several processors increase the megabytes
// per second of wall time, but not those of processor time.
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
	"time"

	"bolt/bench/measure"
)

func main() {
	bolt := flag.String("bolt", "bin/bolt", "`program` to measure")
	puppet := flag.String("puppet", "puppet", "`program` to measure it beside; empty or missing: none")
	size := flag.Int("size", 8<<20, "`bytes` of manifests to read")
	runs := flag.Int("runs", 5, "`runs` of each")
	markdown := flag.String("markdown", "", "write the tables into this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := language(ctx, os.Stdout, *bolt, *puppet, *markdown, *size, *runs)
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

// manifest is the text of the read files, with the number of each file in the
// names.
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

func language(ctx context.Context, w io.Writer, bolt, puppet, markdown string, size, runs int) (err error) {
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
	start := work{title: "A program of one call", ours: []string{"puppet", "eval", nothing}, theirs: []string{"apply", "--noop", nothing}}
	read := work{
		title: fmt.Sprintf("Reading and checking %d files, %.1f MB", len(files), float64(bytes)/1e6), bytes: bytes,
		ours: append([]string{"puppet", "validate"}, files...), theirs: append([]string{"parser", "validate"}, files...),
	}
	loops := work{title: "A program of loops", ours: []string{"puppet", "eval", looping}, theirs: []string{"apply", "--noop", looping}}
	tools := []tool{{name: "bolt", path: bolt, args: func(w work) []string { return w.ours }}}
	if puppet != "" {
		tools = append(tools, tool{name: "puppet", path: puppet, args: func(w work) []string { return w.theirs }})
	}
	var text strings.Builder
	for _, w := range []work{start, read, loops} {
		if err := w.measure(ctx, &text, dir, tools, runs); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, text.String())
	if err == nil && markdown != "" {
		err = measure.Replace(markdown, "language", text.String())
	}
	return err
}

// A tool is a program that implements the language.
type tool struct {
	name, path string
	args       func(work) []string
	start      measure.Sample // the cost of a process that does almost nothing
}

// A work is a task, with the arguments for each tool.
type work struct {
	title        string
	bytes        int // that are read; 0 if the work is not reading
	ours, theirs []string
}

// measure runs the tools in turns, and writes a table of their medians. The
// first work is the start, which is subtracted from the others' figures.
func (j work) measure(ctx context.Context, to io.Writer, dir string, tools []tool, runs int) error {
	samples := make([][]measure.Sample, len(tools))
	for range runs {
		for i, t := range tools {
			s, err := measure.Run(ctx, measure.Program{Argv: append([]string{t.path}, t.args(j)...), Env: []string{"HOME=" + dir}, Dir: dir})
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	var rows [][]string
	var base measure.Sample
	for i := range tools {
		m := measure.Median(samples[i])
		net := measure.Sample{Wall: m.Wall - tools[i].start.Wall, CPU: m.CPU - tools[i].start.CPU}
		if i == 0 {
			base = net
		}
		row := []string{tools[i].name, ms(m.Wall), ms(m.CPU), ms(net.Wall), ms(net.CPU), fmt.Sprintf("%.0f", float64(m.MaxRSS)/(1<<20))}
		if j.bytes > 0 {
			row = append(row, rate(j.bytes, net.Wall), rate(j.bytes, net.CPU))
		}
		rows = append(rows, append(row, ratio(net.Wall, base.Wall), ratio(net.CPU, base.CPU)))
		if tools[i].start == (measure.Sample{}) {
			tools[i].start = m
		}
	}
	header := []string{"tool", "wall ms", "CPU ms", "net wall ms", "net CPU ms", "peak MiB"}
	if j.bytes > 0 {
		header = append(header, "MB/s of wall", "MB/s of CPU")
	}
	fmt.Fprintf(to, "\n### %s, %d runs each\n\n", j.title, runs)
	return measure.Markdown(to, 1, append(header, "net wall ÷ bolt's", "net CPU ÷ bolt's"), rows)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e3) }

// rate returns megabytes per second.
func rate(bytes int, d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(bytes)/1e6/max(d, time.Microsecond).Seconds())
}

func ratio(d, base time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(max(base, time.Microsecond)))
}

// writeManifests writes files of size bytes in total, and returns their names.
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
