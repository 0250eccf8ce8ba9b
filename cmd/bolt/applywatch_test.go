package main

import (
	"bytes"
	"fmt"
	"io/fs"
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

// safeBuffer is a buffer for the output of a process that still runs.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A watchDesk is a project whose manifest manages the file managed with a text.
type watchDesk struct {
	*desk
	code    string // the name of the manifest
	managed string
	out     safeBuffer
}

func newWatchDesk(t *testing.T) *watchDesk {
	d := &watchDesk{desk: newDesk(t, sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})), code: "site.pp"}
	d.managed = filepath.Join(d.dir, "managed")
	d.put("bolt-project.yaml", "name: watched\napply-settings:\n  dir: "+d.dir+"/state\n")
	d.manifest("right")
	return d
}

func (d *watchDesk) put(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *watchDesk) manifest(text string) {
	d.put("site.pp", fmt.Sprintf("file { '%s': content => '%s' }\n", d.managed, text))
}

// start starts a watch.
func (d *watchDesk) start(args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := d.command(append([]string{"apply", d.code, "--watch"}, args...)...)
	cmd.Stdout, cmd.Stderr = &d.out, &d.out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if d.t.Failed() {
			d.t.Logf("bolt printed:\n%s", d.out.String())
		}
	})
	return cmd
}

// becomes waits until the managed file has a text.
func (d *watchDesk) becomes(text string) {
	d.t.Helper()
	until(d.t, "the text "+text, func() bool {
		got, _ := os.ReadFile(d.managed)
		return string(got) == text
	})
}

// saw waits until bolt has printed a text.
func (d *watchDesk) saw(text string) {
	d.t.Helper()
	until(d.t, text, func() bool { return strings.Contains(d.out.String(), text) })
}

