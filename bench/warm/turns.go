package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// A kind is the role of a tool in comparisons.
type kind int

const (
	other kind = iota
	peer       // bolt is compared with the best of the peers
)

// A tool is one way to do a job on all hosts of a farm.
type tool struct {
	name   string
	kind   kind
	needs  string // the program that must be installed
	atOnce int    // targets at a time, 0: as the others
	cold   bool   // opens its connections each time: a run is a turn
	run    func(context.Context) (measure.Sample, error)
	behind []int        // processes that work for it beside its own
	after  func() error // undoes what a run did
}

// program returns a tool that is a program.
func program(name string, p measure.Program) tool {
	return tool{name: name, needs: p.Argv[0], run: func(ctx context.Context) (measure.Sample, error) { return measure.Run(ctx, p) }}
}

// A row holds the samples of a tool.
type row struct {
	tool
	targets           int
	sustained, rested []measure.Sample
	servers           []int
	served            []time.Duration // the servers' processor time for a run, if the servers are known
}

// maxBurst ends the runs without a pause for slow tools, for which further
// runs would add no information.
const maxBurst = 6 * time.Second

// turns measures the tools in turns. A tool that fails loses its row, and its
// error is printed and counted, so that the others are still measured.
func turns(ctx context.Context, o options, tools []tool, f *farm.Farm, atOnce int) (rows []row, err error) {
	targets := len(f.Hosts)
	for _, t := range tools {
		if len(o.tools) > 0 && !slices.ContainsFunc(o.tools, func(w string) bool { return strings.Contains(t.name, w) }) {
			continue
		}
		if t.needs != "" {
			if _, err := exec.LookPath(t.needs); err != nil {
				fmt.Fprintf(os.Stderr, "warm: %s is not installed, left out\n", t.needs)
				continue
			}
		}
		t.atOnce = min(cmp.Or(t.atOnce, atOnce), targets)
		rows = append(rows, row{tool: t, targets: targets, servers: f.Servers})
	}
	failed := 0
	for range o.runs {
		for i := 0; i < len(rows); i++ {
			err := rows[i].turn(ctx, o)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "warm: %s on %d targets: %v\n", rows[i].name, targets, err)
				failed++
				rows = slices.Delete(rows, i, i+1)
				i--
			}
		}
	}
	if failed > 0 {
		return rows, fmt.Errorf("%d tools failed on %d targets", failed, targets)
	}
	return rows, nil
}

func (r *row) turn(ctx context.Context, o options) error {
	if r.cold {
		s, err := r.once(ctx)
		r.sustained = append(r.sustained, s)
		return err
	}
	if _, err := r.once(ctx); err != nil {
		return err
	}
	before, err := measure.Sum(r.behind)
	if err != nil {
		return err
	}
	servedBefore, err := measure.Sum(r.servers)
	if err != nil {
		return err
	}
	begin, first := time.Now(), len(r.sustained)
	for n := 0; n == 0 || n < o.burst && time.Since(begin) < maxBurst; n++ {
		s, err := r.once(ctx)
		if err != nil {
			return err
		}
		r.sustained = append(r.sustained, s)
	}
	between, err := measure.Sum(r.behind)
	if err != nil {
		return err
	}
	servedAfter, err := measure.Sum(r.servers)
	if err != nil {
		return err
	}
	burst := r.sustained[first:]
	r.served = append(r.served, (servedAfter-servedBefore)/time.Duration(len(burst)))
	for i := range burst {
		burst[i].CPU += (between - before) / time.Duration(len(burst))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.pause):
	}
	s, err := r.once(ctx)
	if err != nil {
		return err
	}
	after, err := measure.Sum(r.behind)
	s.CPU += after - between
	r.rested = append(r.rested, s)
	return err
}

func (r *row) once(ctx context.Context) (measure.Sample, error) {
	s, err := r.run(ctx)
	if err == nil && r.after != nil {
		err = r.after()
	}
	return s, err
}

// print prints rows as a table. The last columns are the ratios of the best
// peer's wall and processor time to this tool's: above 1, this tool is
// quicker.
func print(w io.Writer, title string, pause time.Duration, rows []row) error {
	if _, err := fmt.Fprintf(w, "\n### %s\n\n", title); err != nil || len(rows) == 0 {
		return err
	}
	best := make(map[int]measure.Sample)
	for _, r := range rows {
		if r.kind != peer {
			continue
		}
		m := measure.Median(r.sustained)
		b, ok := best[r.targets]
		if !ok {
			b = m
		}
		best[r.targets] = measure.Sample{Wall: min(b.Wall, m.Wall), CPU: min(b.CPU, m.CPU)}
	}
	var lines [][]string
	for _, r := range rows {
		m, after := measure.Median(r.sustained), measure.Median(r.rested)
		line := []string{r.name, strconv.Itoa(r.targets), strconv.Itoa(r.atOnce), strconv.Itoa(len(r.sustained)),
			ms(m.Wall), spread(r.sustained), perTarget(m.CPU, r.targets), "-", "-", "-", "-"}
		if len(r.rested) > 0 {
			line[7], line[8] = ms(after.Wall), perTarget(after.CPU, r.targets)
		}
		if b, ok := best[r.targets]; ok {
			line[9], line[10] = times(b.Wall, m.Wall), times(b.CPU, m.CPU)
		}
		lines = append(lines, line)
	}
	rest := "after " + pause.String()
	header := []string{"tool", "targets", "at once", "runs", "wall ms", "10 to 90 %", "client CPU ms/target",
		"wall ms " + rest, "CPU " + rest, "best peer's wall ÷ its", "best peer's CPU ÷ its"}
	if len(rows[0].servers) > 0 {
		header = append(header, "server CPU ms/target")
		for i, r := range rows {
			served := "-"
			if len(r.served) > 0 {
				served = perTarget(slices.Sorted(slices.Values(r.served))[len(r.served)/2], r.targets)
			}
			lines[i] = append(lines[i], served)
		}
	}
	return measure.Markdown(w, 1, header, lines)
}

func ms(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond))
}

func perTarget(d time.Duration, targets int) string {
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond)/float64(targets))
}

func times(best, its time.Duration) string {
	if its <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(best)/float64(its))
}

// spread returns the range of most runs.
func spread(samples []measure.Sample) string {
	if len(samples) == 0 {
		return "-"
	}
	walls := make([]time.Duration, len(samples))
	for i, s := range samples {
		walls[i] = s.Wall
	}
	slices.Sort(walls)
	return ms(walls[len(walls)/10]) + " to " + ms(walls[len(walls)*9/10])
}
