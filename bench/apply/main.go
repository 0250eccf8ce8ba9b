// Command apply measures how bolt applies catalogs, as whole processes:
//
//   - files: one target with many files, new and unchanged, compared with "puppet apply";
//   - mixed: one target with 500 resources of many types in the desired state, compared with "puppet apply";
//   - wire: bytes and round trips of an apply, with and without the transfer of the helper;
//   - copies: one target, compared with an ansible playbook of equal copy tasks;
//   - fleet: many targets in the desired state, compared with the same playbook;
//   - rollouts: many targets in the desired state: a rollout compared with a plain apply;
//   - watch: the time in which a watch repairs a file, and the cost of its idle helper;
//   - status: the state of a rollout of 10,000 simulated nodes.
//
// Contestants take turns, and figures are medians. Nothing is changed outside a temporary directory. It
// runs from the module's root folder, and needs a bolt with helpers (make build).
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
	"strconv"
	"strings"
	"syscall"

	"bolt/bench/measure"
)

func main() {
	var b bench
	flag.StringVar(&b.bolt, "bolt", "bin/bolt", "`program` to measure")
	flag.StringVar(&b.puppet, "puppet", "puppet", "`program` to measure it beside; empty or missing: none")
	flag.IntVar(&b.runs, "runs", 3, "`turns` of each")
	flag.IntVar(&b.large, "large", 1, "`turns` of each with the largest number of files")
	sizes := flag.String("sizes", "1000,10000", "`numbers` of files of the part files")
	flag.IntVar(&b.targets, "targets", 50, "`targets` of the parts fleet and rollouts")
	flag.IntVar(&b.resources, "resources", 100, "`resources` of each target of the parts copies, fleet, rollouts, watch and wire")
	flag.IntVar(&b.played, "played", 10, "`resources` of each target for playbooks of the part fleet")
	flag.IntVar(&b.plays, "playbook-runs", 1, "`turns` of playbooks on the fleet, in which each takes minutes")
	flag.StringVar(&b.markdown, "markdown", "", "write the tables into this `file`, between its lines <!-- apply: begin --> and end, too")
	parts := flag.String("parts", "files,mixed,wire,copies,fleet,rollouts,watch,status", "`parts` to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.run(ctx, strings.Split(*parts, ","), strings.Split(*sizes, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "apply:", err)
		os.Exit(1)
	}
}

// A bench has the settings of a run.
type bench struct {
	text                       strings.Builder // the tables
	out                        io.Writer       // standard output and text
	bolt, puppet               string
	markdown                   string
	runs, large, plays         int
	sizes                      []int
	targets, resources, played int
}

func (b *bench) run(ctx context.Context, parts, sizes []string) (err error) {
	for _, s := range sizes {
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("-sizes: %w", err)
		}
		b.sizes = append(b.sizes, n)
	}
	if b.bolt, err = filepath.Abs(b.bolt); err != nil {
		return err
	}
	if b.puppet != "" {
		if b.puppet, err = exec.LookPath(b.puppet); err != nil {
			fmt.Fprintln(os.Stderr, "apply: no puppet to measure beside (Debian's package is puppet)")
			b.puppet = ""
		}
	}
	b.out = io.MultiWriter(os.Stdout, &b.text)
	fmt.Fprintln(b.out, measure.Machine(ctx))
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"files", b.files}, {"mixed", b.mixed}, {"wire", b.wire}, {"copies", b.copies}, {"fleet", b.fleet}, {"rollouts", b.rollouts}, {"watch", b.watch}, {"status", b.status}} {
		if slices.Contains(parts, part.name) && ctx.Err() == nil {
			if err := part.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	if b.markdown != "" && ctx.Err() == nil {
		err = measure.Replace(b.markdown, "apply", b.text.String())
	}
	return errors.Join(err, ctx.Err())
}
