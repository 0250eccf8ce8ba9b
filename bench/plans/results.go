package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// resultSteps is the number of ResultSets that a plan of the part results
// keeps.
const resultSteps = 10

// results measures the memory of a plan that keeps all results of many
// targets, with outputs of two sizes.
func results(ctx context.Context, o options, w io.Writer) error {
	farmd, remove, err := farm.LightServer(ctx, o.farmd)
	if err != nil {
		return err
	}
	defer remove()
	var rows [][]string
	for _, size := range []int{1 << 10, 20 << 10} {
		of, err := resultsOf(ctx, o, farmd, size)
		if err != nil {
			return err
		}
		rows = append(rows, of...)
	}
	fmt.Fprintf(w, "\n### Results that a plan keeps, %d steps on %d targets (light server), %d turns\n\n", resultSteps, o.many, o.runs)
	return measure.Markdown(w, 1, []string{"", "output of each, KiB", "outputs MiB", "wall ms", "CPU ms", "peak MiB", "beyond an empty plan, ÷ outputs", "the daemon's peak MiB"}, rows)
}

// resultsOf measures outputs of one size.
func resultsOf(ctx context.Context, o options, farmd string, size int) (rows [][]string, err error) {
	line := strings.Repeat("x", 63) + "\n"
	f, err := farm.Light(ctx, farmd, o.many, "-output", strings.Repeat(line, size/len(line)))
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, o, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	keep := fmt.Sprintf("  $all = Integer[1, %d].map |$i| { run_command('cat report', $targets) }\n", resultSteps)
	var list []*contestant
	for _, p := range []struct{ name, title, body string }{
		{"empty", "a plan without a step", "  get_targets($targets)\n"},
		{"keep", "results are kept", keep + "  return($all.map |$set| { $set.count })\n"},
		{"read", "and each output is read", keep + "  return($all.map |$set| { $set.map |$r| { $r['stdout'].length } })\n"},
		{"last", "and those of one step are returned", keep + "  return($all[0])\n"},
		{"all", "and all are returned", keep + "  return($all)\n"},
	} {
		program, err := s.plan(p.name, p.body, "--format", "json")
		if err != nil {
			return nil, err
		}
		list = append(list, &contestant{name: p.title, program: program, behind: []int{s.pid}})
	}
	peaks, err := s.peaks(ctx, list)
	if err != nil {
		return nil, err
	}
	base := list[0].cost()
	for i, c := range list {
		k, outputs, times := c.cost(), int64(0), "-"
		if i > 0 {
			outputs = int64(resultSteps) * int64(o.many) * int64(size)
			times = fmt.Sprintf("%.2f", float64(k.peak-base.peak)/float64(outputs))
		}
		rows = append(rows, []string{c.name, fmt.Sprint(size >> 10), mib(outputs), ms(k.wall), ms(k.own), mib(k.peak), times, mib(peaks[i])})
	}
	return rows, nil
}

// peaks runs contestants in turns, and returns the peak memory of the daemon
// during each.
func (s *scene) peaks(ctx context.Context, list []*contestant) ([]int64, error) {
	peaks := make([]int64, len(list))
	for turn := range s.o.runs + 1 {
		for i, c := range list {
			if err := measure.ResetPeak(s.pid); err != nil {
				return nil, err
			}
			if err := c.turn(ctx, turn > 0); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			peak, err := measure.Peak(s.pid)
			if err != nil {
				return nil, err
			}
			peaks[i] = max(peaks[i], peak)
		}
	}
	return peaks, nil
}
