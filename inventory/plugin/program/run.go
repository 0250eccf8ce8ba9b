package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"bolt/internal/safetext"
)

const (
	// MaxOutput is how many bytes a program may write to its standard output.
	MaxOutput = 64 << 20
	// DefaultTimeout is how long a program may run if nothing else is said.
	DefaultTimeout = time.Minute

	// maxErrors is how much of the end of standard error is kept, and maxTold how
	// much of that is told.
	maxErrors = 4 << 10
	maxTold   = 500
	// grace is how long a program has between SIGTERM and SIGKILL, and how long
	// children that it leaves behind may hold its standard output after its end:
	// what it had to say it has said.
	grace = 500 * time.Millisecond
)

// A Command is a program with its arguments. No shell sees it.
type Command struct {
	Argv []string
	Dir  string   // where it runs; "" is the working directory
	Env  []string // NAME=value; nil is this process's own
	// Timeout is how long it may run; 0 is no limit.
	Timeout time.Duration
	// Input is its standard input.
	Input []byte
	// Log, if it is not nil, is called with each line that the program writes to
	// standard error, from one goroutine at a time. A line has at most MaxLine bytes (0 is
	// 500) and no control characters, and lines after the thousandth are dropped.
	Log     func(line string)
	MaxLine int
}

// ErrFormat is the error of a file that the system cannot run although it may be
// run: it is neither a binary nor a script with a first line that says of what.
var ErrFormat = syscall.ENOEXEC

// Run runs a program to its end and returns its standard output. The program is
// in a process group of its own, which ends when ctx or the time does. An exit
// status other than 0 is an error, with the end of what was written to standard
// error, and then the output is returned beside it. An output of more than
// MaxOutput is an error. When ctx ends, the error is its cause.
func Run(ctx context.Context, c Command) ([]byte, error) {
	name := told(c.Argv[0])
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if c.Timeout > 0 {
		late := fmt.Errorf("the program %s was ended: it did not finish within %v", name, c.Timeout)
		var done context.CancelFunc
		running, done = context.WithTimeoutCause(running, c.Timeout, late)
		defer done()
	}
	cmd := exec.CommandContext(running, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &bounded{full: func() {
		stop(fmt.Errorf("the program %s was ended: it wrote more than %d MiB", name, MaxOutput>>20))
	}}
	errs := &tail{lines: lines{log: c.Log, max: cmp.Or(c.MaxLine, maxLine)}}
	cmd.Stdout, cmd.Stderr = out, errs
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	group := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) } // it may be gone
	cmd.Cancel = func() error { group(syscall.SIGTERM); return nil }
	cmd.WaitDelay = grace
	if err := running.Err(); err != nil {
		return nil, context.Cause(running)
	}
	if err := cmd.Start(); err != nil {
		// The system does not say which of the two is not there.
		if info, wrong := os.Stat(c.Dir); c.Dir != "" && (wrong != nil || !info.IsDir()) {
			return nil, fmt.Errorf("the program %s could not be run: there is no directory %s", name, told(c.Dir))
		}
		return nil, notStarted(name, err)
	}
	err := cmd.Wait()
	errs.lines.end()
	if running.Err() != nil {
		group(syscall.SIGKILL) // who has not ended with it
		return nil, context.Cause(running)
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		group(syscall.SIGKILL) // who holds its output and is not it
	case failed:
		return out.b.Bytes(), fmt.Errorf("the program %s failed (%v)%s", name, exit, errs.told())
	case err != nil:
		return nil, fmt.Errorf("the program %s: %w", name, err)
	}
	return out.b.Bytes(), nil
}

func notStarted(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the program %s was not found on this machine", name)
	case errors.Is(err, ErrFormat):
		return fmt.Errorf("the program %s cannot be run: its first line does not say by what (#!/bin/sh, say): %w", name, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the program %s cannot be run: permission denied. Is it executable (chmod +x)?", name)
	}
	return fmt.Errorf("the program %s could not be run: %w", name, err)
}

// bounded keeps what is written, up to MaxOutput; more is an error, of which it
// tells.
type bounded struct {
	b    bytes.Buffer
	full func()
}

func (o *bounded) Write(p []byte) (int, error) {
	if o.b.Len()+len(p) > MaxOutput {
		o.full()
		return 0, errors.New("too much output")
	}
	return o.b.Write(p)
}

// tail stores the end of the written data, and logs its lines.
type tail struct {
	b     []byte
	lines lines
}

func (t *tail) Write(p []byte) (int, error) {
	t.lines.write(p)
	if over := len(t.b) + len(p) - maxErrors; over > 0 {
		t.b = append(t.b[:0], t.b[min(over, len(t.b)):]...)
	}
	t.b = append(t.b, p[max(0, len(p)-maxErrors):]...)
	return len(p), nil
}

// told is the end of what was written for a message: whole lines, as far as they
// fit.
func (t *tail) told() string {
	text := strings.TrimSpace(safetext.TerminalString(string(t.b)))
	if len(text) > maxTold {
		text = text[len(text)-maxTold:]
		if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
			text = text[i+1:]
		}
		for !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		text = "… " + text
	}
	if text == "" {
		return ", and said nothing about it on standard error"
	}
	return ": " + text
}

// told is text of the outside for a message.
func told(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return "'" + safetext.TerminalString(s) + "'"
}
