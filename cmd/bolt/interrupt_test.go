package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
)

// startBolt starts the program as a separate process in a new project.
func startBolt(t *testing.T, server *sshtest.Server, out io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	return startBoltIn(t, t.TempDir(), server, out, args...)
}

// startBoltIn starts the program as a separate process in a project.
func startBoltIn(t *testing.T, dir string, server *sshtest.Server, out io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	if err := writeHome(filepath.Join(dir, "home"), server); err != nil {
		t.Fatal(err)
	}
	// testscript.Main makes the test binary act as the program if it has its name.
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

// sleepers counts processes whose command line contains mark.
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

// until waits for a condition, and fails if it does not become true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
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
	if d := time.Since(begin); d > 40*time.Second {
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

// TestInterruptTwice presses ^C twice: the program exits immediately, and the commands
// end because their connection ends.
func TestInterruptTwice(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	const mark = "4711.5"
	var out lockedBuffer
	// The command's shell ignores TERM, so the first interrupt takes some time.
	cmd := startBolt(t, server, &out, "command", "run", "trap '' TERM; sleep "+mark+"; sleep "+mark, "-t", "host1")
	until(t, "the command", func() bool { return sleepers(t, mark) == 1 })
	begin := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	until(t, "the end", func() bool {
		// Only a signal more than a second after the first is treated as a second one.
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	if d := time.Since(begin); d < sameSignal {
		t.Errorf("left %v after the first signal, which others repeat", d)
	}
	if err == nil || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit %v, want code 1", err)
	}
	if !strings.Contains(out.String(), "Leaving at once") {
		t.Errorf("no word of leaving in:\n%s", out.String())
	}
	until(t, "end of the command", func() bool { return sleepers(t, mark) == 0 })
}

// TestKilled kills the program: the end of the connection ends the command.
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

// TestTimeoutProgram ends the program with timeout(1), which sends SIGTERM twice:
// to the program and to its process group.
func TestTimeoutProgram(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bolt := filepath.Join(t.TempDir(), "bolt")
	if err := os.Symlink(self, bolt); err != nil {
		t.Fatal(err)
	}
	for i, args := range [][]string{{"command", "run"}, {"plan", "run", "site::p"}} {
		t.Run(args[0], func(t *testing.T) {
			for n := range 3 {
				mark := fmt.Sprintf("4712.%d%d", i, n)
				dir := t.TempDir()
				// One target finishes and the other one sleeps.
				line := "mkdir " + dir + "/first 2>/dev/null && echo finished || sleep " + mark
				args := slices.Clone(args)
				if args[0] == "command" {
					args = append(args, line)
				} else {
					args = append(args, "line="+line)
				}
				timeoutRun(t, server, dir, mark, append([]string{bolt}, append(args, "-t", "host1,host2", "--format", "json")...))
			}
		})
	}
}

// timeoutRun runs a command under timeout(1), and lets the time pass when one of the two
// targets sleeps.
func timeoutRun(t *testing.T, server *sshtest.Server, dir, mark string, args []string) {
	t.Helper()
	files := map[string]string{
		"bolt-project.yaml": "name: site\naudit: {path: audit.jsonl}\n",
		"plans/p.pp":        "plan site::p(TargetSpec $targets, String $line) { return run_command($line, $targets) }\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeHome(filepath.Join(dir, "home"), server); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("timeout", append([]string{"600"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "BOLT_PROJECT="+dir, ownPool(t))
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // timeout passes it on
		_ = cmd.Wait()
	})
	until(t, "one command sleeps, the other has finished", func() bool {
		_, err := os.Stat(filepath.Join(dir, "first"))
		return err == nil && sleepers(t, mark) == 1
	})
	// If timeout(1) gets a signal, it acts as if its time had passed.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the program succeeded")
	}
	text := stdout.String()
	if !json.Valid([]byte(text)) || !strings.Contains(text, `finished\n`) || !strings.Contains(text, "cancelled-error") {
		t.Errorf("the results are incomplete:\n%s\n%s", text, stderr.String())
	}
	if strings.Contains(stderr.String(), "Leaving at once") {
		t.Errorf("the second signal counted as another ^C:\n%s", stderr.String())
	}
	log := strings.TrimSpace(readFile(t, filepath.Join(dir, "audit.jsonl")))
	if last := log[strings.LastIndex(log, "\n")+1:]; !strings.Contains(last, `"event":"end"`) || !strings.Contains(last, `"status":"stopped"`) {
		t.Errorf("the audit log has no end:\n%s", log)
	}
	until(t, "end of the commands", func() bool { return sleepers(t, mark) == 0 })
}

func TestLeaves(t *testing.T) {
	for _, tt := range []struct {
		signal os.Signal
		after  time.Duration
		want   bool
	}{
		{syscall.SIGINT, time.Millisecond, false},
		{syscall.SIGINT, sameSignal, false},
		{syscall.SIGINT, sameSignal + time.Millisecond, true},
		{syscall.SIGTERM, time.Hour, false},
		{syscall.SIGHUP, time.Hour, false},
	} {
		if got := leaves(tt.signal, tt.after); got != tt.want {
			t.Errorf("leaves(%v, %v) = %v, want %v", tt.signal, tt.after, got, tt.want)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
