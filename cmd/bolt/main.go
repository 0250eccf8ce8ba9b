// Bolt runs commands and scripts and copies files on many machines at once, over SSH,
// with nothing installed on them.
//
// This package parses arguments into requests, connects the other packages and
// chooses exit codes. It is the only place that reads flags and environment
// variables, asks questions, and exits.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/safetext"
	"bolt/output"
	"bolt/output/screen"
	"bolt/run"
)

// version is set by the build.
var version = "0.1.0-dev"

// Exit codes. The first two are the same as in Puppet Bolt.
const (
	exitOK        = 0
	exitFailed    = 1 // a target failed, or there is an error in the command line, a file or the program itself
	exitDifferent = 2 // a comparison found differences
	exitWaiting   = 3 // a rollout is paused, or waits for an approval or a window
)

func main() {
	collectLate(16)
	remote := new(atomic.Bool)
	ctx := catchSignals(context.Background(), os.Stderr, remote)
	code := realMain(ctx, os.Args[1:], system{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, os.Environ, remote})
	os.Exit(code)
}

// collectLate raises the heap size of the first garbage collection from 4 MB: most
// invocations end before. Later collections are as usual.
func collectLate(megabytes int) {
	const usual, first = 100, 4 // percent and MB, if GOGC is not set
	var done debug.GCStats
	debug.ReadGCStats(&done)
	if _, set := os.LookupEnv("GOGC"); set || done.NumGC > 0 {
		return
	}
	debug.SetGCPercent(usual * megabytes / first)
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// system is the environment of one invocation.
type system struct {
	in       *os.File
	out, err *os.File
	lookup   func(name string) (value string, ok bool) // environment
	environ  func() []string                           // all of it
	remote   *atomic.Bool                              // set when an action begins to run on targets
}

func (s system) env(name string) string {
	v, _ := s.lookup(name)
	return v
}

// realMain is main without the end of the process: deferred calls run before it
// returns.
func realMain(ctx context.Context, argv []string, sys system) int {
	err := execute(ctx, argv, sys)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, cli.ErrFailed):
		return exitFailed
	case errors.Is(err, cli.ErrDifferent):
		return exitDifferent
	case errors.Is(err, cli.ErrWaits):
		return exitWaiting
	case errors.Is(err, cli.ErrWrite):
		// Standard output cannot be used to report this.
		fmt.Fprintln(sys.err, "bolt:", safetext.TerminalString(err.Error()))
		return exitFailed
	}
	out := sys.out
	if _, ok := errors.AsType[*besideError](err); ok {
		out = sys.err
	}
	if e, ok := errors.AsType[*cli.UsageError](err); ok {
		err = &fault.Error{Msg: err.Error(), Hint: e.Hint}
	}
	_ = output.PrintError(output.Options{Format: output.Human, Out: out, Err: sys.err, Apart: screen.Apart(out, sys.err), Width: screen.Width(out)}, err)
	return exitFailed
}

// A besideError is the error of a command whose standard output is data. It is
// printed on standard error.
type besideError struct{ err error }

func (e *besideError) Error() string { return e.err.Error() }
func (e *besideError) Unwrap() error { return e.err }

// sameSignal is the time after the first signal in which further signals are ignored.
// timeout(1) signals its child and then the process group, so the child gets two.
const sameSignal = time.Second

// leaves reports whether a further signal ends the program immediately. Only a second
// ^C does: supervisors repeat SIGTERM, and use SIGKILL to end a process immediately.
func leaves(s os.Signal, sinceFirst time.Duration) bool {
	return s == os.Interrupt && sinceFirst > sameSignal
}

// catchSignals returns a context that ends at the first signal, so that running
// commands are ended and partial results printed. leaves decides about further
// signals. remote reports whether an action runs on targets. The signals stay
// caught until the process exits: each call of signal.Stop would wait for a thread.
func catchSignals(ctx context.Context, notice io.Writer, remote *atomic.Bool) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		// nohup(1), and shells for background jobs, ignore these signals.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	// If SIGPIPE is caught, a broken pipe is a write error, and does not end the
	// process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		var first time.Time
		for s := range signals {
			ending, left := "", "."
			if remote.Load() {
				ending, left = ": bolt ends the commands on the targets", ": commands may go on running on some targets."
			}
			switch {
			case first.IsZero():
				first = time.Now()
				fmt.Fprintf(notice, "\nStopping (%v)%s. Press ^C again to leave at once.\n", s, ending)
				cancel(run.ErrStopped)
			case leaves(s, time.Since(first)):
				fmt.Fprintln(notice, "\nLeaving at once"+left)
				os.Exit(exitFailed)
			}
		}
	}()
	return ctx
}

// usagef returns an error about the command line.
func usagef(format string, a ...any) error { return cli.Errorf(format, a...) }

// hinted adds a hint to an error about the command line.
func hinted(err error, format string, a ...any) error { return cli.Hinted(err, format, a...) }

// written marks an error of writing to standard output.
func written(err error) error { return cli.Written(err) }
