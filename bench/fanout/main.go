// Command fanout measures the time of one trivial command on many targets and
// its cost for the client: bolt compared with ssh under xargs, clush, pdsh,
// pssh and ansible, if they are installed.
//
// First it uses real SSH servers. There, wall time is mostly the servers' work
// on the same machine, and the client's processor time is the fairer figure.
// Then it uses a light server, with which thousands of targets are possible.
// Runs of the tools are interleaved, figures are medians, and ratios within a
// table are more significant than times.
//
// It runs from the module's root folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

func main() {
	var o options
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to measure; empty: only its peers")
	flag.StringVar(&o.farmd, "farmd", "", "`program` built from bench/farmd; empty: build it")
	flag.Func("sizes", "`N,...` targets on real servers (default 1,10,50,100,200)", numbers(&o.sizes))
	flag.Func("light", "`N,...` targets on the light server (default 1000,5000)", numbers(&o.light))
	flag.IntVar(&o.runs, "runs", 3, "`runs` of each tool at each size")
	flag.IntVar(&o.concurrency, "c", 100, "`connections` at a time, for every tool")
	flag.StringVar(&o.tools, "tools", "", "`name,...` of the tools to run (default all)")
	flag.IntVar(&o.stockLimit, "stock-limit", 100, "largest `N` for the tools in their default configuration")
	o.sizes, o.light = []int{1, 10, 50, 100, 200}, []int{1000, 5000}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := fanout(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt, farmd, tools            string
	sizes, light                  []int
	runs, concurrency, stockLimit int
}

// numbers returns a flag value that replaces a list; an empty string empties
// it.
func numbers(list *[]int) func(string) error {
	return func(s string) error {
		*list = nil
		for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of targets", word)
			}
			*list = append(*list, n)
		}
		return nil
	}
}

func fanout(ctx context.Context, o options) error {
	if o.bolt != "" {
		var err error
		if o.bolt, err = filepath.Abs(o.bolt); err != nil {
			return err
		}
	}
	var failures []error
	if len(o.sizes) > 0 {
		var rows []measure.Row
		for _, n := range o.sizes {
			f, err := farm.Real(ctx, n, false)
			if err != nil {
				return err
			}
			r, err := size(ctx, o, f, realTools())
			rows = append(rows, r...)
			failures = append(failures, err, f.Stop())
		}
		title := fmt.Sprintf("`true` on real SSH servers on this machine, at most %d connections at a time:", o.concurrency)
		failures = append(failures, measure.Table(os.Stdout, title, "bolt", rows))
	}
	if len(o.light) > 0 {
		farmd, remove, err := farm.LightServer(ctx, o.farmd)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		defer remove()
		var rows []measure.Row
		for _, n := range o.light {
			f, err := farm.Light(ctx, farmd, n)
			if err != nil {
				return errors.Join(append(failures, err)...)
			}
			r, err := size(ctx, o, f, lightTools())
			rows = append(rows, r...)
			failures = append(failures, err, f.Stop())
		}
		title := fmt.Sprintf("`true` on a light server, at most %d connections at a time unless the name says otherwise:", o.concurrency)
		failures = append(failures, measure.Table(os.Stdout, title, "bolt", rows))
	}
	return errors.Join(failures...)
}

// size measures all tools on one farm. A tool that fails has a row without
// figures, and its error is returned with the rows.
func size(ctx context.Context, o options, f *farm.Farm, tools []tool) ([]measure.Row, error) {
	wanted := strings.FieldsFunc(o.tools, func(r rune) bool { return r == ',' })
	var chosen []tool
	for _, t := range tools {
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, t.name):
		case t.limit > 0 && len(f.Hosts) > t.limit, t.stock && len(f.Hosts) > o.stockLimit:
		case t.needs == "" && o.bolt == "":
		default:
			if _, err := exec.LookPath(t.needs); t.needs != "" && err != nil {
				fmt.Fprintf(os.Stderr, "fanout: %s is not installed, left out\n", t.needs)
				continue
			}
			chosen = append(chosen, t)
		}
	}
	fmt.Fprintf(os.Stderr, "fanout: %d targets\n", len(f.Hosts))
	var failures []error
	rows := make([]measure.Row, len(chosen))
	failed := make([]bool, len(chosen))
	for range o.runs {
		for i, t := range chosen {
			rows[i].Name, rows[i].Targets = t.name, len(f.Hosts)
			if failed[i] {
				continue
			}
			s, err := measure.Run(ctx, t.program(o, f))
			if err != nil {
				failed[i] = true
				failures = append(failures, fmt.Errorf("%s on %d targets: %w", t.name, len(f.Hosts), err))
				continue
			}
			rows[i].Samples = append(rows[i].Samples, s)
		}
	}
	for i, t := range chosen {
		// Bolt is one process, whose peak the kernel reports exactly.
		if failed[i] || t.needs == "" {
			continue
		}
		peak, err := measure.Memory(ctx, t.program(o, f))
		if err != nil {
			failures = append(failures, fmt.Errorf("memory of %s on %d targets: %w", t.name, len(f.Hosts), err))
		}
		rows[i].Memory = peak
	}
	return rows, errors.Join(failures...)
}
