// Command warm measures the cost of work on open connections: bolt through its
// daemon, compared with ssh, clush, pdsh, pssh and ansible over OpenSSH's
// ControlMaster, with bolt without a daemon, and with the floor: the same on
// open connections in a bare loop.
//
// Each tool does one run that is not counted, then several without a pause
// (like a busy user), then, after a pause, one (like a user at a terminal:
// connections may prepare themselves in a pause). Tools take turns; figures are
// medians. A daemon's processor time, including the pause, is charged to its
// tool; ControlMaster's processes are such daemons.
//
// It runs from the module's root folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bolt/bench/daemon"
	"bolt/bench/farm"
	"bolt/bench/measure"
)

func main() {
	var o options
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to measure; empty: only its peers")
	flag.StringVar(&o.farmd, "farmd", "", "`program` built from bench/farmd; empty: build it")
	flag.StringVar(&o.markdown, "markdown", "", "write the tables into this `file`, between its lines <!-- figures: begin --> and end, too")
	parts := flag.String("parts", "one,fanout,light,latency,jobs,tasks,memory", "`what,...` to measure")
	flag.Func("sizes", "`N,...` targets on real servers (default 1,10,50,100,200)", numbers(&o.sizes))
	flag.Func("latency", "`N,...` targets for the part latency (default 1,50)", numbers(&o.latencySizes))
	flag.Func("round-trips", "`TIME,...` of the networks in the part latency (default 0s,20ms,100ms)", durations(&o.roundTrips))
	flag.Func("light", "`N,...` targets on the light server (default 1000,5000,10000)", numbers(&o.light))
	tools := flag.String("tools", "", "`word,...`: only tools in whose name one of them is")
	flag.IntVar(&o.atOnce, "c", 100, "`targets` at a time, for every tool")
	flag.IntVar(&o.lightAtOnce, "light-c", 1000, "the same on the light server")
	flag.IntVar(&o.peerLimit, "peer-limit", 1000, "largest `N` for tools that have a process for each connection")
	flag.IntVar(&o.jobTargets, "jobs", 50, "`targets` for the part jobs")
	flag.IntVar(&o.held, "held", 10000, "`connections` for the part memory")
	flag.IntVar(&o.runs, "runs", 3, "`turns` of each tool")
	flag.IntVar(&o.burst, "burst", 5, "`runs` without a pause in each turn")
	flag.DurationVar(&o.pause, "pause", 2*time.Second, "`time` before the run after a pause")
	flag.DurationVar(&o.idle, "idle", time.Minute, "`time` to watch idle connections")
	o.latencySizes, o.roundTrips = []int{1, 50}, []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}
	o.sizes, o.light = []int{1, 10, 50, 100, 200}, []int{1000, 5000, 10000}
	flag.Parse()
	o.parts, o.tools = words(*parts), words(*tools)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := warm(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "warm:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt, farmd, markdown       string
	parts, tools                []string
	sizes, light, latencySizes  []int
	roundTrips                  []time.Duration
	atOnce, lightAtOnce         int
	peerLimit, jobTargets, held int
	daemon                      bool // bolt has one
	pace
}

// A pace sets the numbers of runs and the lengths of pauses.
type pace struct {
	runs, burst int
	pause, idle time.Duration
}

// warm measures all parts. If one fails, the others are still measured.
func warm(ctx context.Context, o options) (err error) {
	if o.bolt != "" {
		if o.bolt, err = filepath.Abs(o.bolt); err != nil {
			return err
		}
		if o.daemon = daemon.Known(ctx, o.bolt); !o.daemon {
			fmt.Fprintln(os.Stderr, "warm: this bolt has no daemon: it is measured without")
		}
	}
	if err := raiseLimit(); err != nil {
		return err
	}
	server, remove, err := farm.LightServer(ctx, o.farmd)
	if err != nil {
		return err
	}
	defer remove()
	o.farmd = server
	var text strings.Builder
	out := io.MultiWriter(os.Stdout, &text)
	fmt.Fprintf(out, "%s\n", measure.Machine(ctx))
	failures := []error{}
	for _, p := range []struct {
		name    string
		measure func(context.Context, options, io.Writer) error
	}{{"one", one}, {"fanout", fanout}, {"light", light}, {"latency", latency}, {"jobs", jobs}, {"tasks", tasks}, {"memory", memory}} {
		if slices.Contains(o.parts, p.name) && ctx.Err() == nil {
			failures = append(failures, p.measure(ctx, o, out))
		}
	}
	if o.markdown != "" && ctx.Err() == nil {
		failures = append(failures, measure.Replace(o.markdown, "figures", text.String()))
	}
	return errors.Join(failures...)
}

// raiseLimit raises the limit of descriptors for thousands of connections, for
// this process and its children.
func raiseLimit() error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return fmt.Errorf("read the limit of descriptors: %w", err)
	}
	const wanted = 100_000
	if r.Max < wanted {
		higher := syscall.Rlimit{Cur: wanted, Max: wanted}
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &higher) == nil {
			return nil
		}
	}
	r.Cur = r.Max // as an ordinary user: the allowed maximum
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return fmt.Errorf("raise the limit of descriptors: %w", err)
	}
	return nil
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// numbers returns a flag value that replaces a list; an empty string empties
// it.
func numbers(list *[]int) func(string) error {
	return func(s string) error {
		*list = nil
		for _, word := range words(s) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of targets", word)
			}
			*list = append(*list, n)
		}
		return nil
	}
}

// durations is numbers for durations.
func durations(list *[]time.Duration) func(string) error {
	return func(s string) error {
		*list = nil
		for _, word := range words(s) {
			d, err := time.ParseDuration(word)
			if err != nil {
				return err
			}
			*list = append(*list, d)
		}
		return nil
	}
}
