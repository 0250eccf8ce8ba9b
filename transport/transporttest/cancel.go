package transporttest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/transport"
)

func cancelCases() []testCase {
	return []testCase{
		{"group, gently", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{Line: s.line() + " & " + s.line() + "; echo no"}, s)
		}},
		{"child that ignores TERM", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{Line: "trap '' TERM; " + s.line() + "; " + s.line(), Grace: time.Second}, s)
		}},
		{"leader obeys, child does not", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{Line: "(trap '' TERM; " + s.line() + ") >/dev/null 2>&1 & sleep 100; echo no", Grace: time.Second}, s)
		}},
		{"with environment", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{Line: s.line() + "; echo no", Env: []string{"A=b"}}, s)
		}},
		{"script", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			dir := worldDir(t)
			m.expectCancelled(t, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{script("x", s.line()+"\necho no")}}, s)
			expectEmpty(t, dir)
		}},
		{"script that ignores TERM", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			dir := worldDir(t)
			m.expectCancelled(t, transport.Cmd{TmpDir: dir, Grace: time.Second, Argv: []string{"./x"},
				Files: []transport.File{script("x", "trap '' TERM\n"+s.line()+"\n"+s.line())}, Stdin: []byte("in")}, s)
			eventually(t, "the private directory is gone", func() bool { return isEmpty(t, dir) })
		}},
		{"words about time", func(t *testing.T, m *machine) {
			ctx, cancel := context.WithTimeout(testContext(t), 200*time.Millisecond)
			defer cancel()
			_, err := try(ctx, m.dial(t), transport.Cmd{Line: "sleep 100"})
			expectError(t, err, transport.ClassTimeout, "")
		}},
		{"TERM comes first", termFirst},
		{"output until then is delivered", func(t *testing.T, m *machine) {
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			r, err := try(ctx, m.dial(t), transport.Cmd{
				Line: "trap 'echo bye; exit' TERM; echo up >&2; while :; do sleep 0.05; done", Stderr: sinkFunc(func([]byte) error { cancel(); return nil })})
			expectError(t, err, transport.ClassCancelled, "")
			if r.stdout != "bye\n" {
				t.Errorf("got stdout %q", r.stdout)
			}
		}},
		{"error names a process that cannot be ended", cannotEnd},
		{"Close ends running commands", closeEnds},
		{"a daemon survives a normal end", daemonSurvives},
	}
}

// sleeper is a process that can be found by its command line.
type sleeper struct{ marker string }

var sleepers atomic.Int64

func newSleeper(t *testing.T) *sleeper {
	s := &sleeper{marker: fmt.Sprintf("7%d.%d", os.Getpid(), sleepers.Add(1)+time.Now().UnixNano()%1e9*1000)}
	t.Cleanup(func() {
		if runs(t, s.args()) {
			t.Errorf("sleep %s is left running", s.marker)
		}
	})
	return s
}

func (s *sleeper) line() string { return "sleep " + s.marker }

// args returns the command line of the process, which differs from its shell's.
func (s *sleeper) args() string { return "sleep\x00" + s.marker }

// expectCancelled starts a command, cancels it when its sleeper runs, and
// checks that no process of it is left.
func (m *machine) expectCancelled(t *testing.T, cmd transport.Cmd, s *sleeper) {
	t.Helper()
	c := m.dial(t)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var wg sync.WaitGroup
	var r result
	var err error
	wg.Go(func() { r, err = try(ctx, c, cmd) })
	eventually(t, "the command runs", func() bool { return runs(t, s.args()) })
	cancel()
	wg.Wait()
	e := expectError(t, err, transport.ClassCancelled, "")
	if !cmd.TTY && !strings.Contains(e.Error(), "has ended") {
		t.Errorf("the error does not report that the process has ended: %v", e)
	}
	if r.stdout != "" {
		t.Errorf("got stdout %q", r.stdout)
	}
	eventually(t, "all processes of the command have ended", func() bool { return !runs(t, s.args()) })
	run(t, c, transport.Cmd{Line: "echo again"}).expect(t, transport.Status{}, "again\n", "")
}

func termFirst(t *testing.T, m *machine) {
	dir := worldDir(t)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var start time.Time
	_, err := try(ctx, m.dial(t), transport.Cmd{
		Line:   "trap 'echo >" + dir + "/term; exit' TERM; echo up; while :; do sleep 0.05; done",
		Grace:  time.Minute,
		Stdout: sinkFunc(func([]byte) error { start = time.Now(); cancel(); return nil }),
	})
	expectError(t, err, transport.ClassCancelled, "")
	if _, err := os.Stat(dir + "/term"); err != nil {
		t.Errorf("the command has not seen TERM: %v", err)
	}
	if d := time.Since(start); d > 50*time.Second {
		t.Errorf("a command that obeys TERM took %v", d)
	}
}

// cannotEnd runs a command that leaves the process group and keeps the
// session's output open.
func cannotEnd(t *testing.T, m *machine) {
	s := newSleeper(t)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	pid := make(chan string, 1)
	_, err := try(ctx, m.dial(t), transport.Cmd{
		Line:   "setsid sh -c 'echo $$; exec " + s.line() + "' & sleep 100",
		Grace:  time.Second,
		Stdout: sinkFunc(func(p []byte) error { pid <- strings.TrimSpace(string(p)); cancel(); return nil }),
	})
	if e := expectError(t, err, transport.ClassCancelled, ""); !m.env.Forgets && !strings.Contains(e.Error(), "may still be running") {
		t.Errorf("the error does not report that the process may still be running: %v", e)
	}
	command(t, "", "kill", "-KILL", <-pid)
	eventually(t, "the stray process is gone", func() bool { return !runs(t, s.args()) })
}

func closeEnds(t *testing.T, m *machine) {
	if m.env.Shared {
		return
	}
	s := newSleeper(t)
	c := m.dial(t)
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { _, err = try(testContext(t), c, transport.Cmd{Line: s.line() + "; echo no"}) })
	eventually(t, "the command runs", func() bool { return runs(t, s.args()) })
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wg.Wait()
	if transport.ClassOf(err) == "" {
		t.Errorf("Run under Close: %v", err)
	}
	eventually(t, "the command has ended", func() bool { return !runs(t, s.args()) })
}

func daemonSurvives(t *testing.T, m *machine) {
	s := newSleeper(t)
	c := m.dial(t)
	r := run(t, c, transport.Cmd{Line: s.line() + " >/dev/null 2>&1 & echo $!"})
	pid := strings.TrimSpace(r.stdout)
	eventually(t, "the daemon runs", func() bool { return runs(t, s.args()) })
	dir := worldDir(t)
	run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{script("x", "sleep 0 >/dev/null 2>&1 &")}}).
		expect(t, transport.Status{}, "", "")
	expectEmpty(t, dir)
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	time.Sleep(200 * time.Millisecond) // nothing must happen
	if !runs(t, s.args()) {
		t.Error("the daemon has ended with the command that started it")
	}
	command(t, "", "kill", pid)
	eventually(t, "the daemon is gone", func() bool { return !runs(t, s.args()) })
}
