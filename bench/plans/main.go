// Command plans measures the cost of plans: compared with a bare loop of the
// same runs and with ansible's playbooks, in memory, and at their start.
//
// Contestants take turns within one run of this program, and figures are
// medians, so that ratios within a table are valid on a machine with other
// load. Processor time is measured for the process and, separately, for the
// processes that work for it: bolt's pool daemon, OpenSSH's masters.
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
	"strings"
	"syscall"

	"bolt/bench/measure"
)

func main() {
	var o options
	var l loop
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to measure")
	flag.StringVar(&o.farmd, "farmd", "", "`program` built from bench/farmd; empty: build it")
	flag.StringVar(&o.markdown, "markdown", "", "write the tables into this `file`, between its lines <!-- plans: begin --> and end, too")
	parts := flag.String("parts", "start,steps,playbook,results", "`what,...` to measure")
	flag.IntVar(&o.runs, "runs", 5, "`turns` of each contestant")
	flag.IntVar(&o.targets, "targets", 20, "`targets` of the part steps")
	flag.IntVar(&o.steps, "steps", 50, "`steps` of the part steps")
	flag.IntVar(&o.played, "playbook-targets", 50, "`targets` of the part playbook")
	flag.IntVar(&o.tasks, "tasks", 20, "`tasks` of the part playbook")
	flag.IntVar(&o.plays, "playbook-runs", 2, "`turns` of the part playbook, in which each takes minutes")
	flag.IntVar(&o.many, "many", 1000, "`targets` of the part results")
	flag.IntVar(&l.runs, "loop", 0, "be the bare loop of so many `runs` (for plans itself)")
	flag.StringVar(&l.line, "line", "true", "`command` of the bare loop")
	flag.StringVar(&l.inventory, "inventory", "", "inventory `file` of the bare loop")
	flag.StringVar(&l.socket, "socket", "", "the daemon's `socket`, for the bare loop")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if l.inventory != "" {
		err = l.run(ctx)
	} else {
		err = plans(ctx, o, strings.Split(*parts, ","))
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plans:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt, farmd, markdown string
	runs                  int
	targets, steps        int
	played, tasks, plays  int
	many                  int
}

// plans measures the parts. If one fails, the others are still measured.
func plans(ctx context.Context, o options, parts []string) (err error) {
	if o.bolt, err = filepath.Abs(o.bolt); err != nil {
		return err
	}
	var text strings.Builder
	out := io.MultiWriter(os.Stdout, &text)
	fmt.Fprintln(out, measure.Machine(ctx))
	fmt.Fprintf(os.Stderr, "plans: the machine's load before is %s\n", load())
	var failures []error
	for _, p := range []struct {
		name    string
		measure func(context.Context, options, io.Writer) error
	}{{"start", start}, {"steps", steps}, {"playbook", playbook}, {"results", results}} {
		if slices.Contains(parts, p.name) && ctx.Err() == nil {
			if err := p.measure(ctx, o, out); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			}
		}
	}
	fmt.Fprintf(os.Stderr, "plans: the machine's load after is %s\n", load())
	if o.markdown != "" && ctx.Err() == nil && len(failures) == 0 {
		failures = append(failures, measure.Replace(o.markdown, "plans", text.String()))
	}
	return errors.Join(failures...)
}

// load returns the load of the machine, proc_loadavg(5).
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}
