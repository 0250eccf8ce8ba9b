package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"bolt/internal/safetext"
	"bolt/transport/ssh/pattern"
)

// Execs runs the commands of "Match exec" for one caller, each command once. ssh
// runs them once for each connection, but an invocation of bolt looks up the settings
// of a host for each action.
type Execs struct {
	dir     string
	environ []string // nil means the environment of this process

	mu   sync.Mutex
	runs map[string]*matchRun // by command
}

// A matchRun is a command that has run, or is running.
type matchRun struct {
	done    chan struct{} // closed when the other fields are set
	ok      bool
	err     error
	givenUp bool // err was caused by the end of the first caller's context
}

const (
	// matchTakes is the time limit of a command if the connect timeout is not
	// set. ssh has no limit.
	matchTakes = 30 * time.Second
	// matchLeaves is the time for which a process that a command leaves behind
	// can hold its stderr.
	matchLeaves = 200 * time.Millisecond
	// maxMatchRuns is the maximum number of cached results.
	maxMatchRuns = 10_000
)

// NewExecs returns an Execs for a directory and an environment (as
// "NAME=value"). "" and nil mean those of this process.
func NewExecs(dir string, environ []string) *Execs {
	return &Execs{dir: dir, environ: environ}
}

// holds reports whether a command ends with status 0.
func (m *Execs) holds(ctx context.Context, command string, limit time.Duration) (bool, error) {
	for {
		m.mu.Lock()
		r, known := m.runs[command]
		if !known {
			if m.runs == nil || len(m.runs) >= maxMatchRuns {
				m.runs = make(map[string]*matchRun)
			}
			r = &matchRun{done: make(chan struct{})}
			m.runs[command] = r
		}
		m.mu.Unlock()
		if !known {
			r.ok, r.err = m.run(ctx, command, limit)
			r.givenUp = r.err != nil && ctx.Err() != nil
			if r.err != nil {
				m.mu.Lock()
				delete(m.runs, command) // the next caller tries again
				m.mu.Unlock()
			}
			close(r.done)
			return r.ok, r.err
		}
		select {
		case <-r.done:
			if r.givenUp && ctx.Err() == nil {
				continue
			}
			return r.ok, r.err
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// run runs a command as ssh does: with the user's shell, without standard input
// and output. The last line of its standard error is part of an error.
func (m *Execs) run(ctx context.Context, command string, limit time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the command did not end within %v", limit))
	defer cancel()
	shell, _ := EnvironOf(m.environ).get("SHELL")
	cmd := exec.CommandContext(ctx, cmp.Or(shell, "/bin/sh"), "-c", command)
	cmd.Dir, cmd.Env = m.dir, m.environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = matchLeaves
	said := new(safetext.Tail)
	cmd.Stderr = said
	err := cmd.Run()
	switch status, exited := errors.AsType[*exec.ExitError](err); {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return true, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case exited && status.Exited():
		return false, nil
	}
	if line := said.LastLine(); line != "" {
		err = fmt.Errorf("%w; its last message is %q", err, line)
	}
	return false, err
}

// runs evaluates "Match exec". If a command cannot be run, the search fails, as in ssh.
func (e *evaluation) runs(command string, at position) bool {
	text, err := expandText(command, false, e.local, e.execTokens().forExec)
	ok := false
	switch {
	case err != nil:
	case e.by.Execs == nil:
		err = errors.New("bolt has no environment to run the command in")
	default:
		ok, err = e.by.Execs.holds(e.ctx, text, cmp.Or(e.by.ExecLimit, matchTakes))
	}
	e.ran = true
	if err != nil {
		e.fail = fmt.Errorf("%s: Match exec %q: %w", at, command, err)
	}
	return ok
}

// execTokens returns the tokens for the settings up to the current line.
func (e *evaluation) execTokens() *tokens {
	h := Host{Port: cmp.Or(e.key.port, e.number(optPort)), HostKeyAlias: pattern.Lower(e.text(optHostKeyAlias))}
	t := e.tokens(&h)
	if t.hostName == "" {
		t.hostName, _ = e.rawHostName() // an expansion error is reported later
	}
	return t
}

// forExec expands tokens in commands of Match exec.
func (t *tokens) forExec(token byte) (string, error) {
	switch token {
	case 'h', 'n', 'p', 'r':
		return t.forProxy(true)(token)
	case 'k', 'j':
		value, err := t.expand(token)
		if err == nil && !shellSafe(value) {
			err = fmt.Errorf("%q has characters that are not allowed in a command", value)
		}
		return value, err
	}
	return t.expand(token)
}
