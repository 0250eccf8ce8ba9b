package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A wait is a command that reads a pipe. PIPE in it stands for the name of
// the pipe.
type wait struct {
	name string
	args []string
	link string // a path in the project that links to the pipe
	in   string // a line on standard input
}

var waits = []wait{
	{name: "program", args: []string{"puppet", "eval", "PIPE"}},
	{name: "validate", args: []string{"puppet", "validate", "PIPE"}},
	{name: "dump", args: []string{"puppet", "dump", "PIPE", "PIPE"}},
	{name: "facts", args: []string{"puppet", "eval", "-e", "1", "--facts", "PIPE"}},
	{name: "file", args: []string{"puppet", "eval", "-e", "file('PIPE')"}},
	{name: "template", args: []string{"puppet", "eval", "-e", "epp('PIPE')"}},
	{name: "binary file", args: []string{"puppet", "eval", "-e", "binary_file('m/f')"}, link: "modules/m/files/f"},
	{name: "loadyaml", args: []string{"puppet", "eval", "-e", "loadyaml('PIPE', 'default')"}},
	{name: "loadjson", args: []string{"puppet", "eval", "-e", "loadjson('PIPE')"}},
	{name: "metadata", args: []string{"puppet", "eval", "-e", "load_module_metadata('m')"}, link: "modules/m/metadata.json"},
	{name: "function", args: []string{"puppet", "eval", "-e", "m::f()"}, link: "modules/m/functions/f.pp"},
	{name: "type", args: []string{"puppet", "eval", "-e", "1 =~ M::T"}, link: "modules/m/types/t.pp"},
	{name: "batch", args: []string{"puppet", "eval", "--batch", "-"}, in: `{"expr": "file('PIPE')"}`},
	{name: "batch from a file", args: []string{"puppet", "eval", "--batch", "PIPE"}},
	{name: "data", args: []string{"puppet", "eval", "-e", "lookup('k')"}, link: "data/common.yaml"},
	{name: "lookup in a plan", args: []string{"lookup", "k", "--plan-hierarchy"}, link: "data/common.yaml"},
	{name: "lookup for targets", args: []string{"lookup", "k", "-t", "a,b,c"}, link: "data/common.yaml"},
	{name: "hierarchy", args: []string{"lookup", "k", "-t", "a,b", "--hiera-config", "PIPE"}},
	{name: "hierarchy of a module", args: []string{"lookup", "m::k", "-t", "a"}, link: "modules/m/hiera.yaml"},
	{name: "script", args: []string{"script", "run", "PIPE", "-t", "a"}},
	{name: "list of targets", args: []string{"lookup", "k", "-t", "@PIPE"}},
	{name: "inventory", args: []string{"lookup", "k", "-t", "a", "-i", "PIPE"}},
	{name: "project", args: []string{"puppet", "eval", "-e", "1"}, link: "bolt-project.yaml"},
}

// start starts the command of a wait in its own project.
func (w wait) start(t *testing.T) (cmd *exec.Cmd, fifo string, said *lockedBuffer) {
	t.Helper()
	dir := t.TempDir()
	fifo = filepath.Join(dir, "pipe")
	err := unix.Mkfifo(fifo, 0o600)
	if w.link != "" && err == nil {
		link := filepath.Join(dir, w.link)
		if err = os.MkdirAll(filepath.Dir(link), 0o755); err == nil {
			err = os.Symlink(fifo, link)
		}
	}
	self, exeErr := os.Executable()
	if err != nil || exeErr != nil {
		t.Fatal(err, exeErr)
	}
	cmd = exec.Command(self)
	for _, a := range w.args {
		cmd.Args = append(cmd.Args, strings.ReplaceAll(a, "PIPE", fifo))
	}
	cmd.Args[0] = "bolt"
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "BOLT_PROJECT="+dir, ownPool(t))
	if w.in != "" {
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(w.in, "PIPE", fifo) + "\n")
	}
	said = &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, fifo, said
}

// holds reports whether a process has a file open.
func holds(pid int, path string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == path {
			return true
		}
	}
	return false
}

// TestWaitsEnd checks that one signal ends every wait for a file.
func TestWaitsEnd(t *testing.T) {
	for i, w := range waits {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cmd, fifo, said := w.start(t)
			silent, err := os.OpenFile(fifo, os.O_RDWR, 0) // it has a writer, which writes nothing
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			until(t, "the command reads "+said.String(), func() bool { return holds(cmd.Process.Pid, fifo) })
			s := []os.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			err = cmd.Wait()
			if cmd.ProcessState.ExitCode() != exitFailed {
				t.Errorf("it ended with %v\n%s", err, said)
			}
			if d := time.Since(begin); d > time.Minute {
				t.Errorf("it ended after %v", d)
			}
			if text := said.String(); !strings.Contains(text, "Stopping (") || strings.Contains(text, "default") {
				t.Errorf("it said:\n%s", text)
			}
		})
	}
}

// TestNobodyWrites checks that a pipe without a writer is an immediate
// error, and not an empty file.
func TestNobodyWrites(t *testing.T) {
	for _, w := range waits {
		switch w.name {
		case "batch from a file": // lines may come at any time
			continue
		case "loadyaml": // its default is for errors
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cmd, _, said := w.start(t)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			err := cmd.Wait()
			if text := said.String(); !strings.Contains(text, "it is a pipe that nobody writes to") || w.in == "" && cmd.ProcessState.ExitCode() != exitFailed {
				t.Errorf("it ended with %v, and said:\n%s", err, text)
			}
		})
	}
}

// TestInputEnds checks that a signal ends the wait for standard input.
func TestInputEnds(t *testing.T) {
	for _, args := range [][]string{{"puppet", "eval", "-"}, {"command", "run", "-", "-t", "a"}, {"lookup", "k", "-t", "-"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			cmd, _, said := wait{args: args}.start(t)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			until(t, "the command waits", func() bool {
				calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", cmd.Process.Pid))
				return slices.ContainsFunc(calls, func(f string) bool {
					text, _ := os.ReadFile(f)
					number, _, _ := strings.Cut(string(text), " ")
					return number == fmt.Sprint(unix.SYS_PPOLL) // the system call of poll(2)
				})
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "Stopping (terminated)") {
				t.Errorf("it ended with %v, and said:\n%s", err, said)
			}
		})
	}
}

// TestEndlessFiles checks that a file without an end is rejected, and takes
// no memory.
func TestEndlessFiles(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"puppet", "eval", "/dev/zero"}, {"puppet", "eval", "-e", "file('/dev/zero')"}, {"puppet", "eval", "-e", "1", "--facts", "/dev/zero"},
		{"lookup", "k", "--plan-hierarchy", "--hiera-config", "/dev/zero"}} {
		cmd, _, said := wait{args: args}.start(t)
		cmd.Dir = dir
		if err := cmd.Run(); err == nil || !strings.Contains(said.String(), "it is larger than ") {
			t.Errorf("%q: %v\n%s", args, err, said)
		}
	}
}
