package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
)

// startBolt starts the program as a process of its own in a fresh project.
func startBolt(t *testing.T, server *sshtest.Server, out io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	return startBoltIn(t, t.TempDir(), server, out, args...)
}

// startBoltIn starts the program as a process of its own in a project.
func startBoltIn(t *testing.T, dir string, server *sshtest.Server, out io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	if err := writeHome(filepath.Join(dir, "home"), server); err != nil {
		t.Fatal(err)
	}
	// testscript.Main makes the test binary the program if it is called so.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "bolt"
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "BOLT_PROJECT="+dir, ownPool(t))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sleepers counts processes whose command line has mark in it.
func sleepers(t *testing.T, mark string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(line), "sleep\x00") && strings.Contains(string(line), mark) {
			n++
		}
	}
	return n
}

// until waits for a condition, and fails when it does not come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// TestInterrupt presses ^C while a command runs on two targets and two more
// wait for their turn.
func TestInterrupt(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	const mark = "4711.25"
	var out bytes.Buffer
	cmd := startBolt(t, server, &out, "command", "run", "echo before; sleep "+mark, "-t", "host1,host2,host3,host4", "-c", "2")
	until(t, "commands on two targets", func() bool { return sleepers(t, mark) == 2 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit %v, want code 1", err)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("ended %v after the interrupt", d)
	}
	text := out.String()
	for _, want := range []string{"Stopping", "Failed on host1:", "Failed on host2:", "  before", "Not run on 2 targets: host3,host4", "Ran on 2 targets"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	until(t, "end of the commands", func() bool { return sleepers(t, mark) == 0 })
}

// TestInterruptTwice presses ^C twice: the program leaves at once, and the
// commands end because their connection does.
func TestInterruptTwice(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	const mark = "4711.5"
	var out lockedBuffer
	// The command's shell ignores TERM, so the first interrupt takes its time.
	cmd := startBolt(t, server, &out, "command", "run", "trap '' TERM; sleep "+mark+"; sleep "+mark, "-t", "host1")
	until(t, "the command", func() bool { return sleepers(t, mark) == 1 })
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		// Two signals of one kind at the same moment are one.
		until(t, "the notice", func() bool { return strings.Contains(out.String(), "Stopping") })
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit %v, want code 1", err)
	}
	if !strings.Contains(out.String(), "Leaving at once") {
		t.Errorf("no word of leaving in:\n%s", out.String())
	}
	until(t, "end of the command", func() bool { return sleepers(t, mark) == 0 })
}

// TestKilled kills the program: the connection's end ends the command.
func TestKilled(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	const mark = "4711.75"
	cmd := startBolt(t, server, io.Discard, "command", "run", "sleep "+mark, "-t", "host1")
	until(t, "the command", func() bool { return sleepers(t, mark) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "end of the command", func() bool { return sleepers(t, mark) == 0 })
}
