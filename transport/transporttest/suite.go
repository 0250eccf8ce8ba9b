// Package transporttest is the conformance suite for transport.Dialer and
// transport.Conn. It tests every implementation, and every Dialer around
// another one.
//
// The Dialer under test must connect to the machine on which the test runs,
// because the suite checks its files and processes. The test must run as root,
// because run-as needs users.
package transporttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/transport"
)

// Env is the information that the suite needs in addition to the Dialer.
type Env struct {
	// As returns a Dialer and a destination that log in as another user of the
	// machine.
	As func(t *testing.T, u User) (transport.Dialer, transport.Dest)
	// StartsHome is set if commands start in the login user's home directory
	// instead of the test's working directory.
	StartsHome bool
	// Shared is set if Dial returns a connection that others use, too. Then the
	// cases about its end are left out.
	Shared bool
	// KilledBy returns the status of a command that a signal has ended, if it
	// is not reported by the signal's name.
	KilledBy func(signal string) transport.Status
	// Forgets is set if a session may end while a process that has left its
	// process group keeps its output open.
	Forgets bool
	// DownloadCode is the error code of a failed download; "" means
	// WRITE_ERROR.
	DownloadCode string
}

func (e Env) downloadCode() string { return cmp.Or(e.DownloadCode, "WRITE_ERROR") }

// TestDialer runs the suite. open is called for each case. The destination that
// it returns must log in as root.
func TestDialer(t *testing.T, open func(t *testing.T) (transport.Dialer, transport.Dest, Env)) {
	for _, s := range suites() {
		s.run(t, open, 1)
	}
}

// TestDialerAtOnce runs TestDialer with most parts of the suite in parallel,
// for a Dialer whose callers do not affect each other. The cases wait more than
// they work, and t.Parallel would run only as many of them as there are
// processors. The first part checks the order of output, so it runs alone.
func TestDialerAtOnce(t *testing.T, open func(t *testing.T) (transport.Dialer, transport.Dest, Env)) {
	all := suites()
	all[0].run(t, open, 1)
	var wg sync.WaitGroup
	for _, s := range all[1:] {
		wg.Go(func() { s.run(t, open, 2) })
	}
	wg.Wait()
}

// A suite is a part of the conformance suite.
type suite struct {
	name  string
	cases []testCase
}

func suites() []suite {
	return []suite{
		{"command", commandCases()},
		{"staged", stagedCases()},
		{"disk", diskCases()},
		{"cancel", cancelCases()},
		{"stream", streamCases()},
		{"terminal", terminalCases()},
		{"copy", copyCases()},
		{"file system", fileSystemCases()},
		{"archive", archiveCases()},
		{"runas", runAsCases()},
		{"becomes", becomeCases()},
	}
}

// run runs the cases, lanes of them at a time.
func (s *suite) run(t *testing.T, open func(t *testing.T) (transport.Dialer, transport.Dest, Env), lanes int) {
	t.Run(s.name, func(t *testing.T) {
		var wg sync.WaitGroup
		for lane := range lanes {
			wg.Go(func() {
				for i := lane; i < len(s.cases); i += lanes {
					t.Run(s.cases[i].name, func(t *testing.T) {
						d, to, env := open(t)
						s.cases[i].test(t, &machine{dialer: d, dest: to, env: env})
					})
				}
			})
		}
		wg.Wait()
	})
}

type testCase struct {
	name string
	test func(t *testing.T, m *machine)
}

// machine is the machine of a case.
type machine struct {
	dialer transport.Dialer
	dest   transport.Dest
	env    Env
}

// limit is the time limit of a case.
const limit = 3 * time.Minute

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func (m *machine) dial(t *testing.T) transport.Conn {
	t.Helper()
	return dial(t, m.dialer, m.dest)
}

// dialAs logs in as another user.
func (m *machine) dialAs(t *testing.T, u User) transport.Conn {
	t.Helper()
	d, to := m.env.As(t, u)
	return dial(t, d, to)
}

func dial(t *testing.T, d transport.Dialer, to transport.Dest) transport.Conn {
	t.Helper()
	c, err := d.Dial(testContext(t), to)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// killedBy returns the status of a command that a signal has ended.
func (m *machine) killedBy(signal string) transport.Status {
	if m.env.KilledBy != nil {
		return m.env.KilledBy(signal)
	}
	return transport.Status{Code: -1, Signal: signal}
}

// ByNumber returns the status with which shells report a signal.
func ByNumber(signal string) transport.Status {
	return transport.Status{Code: 128 + int(unix.SignalNum("SIG"+signal))}
}

// result is the result of a command.
type result struct {
	status         transport.Status
	stdout, stderr string
}

// run runs a command that must run without an error of bolt.
func run(t *testing.T, c transport.Conn, cmd transport.Cmd) result {
	t.Helper()
	r, err := try(testContext(t), c, cmd)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

func try(ctx context.Context, c transport.Conn, cmd transport.Cmd) (result, error) {
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	st, err := c.Run(ctx, &cmd)
	return result{st, stdout.String(), stderr.String()}, err
}

// expect compares a result, including stderr.
func (r result) expect(t *testing.T, status transport.Status, stdout, stderr string) {
	t.Helper()
	if r.status != status || r.stdout != stdout || r.stderr != stderr {
		t.Errorf("got %+v stdout %q stderr %q\nwant %+v stdout %q stderr %q",
			r.status, clip(r.stdout), clip(r.stderr), status, clip(stdout), clip(stderr))
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// expectError checks an error's class and code, and returns it.
func expectError(t *testing.T, err error, class transport.Class, code string) *transport.Error {
	t.Helper()
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		t.Fatalf("got error %v (%T), want a *transport.Error of class %s", err, err, class)
	}
	if e.Class != class || e.Code != code {
		t.Fatalf("got class %q code %q (%v), want %q %q", e.Class, e.Code, e, class, code)
	}
	return e
}

// worldDir returns a directory that every user of the machine can use.
func worldDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bolt-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// expectEmpty checks that a directory is empty.
func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", filepath.Join(dir, e.Name()))
	}
}

func isEmpty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}

// eventually waits for a condition that becomes true soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// runs reports whether a process of the machine has marker in its command line.
func runs(t *testing.T, marker string) bool {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || dirs == nil {
		t.Fatalf("processes cannot be listed: %v", err)
	}
	for _, f := range dirs {
		line, err := os.ReadFile(f) // the process may have ended
		if err == nil && bytes.Contains(line, []byte(marker)) {
			return true
		}
	}
	return false
}

func script(name, text string) transport.File {
	return transport.File{Name: name, Mode: 0o644, Data: []byte("#!/bin/sh\n" + strings.TrimLeft(text, "\n"))}
}
