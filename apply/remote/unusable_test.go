package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/remote/helpertest"
	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// A space starts sessions in a mount namespace.
type space struct{ pid int }

func (s space) Start(_ context.Context, line string, tty bool) (shell.Session, error) {
	args := []string{"nsenter", "-t", strconv.Itoa(s.pid), "-m", "--", "/bin/sh", "-c", line}
	return process.Start(process.Options{Path: "/usr/bin/nsenter", Args: args, TTY: tty})
}

// dialSpace returns a connection to a mount namespace in which a script has mounted something. It needs root.
func dialSpace(t *testing.T, script string, args ...string) transport.Conn {
	t.Helper()
	cmd := exec.Command("unshare", append([]string{"-m", "--propagation", "private", "/bin/sh", "-ec", script + "\necho ready; exec cat", "sh"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := shell.NewConn(space{cmd.Process.Pid}, shell.Options{Host: "space", User: "root", Local: true})
	t.Cleanup(func() {
		conn.Close()
		in.Close()
		_ = cmd.Wait() // cat has nothing to report
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	go io.Copy(io.Discard, out)
	return conn
}

// TestUnusable checks the errors for directories in which the helper cannot run. Nothing is changed.
func TestUnusable(t *testing.T) {
	set := helper.Set(t)
	for _, c := range []struct {
		name, mount string
		below       string // the state directory, below the mounted one
		want        string
	}{
		{"noexec", `mount -t tmpfs -o noexec,mode=755 x "$1"`, "state", "no program can be run from DIR/state: the file system may be mounted noexec"},
		{"no space for the helper", `mount -t tmpfs -o size=1m,mode=755 x "$1"`, "state", "its helper cannot be copied to DIR/state: "},
		{"read-only", `mount -t tmpfs -o mode=755 x "$1"; mount -o remount,ro "$1"`, "state", "the directory DIR/state cannot be made: "},
		{"read-only directory", `mount -t tmpfs -o mode=755 x "$1"; mkdir -m 700 "$1/state"; mount -o remount,ro "$1"`, "state", "no file can be written to DIR/state"},
		{"no files", `mount -t tmpfs -o nr_inodes=2,mode=755 x "$1"; mkdir -m 700 "$1/state"`, "state", "no file can be written to DIR/state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			p := &place{&counter{Conn: dialSpace(t, c.mount, dir)}, remote.Target{Helpers: set, Label: "here", Dir: filepath.Join(dir, c.below), DirSetting: "helper-dir"}, dir}
			f := filepath.Join(t.TempDir(), "f")
			_, _, err := p.apply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
			want := "Cannot apply the catalog on here: " + strings.ReplaceAll(c.want, "DIR", dir)
			var e *transport.Error
			if !errors.As(err, &e) || e.Class != transport.ClassBootstrap || !strings.HasPrefix(e.Msg, want) || !strings.Contains(e.Hint, "helper-dir") {
				t.Errorf("%v\nwant %s", err, want)
			}
			if _, err := os.Stat(f); err == nil {
				t.Error("something was changed")
			}
		})
	}
}

// TestFullDisk checks that a disk which is full behind the helper ends a run before something is changed.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	conn := dialSpace(t, `mount -t tmpfs -o size=32m,mode=755 x "$1"`, dir)
	p := &place{&counter{Conn: conn}, remote.Target{Helpers: helper.Set(t), Label: "here", Dir: filepath.Join(dir, "state"), DirSetting: "helper-dir"}, dir}
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil)})
	f := filepath.Join(t.TempDir(), "f")
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "head -c 40000000 /dev/zero >" + shell.Quote(dir+"/fill") + "; true"}); err != nil {
		t.Fatal(err)
	}
	_, _, err := p.apply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
	var refused *remote.RefusedError
	if !errors.As(err, &refused) || refused.Kind != frame.KindState || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "helper-dir") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(f); err == nil {
		t.Error("something was changed")
	}
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "rm " + shell.Quote(dir+"/fill")}); err != nil {
		t.Fatal(err)
	}
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
}

// TestWrongProgram checks helpers that do not run on the machine: a helper for another architecture, a damaged
// helper, and a file that is not a program. A damaged helper is replaced.
func TestWrongProgram(t *testing.T) {
	p := newPlace(t)
	system := "linux-" + runtime.GOARCH
	good := p.target.Helpers.Find(system)
	other := map[string]string{"amd64": "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00", "arm64": "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00"}[runtime.GOARCH]
	f := filepath.Join(p.dir, "f")
	p.target.Helpers = helpertest.Of(t, map[string][]byte{system: []byte(other)})
	_, _, err := p.apply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
	if transport.ClassOf(err) != transport.ClassBootstrap || !strings.Contains(err.Error(), "the helper does not start") {
		t.Errorf("another architecture: %v", err)
	}
	p.target.Helpers = helpertest.Of(t, map[string][]byte{"linux-mips": []byte(other)})
	_, _, err = p.apply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
	if transport.ClassOf(err) != transport.ClassBootstrap || !strings.Contains(err.Error(), "bolt has no helper for the system Linux ") {
		t.Errorf("no helper: %v", err)
	}
	if _, err := os.Stat(f); err == nil {
		t.Error("something was changed")
	}
	p.target.Helpers = helper.Set(t)
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
	name := filepath.Join(p.target.Dir, "helper-"+good.Sum)
	if err := os.WriteFile(name, []byte(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "y"))}); p.puts != 1 {
		t.Errorf("a damaged helper was replaced %d times", p.puts)
	}
	list, err := filepath.Glob(filepath.Join(p.target.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if strings.HasPrefix(filepath.Base(name), "new-") || strings.HasPrefix(filepath.Base(name), "try-") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// TestOldVersions checks that few helpers stay, and that a helper knows the runs of those before it.
func TestOldVersions(t *testing.T) {
	p := newPlace(t)
	program := helper.Program(t)
	for i := range 4 {
		p.target.Helpers = helpertest.Of(t, map[string][]byte{"linux-" + runtime.GOARCH: append(program[:len(program):len(program)], fmt.Sprint(i)...)})
		if i > 0 {
			if fate, err := remote.Asked(t.Context(), p, &p.target, fmt.Sprint("run-", i-1)); err != nil || fate.State != frame.StateEnded {
				t.Errorf("%+v, %v", fate, err)
			}
		}
		p.mustApply(t, &remote.Job{Catalog: parse(t, nil), Run: fmt.Sprint("run-", i)})
	}
	if list, _ := filepath.Glob(filepath.Join(p.target.Dir, "helper-*")); len(list) != 2 {
		t.Errorf("%q", list)
	}
}

// TestWithoutProc checks that a new helper starts, and runs programs under its guard, where /proc is not mounted, as in many chroots.
func TestWithoutProc(t *testing.T) {
	dir := t.TempDir()
	conn := dialSpace(t, `mount -t tmpfs x /proc`)
	p := &place{&counter{Conn: conn}, remote.Target{Helpers: helper.Set(t), Label: "here", Dir: filepath.Join(dir, "state")}, dir}
	for _, word := range []string{"new", "kept"} {
		f := filepath.Join(dir, word)
		run := resource{"type": "Exec", "title": "touch", "parameters": map[string]any{"command": "/bin/touch " + f}}
		p.mustApply(t, &remote.Job{Catalog: parse(t, nil, run)})
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
}
