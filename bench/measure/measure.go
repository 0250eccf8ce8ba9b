// Package measure runs programs and measures their cost: wall time, processor time
// and peak memory, each of the program and of all descendants that it waited for.
//
// Run times one program. CPU and Look read the resources of a process that keeps
// running, such as a daemon. Memory runs a program again under observation:
// watching a hundred processes takes enough time to disturb the clock, so it is
// separate. Table prints medians of samples, Markdown any table, Machine the
// machine of the measurement.
package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Program is a command line to measure.
type Program struct {
	Argv []string
	Env  []string // added to this process's
	Dir  string
	// Stdin is a file to read, "" for none.
	Stdin string
}

// A Sample is the cost of one run.
type Sample struct {
	Wall time.Duration
	CPU  time.Duration // user and system, with all descendants that were waited for
	// MaxRSS is the largest resident size that a single process had, in
	// bytes. For a program of one process it is exact; for one that forks it
	// is a lower bound, see Memory.
	MaxRSS int64
}

// Run measures one run. It returns an error if the program does not exit with 0.
func Run(ctx context.Context, p Program) (Sample, error) {
	cmd, done, err := command(ctx, p)
	if err != nil {
		return Sample{}, err
	}
	defer done()
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return Sample{}, fmt.Errorf("run %s: %w: %s", p.Argv[0], err, complaint(printed(cmd)))
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return Sample{
		Wall:   wall,
		CPU:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		MaxRSS: usage.Maxrss * 1024,
	}, nil
}

// command prepares a program; done releases its resources. Its output goes to a
// file in memory, so that this process need not read it during the run.
func command(ctx context.Context, p Program) (cmd *exec.Cmd, done func(), err error) {
	cmd = exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), p.Env...)
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("make a file in memory: %w", err)
	}
	output := os.NewFile(uintptr(fd), "output")
	cmd.Stdout, cmd.Stderr = output, output
	if p.Stdin == "" {
		return cmd, func() { output.Close() }, nil
	}
	f, err := os.Open(p.Stdin)
	if err != nil {
		output.Close()
		return nil, nil, err
	}
	cmd.Stdin = f
	return cmd, func() { output.Close(); f.Close() }, nil
}

// printed returns the output of a command.
func printed(cmd *exec.Cmd) string {
	f := cmd.Stdout.(*os.File)
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// complaint cuts the output of a program to the lines that explain its failure:
// lines that mention a failure, or the last lines.
func complaint(s string) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(s), "\n")
	var failures []string
	for _, l := range lines {
		if strings.Contains(l, `"failure"`) && len(failures) < most {
			failures = append(failures, l)
		}
	}
	if len(failures) > 0 {
		return strings.Join(failures, "\n")
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// Median returns the median of each figure of the samples; zero without samples.
func Median(samples []Sample) Sample {
	if len(samples) == 0 {
		return Sample{}
	}
	return Sample{
		Wall:   middle(samples, func(s Sample) time.Duration { return s.Wall }),
		CPU:    middle(samples, func(s Sample) time.Duration { return s.CPU }),
		MaxRSS: middle(samples, func(s Sample) int64 { return s.MaxRSS }),
	}
}

func middle[T ~int64](samples []Sample, of func(Sample) T) T {
	v := make([]T, len(samples))
	for i, s := range samples {
		v[i] = of(s)
	}
	slices.Sort(v)
	return v[len(v)/2]
}