// helpers returns the processes that have the state directory in their arguments.
func (d *watchDesk) helpers() (list []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, name := range dirs {
		text, _ := os.ReadFile(name) // it may have ended
		if bytes.Contains(text, []byte(d.dir+"/state")) {
			list = append(list, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return list
}

// files returns the files in the state directory.
func (d *watchDesk) files() (list []string) {
	err := filepath.WalkDir(filepath.Join(d.dir, "state"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && !strings.Contains(path, "/runs/") && !strings.Contains(path, "/catalogs/") && !strings.Contains(path, "/backups/") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// sockets returns the paths of the Unix sockets of this machine that have the test's directory in them.
func (d *watchDesk) sockets() (list []string) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, d.dir+"/state") {
			list = append(list, line)
		}
	}
	return list
}

// TestApplyWatch watches a target: a file is changed, then the manifest, then the manifest gets a mistake. ^C ends the watch.
func TestApplyWatch(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	cmd := d.start("-t", "host1")
	d.becomes("right")
	d.saw("host1: File[" + d.managed + "]")
	for range 3 {
		if err := os.WriteFile(d.managed, []byte("wrong"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.becomes("right")
	}
	d.manifest("edited")
	d.becomes("edited")
	d.put("site.pp", "file { 'nonsense")
	d.saw("the old catalogs stay")
	if err := os.Remove(d.managed); err != nil {
		t.Fatal(err)
	}
	d.becomes("edited")
	d.put("site.pp", "file { '"+d.managed+"': mode => 'nonsense' }\n")
	d.saw("has mistakes")
	d.manifest("repaired")
	d.becomes("repaired")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	until(t, "no helper", func() bool { return len(d.helpers()) == 0 })
}

// graph writes a graph in YAML that manages the file managed with a text. Its command appends a line to the file runs.
func (d *watchDesk) graph(text string) {
	d.put(d.code, fmt.Sprintf(`graph: watched
resources:
  file:
  - {name: %[1]s, content: %[2]s}
  - {name: %[1]s-other, content: other}
  exec:
  - {name: run, command: 'echo run >> %[3]s/runs', provider: shell}
edges:
- name: order
  from: {kind: file, name: %[1]s}
  to: {kind: exec, name: run}
`, d.managed, text, d.dir))
}

// runs returns how often the command of the graph has run.
func (d *watchDesk) runs() int {
	text, err := os.ReadFile(filepath.Join(d.dir, "runs"))
	if err != nil {
		d.t.Error(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// TestApplyWatchGraph watches a graph in YAML. An edit of the graph applies what differs: the command without a difference does not run
// again. If the graph has a mistake, the graph before it stays.
func TestApplyWatchGraph(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	d.code = "graph.yaml"
	d.graph("right")
	cmd := d.start("-t", "host1")
	d.becomes("right")
	d.saw("host1: Exec[run]")
	if err := os.WriteFile(d.managed, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.becomes("right")
	d.graph("edited")
	d.becomes("edited")
	d.put(d.code, "graph: watched\nresources:\n  nonsense\n")
	d.saw("the old catalogs stay")
	if err := os.Remove(d.managed + "-other"); err != nil {
		t.Fatal(err)
	}
	until(t, "the other file", func() bool {
		text, _ := os.ReadFile(d.managed + "-other")
		return string(text) == "other"
	})
	d.graph("repaired")
	d.becomes("repaired")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if n := d.runs(); n != 1 {
		t.Errorf("the command ran %d times", n)
	}
}

// TestApplyWatchRetries edits a graph while a resource is tried again and again. The edit takes effect at once, and a later edit, too.
func TestApplyWatchRetries(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	d.code = "graph.yaml"
	graph := func(text string) {
		d.put(d.code, fmt.Sprintf(`graph: watched
resources:
  file:
  - {name: %s, content: %s}
  exec:
  - {name: run, command: 'test -e %s/there', provider: shell, meta: {retry: -1, delay: 3600000}}
`, d.managed, text, d.dir))
	}
	graph("right")
	cmd := d.start("-t", "host1")
	d.becomes("right")
	for _, text := range []string{"edited", "again"} {
		graph(text)
		d.becomes(text)
	}
	d.saw("there is no further attempt: a newer catalog has come")
	d.put("there", "")
	graph("last")
	d.becomes("last")
	d.saw("host1: Exec[run]")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestApplyWatchConverged ends when no target changes anything.
func TestApplyWatchConverged(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	cmd := d.start("-t", "host1,host2", "--converged-timeout", "1")
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	d.put("site.pp", "file { '/nonexistent/f': content => 'x' }\n")
	cmd = d.start("-t", "host1", "--converged-timeout", "1", "--format", "ndjson")
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("with a failed resource: exit %d", code)
	}
	if !strings.Contains(d.out.String(), `"event":"resource"`) {
		t.Error("the failed resource has no event")
	}
}

// TestApplyWatchKilled kills the client, once with a pool daemon and once without. No process, file or socket stays on the target.
func TestApplyWatchKilled(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	d.works("apply", "site.pp", "-t", "host1")
	before := d.files()
	for _, pool := range []string{"auto", "off"} {
		cmd := d.start("-t", "host1", "--pool", pool)
		until(t, "a helper", func() bool { return len(d.helpers()) > 0 })
		if err := os.WriteFile(d.managed, []byte("wrong"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.becomes("right")
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		until(t, "no helper", func() bool { return len(d.helpers()) == 0 })
		if after := d.files(); !slices.Equal(after, before) {
			t.Errorf("with --pool %s, the files were\n%s\nand are\n%s", pool, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		if left := d.sockets(); len(left) > 0 {
			t.Errorf("sockets are left: %v", left)
		}
	}
}

// TestApplyWatchLost kills the helper and the pool daemon. The client connects again, and repairs the changes that were made meanwhile.
func TestApplyWatchLost(t *testing.T) {
	t.Parallel()
	d := newWatchDesk(t)
	d.works("command", "run", "true", "-t", "host1")
	cmd := d.start("-t", "host1")
	d.becomes("right")
	d.saw("host1: File[" + d.managed + "]")
	if err := syscall.Kill(d.status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "no helper", func() bool { return len(d.helpers()) == 0 })
	if err := os.WriteFile(d.managed, []byte("changed while nothing watched"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.becomes("right")
	d.saw("the connection was lost")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
