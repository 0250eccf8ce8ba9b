package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/transport"
)

// smallDisk mounts an empty file system of 1 MB, which needs root.
func smallDisk(t *testing.T) string { return mountDisk(t, 0, "size=1m") }

func mountDisk(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	dir := worldDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "mode=1777,"+options); err != nil {
		t.Fatalf("a file system with %s cannot be tested: mount: %v", options, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func diskCases() []testCase {
	return []testCase{
		{"full disk", fullDisk},
		{"no room for a task", noRoom},
		{"noexec", noexec},
		{"private while it comes", private},
		{"given up while it comes", givenUp},
	}
}

// aTask returns a command with files, variables and input.
func aTask(dir string, size int) transport.Cmd {
	return transport.Cmd{TmpDir: dir, Argv: []string{"./m/tasks/x"}, Env: []string{"PT_a=b"}, Stdin: bytes.Repeat([]byte("in\x00"), size/3),
		Files: []transport.File{script("m/tasks/x", "cd \"${0%/*}/..\" && cksum files/a files/b && echo $PT_a && cksum"),
			{Name: "m/files/a", Mode: 0o640, Data: bytes.Repeat([]byte("a"), size)},
			{Name: "m/files/b", Mode: 0o600, Data: bytes.Repeat([]byte("b"), size)},
		}}
}

// noRoom runs out of disk space or inodes at each step.
func noRoom(t *testing.T, m *machine) {
	c := m.dial(t)
	failed := 0
	for _, disk := range []string{"size=4k", "size=8k", "size=16k", "size=32k", "size=64k,nr_inodes=2", "size=64k,nr_inodes=3", "size=64k,nr_inodes=5", "size=64k,nr_inodes=7", "size=64k,nr_inodes=20", "size=512k"} {
		for _, as := range []transport.RunAs{{}, {User: Users(t).Free.Name}} {
			dir := mountDisk(t, 0, disk)
			cmd := aTask(dir, 9000)
			cmd.RunAs = as
			r, err := try(testContext(t), c, cmd)
			switch {
			case err == nil && (r.status != transport.Status{} || strings.Count(r.stdout, "\n") != 4):
				t.Errorf("%s: got %+v", disk, r)
			case err != nil:
				failed++
				e, ok := errors.AsType[*transport.Error](err)
				if !ok || e.Class != transport.ClassBootstrap || e.Code != "WRITE_ERROR" && e.Code != "TMPDIR_ERROR" || !strings.Contains(e.Msg, "No space left") {
					t.Errorf("%s: got %#v", disk, err)
				}
				if strings.Contains(err.Error(), "records") {
					t.Errorf("%s: got %q", disk, err)
				}
			}
			expectEmpty(t, dir)
		}
	}
	if failed < 8 {
		t.Errorf("%d disks were too small, want more", failed)
	}
}

func noexec(t *testing.T, m *machine) {
	dir := mountDisk(t, syscall.MS_NOEXEC, "size=1m")
	c := m.dial(t)
	cmd := transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Env: []string{"PT_a=b"}, Stdin: []byte("in"), Files: []transport.File{script("x", "cat")}}
	r := run(t, c, cmd)
	if r.status.Code != 126 || r.stdout != "" || !strings.Contains(r.stderr, "mounted noexec: set tmpdir") {
		t.Errorf("got %+v", r)
	}
	expectEmpty(t, dir)
	cmd.Interpreter = []string{"sh"}
	run(t, c, cmd).expect(t, transport.Status{}, "in", "")
	expectEmpty(t, dir)
}

// private checks the private directory from outside, while files arrive and the
// command runs.
func private(t *testing.T, m *machine) {
	u := Users(t).Free
	for _, as := range []transport.RunAs{{}, {User: Users(t).Denied.Name}} {
		dir := worldDir(t)
		cmd := aTask(dir, 3<<20)
		cmd.RunAs = as
		seen := filepath.Join(worldDir(t), "seen") // when it is there, the command may end
		cmd.Files[0] = script("m/tasks/x", "cat >/dev/null; until [ -e "+seen+" ]; do sleep 0.02; done")
		modes := map[string]fs.FileMode{"m": fs.ModeDir | 0o700, "m/tasks": fs.ModeDir | 0o700, "m/files": fs.ModeDir | 0o700, "m/tasks/x": 0o744, "m/files/a": 0o640, "m/files/b": 0o600}
		var watcher sync.WaitGroup
		over := make(chan struct{})
		looks, intruders := 0, 0
		watcher.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				all, _ := filepath.Glob(dir + "/*") // there may be none yet
				for _, d := range all {
					if info, err := os.Lstat(d); err == nil {
						if looks++; info.Mode() != fs.ModeDir|0o700 {
							t.Errorf("the private directory has mode %v", info.Mode())
						}
					}
					fs.WalkDir(os.DirFS(d), ".", func(name string, e fs.DirEntry, err error) error {
						if err != nil || name == "." {
							return nil
						}
						info, err := e.Info()
						want, known := modes[name]
						switch {
						case err != nil: // it is gone
						case !known && info.Mode() != 0o600, known && info.Mode()&^want != 0:
							t.Errorf("%s has mode %v", name, info.Mode())
						}
						return nil
					})
					if looks%16 == 1 {
						intruders++
						if out, err := asUser(u, "ls -a "+d+" || cat "+d+"/m/files/a").CombinedOutput(); err == nil || !strings.Contains(string(out), "Permission denied") {
							if _, gone := os.Lstat(d); gone == nil {
								t.Errorf("%s sees: %.100s, %v", u.Name, out, err)
							}
						}
					}
				}
				if _, err := os.Lstat(seen); err != nil && looks >= 5 && intruders >= 1 {
					if err := os.WriteFile(seen, nil, 0o644); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Millisecond)
			}
		})
		r, err := try(testContext(t), m.dial(t), cmd)
		close(over)
		watcher.Wait()
		if err != nil || !r.status.OK() {
			t.Errorf("got %+v, %v", r, err)
		}
		if looks < 5 || intruders < 1 {
			t.Errorf("seen %d times, and %d times by another user", looks, intruders)
		}
		expectEmpty(t, dir)
	}
}

// asUser returns a command of another user.
func asUser(u User, line string) *exec.Cmd {
	return exec.Command("su", "-s", "/bin/sh", u.Name, "-c", line)
}

// givenUp cancels a task while its files arrive, and closes the connection.
func givenUp(t *testing.T, m *machine) {
	for _, as := range []transport.RunAs{{}, {User: Users(t).Free.Name}} {
		for n, delay := range []time.Duration{0, 3 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
			if n%2 == 1 && m.env.Shared {
				continue
			}
			dir := worldDir(t)
			s := newSleeper(t)
			cmd := aTask(dir, 20<<20)
			cmd.RunAs = as
			cmd.Files[0] = script("m/tasks/x", s.line())
			c := m.dial(t)
			ctx, cancel := context.WithCancel(testContext(t))
			var work sync.WaitGroup
			var err error
			work.Go(func() { _, err = try(ctx, c, cmd) })
			eventually(t, "the private directory is there", func() bool { return !isEmpty(t, dir) })
			time.Sleep(delay)
			if n%2 == 0 {
				cancel()
			} else {
				c.Close()
			}
			work.Wait()
			cancel()
			if class := transport.ClassOf(err); class != transport.ClassCancelled && class != transport.ClassLost {
				t.Errorf("%v: got %v", delay, err)
			}
			eventually(t, fmt.Sprintf("nothing is left %v after", delay), func() bool { return isEmpty(t, dir) && !runs(t, dir) })
		}
	}
}
