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
	// DefaultTimeout is the time limit of a program if no other is set.
	DefaultTimeout = time.Minute

	// maxErrors is the number of bytes at the end of standard error that are kept. maxTold
	// is the number of these bytes that an error contains.
	maxErrors = 4 << 10
	maxTold   = 500
	// grace is the time between SIGTERM and SIGKILL. It is also the time for which child
	// processes may keep standard output open after the program ends: by then the program
	// has written all its output.
	grace = 500 * time.Millisecond
)

// A Command is a program with its arguments. It is run without a shell.
type Command struct {
	Argv []string
	Dir  string   // the working directory; "" is the current one
	Env  []string // NAME=value; nil is this process's environment
	// Timeout is the time limit; 0 means no limit.
	Timeout time.Duration
	// Input is its standard input.
	Input []byte
	// Log, if it is not nil, is called with each line that the program writes to
	// standard error, from one goroutine at a time. A line has at most MaxLine bytes (0 is
	// 500) and no control characters, and lines after the thousandth are dropped.
	Log     func(line string)
	MaxLine int
}

// ErrFormat is the error of an executable file that the system cannot run: it is neither a
// binary nor a script with an interpreter in its first line.
var ErrFormat = syscall.ENOEXEC

// Run runs a program to its end and returns its standard output. The program runs in a
// process group of its own, which is stopped when ctx is done or the time limit is
// exceeded. If the exit status is not 0, Run returns the output and an error with the end
// of standard error. An output of more than MaxOutput bytes is an error. When ctx is done,
// the error is its cause.
func Run(ctx context.Context, c Command) ([]byte, error) {
	name := told(c.Argv[0])
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if c.Timeout > 0 {
		late := fmt.Errorf("the program %s was stopped: it did not finish within %v", name, c.Timeout)
		var done context.CancelFunc
		running, done = context.WithTimeoutCause(running, c.Timeout, late)
		defer done()
	}
	cmd := exec.CommandContext(running, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &bounded{full: func() {
		stop(fmt.Errorf("the program %s was stopped: it wrote more than %d MiB", name, MaxOutput>>20))
	}}
	errs := &tail{lines: lines{log: c.Log, max: cmp.Or(c.MaxLine, maxLine)}}
	cmd.Stdout, cmd.Stderr = out, errs
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	group := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) } // the process may have ended
	cmd.Cancel = func() error { group(syscall.SIGTERM); return nil }
	cmd.WaitDelay = grace
	if err := running.Err(); err != nil {
		return nil, context.Cause(running)
	}
	if err := cmd.Start(); err != nil {
		// The system's error does not tell a missing program from a missing directory.
		if info, wrong := os.Stat(c.Dir); c.Dir != "" && (wrong != nil || !info.IsDir()) {
			return nil, fmt.Errorf("the program %s could not be run: the directory %s does not exist", name, told(c.Dir))
		}
		return nil, notStarted(name, err)
	}
	err := cmd.Wait()
	errs.lines.end()
	if running.Err() != nil {
		group(syscall.SIGKILL) // child processes that still run
		return nil, context.Cause(running)
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		group(syscall.SIGKILL) // child processes that keep its output open
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
		return fmt.Errorf("the program %s cannot be run: its first line does not name an interpreter (such as #!/bin/sh): %w", name, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the program %s cannot be run: permission denied. Is it executable (chmod +x)?", name)
	}
	return fmt.Errorf("the program %s could not be run: %w", name, err)
}

// bounded keeps written data up to MaxOutput. If there is more, Write returns an error and
// full is called.
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

// told returns the end of standard error for a message: as many whole lines as fit.
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

// told makes a string from outside safe for a message.
func told(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return "'" + safetext.TerminalString(s) + "'"
}
