// Command catalogs measures how bolt compiles and compares catalogs, as whole processes:
//
//   - files: manifests that declare many files, beside "puppet catalog compile";
//   - fleet: all nodes of a control repository with modules, data and templates;
//   - diff: the catalogs of these nodes, of two versions of the code;
//   - release: releases of these nodes, which have not changed, beside their compilation;
//   - collectors: a manifest with many virtual resources and collectors.
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
	"slices"
	"strings"
	"syscall"
	"time"

	"bolt/bench/measure"
)

func main() {
	var b bench
	parts := flag.String("parts", "files,fleet,diff,release,collectors", "`parts` to measure; diff and release need fleet")
	flag.StringVar(&b.bolt, "bolt", "bin/bolt", "`program` to measure")
	flag.StringVar(&b.puppet, "puppet", "puppet", "`program` to measure it beside; empty or missing: none")
	flag.IntVar(&b.runs, "runs", 3, "`runs` of each")
	flag.IntVar(&b.nodes, "nodes", 1000, "`nodes` of the fleet")
	flag.IntVar(&b.resources, "resources", 500, "`resources` of each node of the fleet")
	flag.StringVar(&b.markdown, "markdown", "", "write the tables into this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, strings.Split(*parts, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalogs:", err)
		os.Exit(1)
	}
}

// A bench has the settings of a run.
type bench struct {
	text             strings.Builder // the tables
	bolt, puppet     string
	markdown         string
	dir              string // for files of the run
	runs             int
	nodes, resources int
}

func (b *bench) run(ctx context.Context, parts []string) (err error) {
	if b.bolt, err = filepath.Abs(b.bolt); err != nil {
		return err
	}
	if b.puppet != "" {
		if b.puppet, err = exec.LookPath(b.puppet); err != nil {
			fmt.Fprintln(os.Stderr, "catalogs: no puppet to measure beside (Debian's package is puppet)")
			b.puppet = ""
		}
	}
	if b.dir, err = os.MkdirTemp("", "bolt-bench."); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"files", b.files}, {"fleet", b.fleet}, {"diff", b.diff}, {"release", b.release}, {"collectors", b.collectors}} {
		if slices.Contains(parts, part.name) {
			if err := part.run(ctx); err != nil {
				return err
			}
		}
	}
	_, err = io.WriteString(os.Stdout, b.text.String())
	if err == nil && b.markdown != "" {
		err = measure.Replace(b.markdown, "catalogs", b.text.String())
	}
	return err
}

// A tool is a program that does the work of a row.
type tool struct {
	name string
	argv []string
}

// measure runs the tools in turns, and prints a table of their medians.
func (b *bench) measure(ctx context.Context, title string, tools ...tool) error {
	samples := make([][]measure.Sample, len(tools))
	for range b.runs {
		for i, t := range tools {
			s, err := measure.Run(ctx, measure.Program{Argv: t.argv, Env: []string{"HOME=" + b.dir}, Dir: b.dir})
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	var rows [][]string
	base := measure.Median(samples[0])
	for i, t := range tools {
		m := measure.Median(samples[i])
		rows = append(rows, []string{t.name, seconds(m.Wall), seconds(m.CPU), fmt.Sprintf("%.0f", float64(m.MaxRSS)/(1<<20)), ratio(m.Wall, base.Wall), ratio(m.CPU, base.CPU)})
	}
	fmt.Fprintf(&b.text, "\n### %s, %d runs each\n\n", title, b.runs)
	return measure.Markdown(&b.text, 1, []string{"tool", "wall s", "CPU s", "peak MiB", "wall ÷ bolt's", "CPU ÷ bolt's"}, rows)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func ratio(d, base time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(max(base, time.Microsecond)))
}

// write writes a file below a directory.
func write(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// compile returns the command line of bolt for an environment.
func (b *bench) compile(path string, more ...string) []string {
	return append([]string{b.bolt, "catalog", "compile", "--environment-path", path, "--format", "ndjson"}, more...)
}

func (b *bench) files(ctx context.Context) error {
	for _, n := range []int{1, 1000, 10_000} {
		path := filepath.Join(b.dir, fmt.Sprintf("files%d", n))
		text := fmt.Sprintf("Integer[1, %d].each |$i| {\n  file { \"/srv/f${i}\":\n    ensure => file,\n    content => \"number ${i}\\n\",\n    mode => '0644',\n  }\n}\n", n)
		if err := write(path, "production/manifests/site.pp", text); err != nil {
			return err
		}
		tools := []tool{{"bolt", b.compile(path, "--node", "n")}}
		if b.puppet != "" {
			tools = append(tools, tool{"puppet", []string{b.puppet, "catalog", "compile", "n", "--environmentpath", path, "--environment", "production",
				"--confdir", filepath.Join(b.dir, "conf"), "--vardir", filepath.Join(b.dir, "var")}})
		}
		if err := b.measure(ctx, fmt.Sprintf("A manifest of %d files", n), tools...); err != nil {
			return err
		}
	}
	return nil
}

// collectors has 50,000 virtual resources, and 1,000 collectors that find 50 of them each.
func (b *bench) collectors(ctx context.Context) error {
	path := filepath.Join(b.dir, "collectors")
	const text = `Integer[1, 50000].each |$i| {
  @notify { "n${i}": tag => "group${Integer($i) % 1000}" }
}
Integer[0, 999].each |$g| {
  Notify <| tag == "group${g}" |> { withpath => true }
}
`
	if err := write(path, "production/manifests/site.pp", text); err != nil {
		return err
	}
	return b.measure(ctx, "50,000 virtual resources, 1,000 collectors", tool{"bolt", b.compile(path, "--node", "n")})
}
