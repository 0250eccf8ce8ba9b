package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/bench/measure"
)

const (
	// disturbances is how often each file is changed. It stays below the number of changes after which a watch slows down.
	disturbances = 2
	// idleTime is how long an idle watch is measured.
	idleTime = time.Minute
	// tick is the unit of CPU times in /proc (USER_HZ).
	tick = 10 * time.Millisecond
)

// watch measures a watch of one target. It measures the time from a change of a file to its repair, and the cost of the helper
// when nothing happens.
func (b *bench) watch(ctx context.Context) (err error) {
	s, err := b.stage(ctx, 1, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	manifest, err := s.manifest(b.resources)
	if err != nil {
		return err
	}
	if err := s.clear(); err != nil {
		return err
	}
	p := s.bolt(manifest, "required", noFacts, "--watch")
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.Env, p.Dir, &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if werr := cmd.Wait(); werr != nil && err == nil {
			err = fmt.Errorf("bolt apply --watch: %w\n%s", werr, out.String())
		}
	}()
	files := func() []string {
		list, _ := filepath.Glob(filepath.Join(s.Dir, "trees", "*", "f*")) // the pattern is correct
		return list
	}
	for end := time.Now().Add(time.Minute); len(files()) < b.resources; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the first run does not end:\n%s", out.String())
		}
	}
	time.Sleep(2 * time.Second) // the check of its own changes
	var took []time.Duration
	for range disturbances {
		for _, f := range files() {
			d, err := repair(ctx, f)
			if err != nil {
				return err
			}
			took = append(took, d)
		}
	}
	slices.Sort(took)
	at := func(percent int) string {
		return fmt.Sprintf("%.1f", float64(took[min(len(took)*percent/100, len(took)-1)])/float64(time.Millisecond))
	}
	time.Sleep(2 * time.Second)
	rows := [][]string{{"from a change to its repair, ms: median", at(50)}, {"95 of 100 below", at(95)}, {"longest", at(100)}}
	helpers, err := s.helpers()
	if err != nil {
		return err
	}
	for i, pid := range helpers {
		before, err := cpu(pid)
		if err != nil {
			return err
		}
		if i == 0 {
			time.Sleep(idleTime)
		} else {
			time.Sleep(idleTime / 6)
		}
		after, err := cpu(pid)
		if err != nil {
			return err
		}
		long := idleTime
		if i > 0 {
			long /= 6
		}
		resident, err := resident(pid)
		if err != nil {
			return err
		}
		name := "the helper"
		if i > 0 {
			name = "the process that passes signals on to it"
		}
		rows = append(rows,
			[]string{name + ", idle: CPU in % of a core", fmt.Sprintf("%.3f", 100*float64(after-before)/float64(long))},
			[]string{name + ": resident memory, MB", fmt.Sprintf("%.1f", float64(resident)/1e6)})
	}
	fmt.Fprintf(b.out, "\n### A watch of %d files on one target\n\n", b.resources)
	return measure.Markdown(b.out, 1, []string{"figure", "value"}, rows)
}

// repair changes a file, and returns the time until it is right again.
func repair(ctx context.Context, name string) (time.Duration, error) {
	right, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(name, []byte("wrong\n"), 0o644); err != nil {
		return 0, err
	}
	start := time.Now()
	for {
		if text, err := os.ReadFile(name); err == nil && bytes.Equal(text, right) {
			break
		}
		if time.Since(start) > time.Minute || ctx.Err() != nil {
			return 0, fmt.Errorf("%s is not put right", name)
		}
		time.Sleep(200 * time.Microsecond)
	}
	took := time.Since(start)
	time.Sleep(50 * time.Millisecond) // the check of the repair itself
	return took, nil
}

// helpers returns the two processes of the helper: first the worker, then its parent process.
func (s *scene) helpers() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // it may have ended
		if words := strings.Split(string(text), "\x00"); strings.HasPrefix(words[0], s.Dir) && strings.HasPrefix(filepath.Base(words[0]), "helper-") {
			if slices.Contains(words, "--own-session") {
				pids = slices.Insert(pids, 0, pid)
			} else {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) == 0 {
		return nil, errors.New("no helper works")
	}
	return pids, nil
}

// cpu returns the CPU time of a process.
func cpu(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 11, 12
	var sum time.Duration
	for _, at := range []int{user, system} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// resident returns the resident memory of a process in bytes.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
