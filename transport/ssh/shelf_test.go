package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

// bigFile is a file that is worth a shelf, and differs from all others.
func bigFile(size int) transport.File {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return transport.File{Name: "big", Mode: 0o640, Data: data}
}

func digestOf(data []byte) string {
	b := sha256.Sum256(data)
	return hex.EncodeToString(b[:])
}

// bigCmd prints the digest of the file, and changes it.
func bigCmd(dir string, f transport.File) transport.Cmd {
	return transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Env: []string{"PT_a=1"}, Files: []transport.File{
		{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\ncd \"${0%/*}\"; stat -c %a big; sha256sum <big; echo more >>big\n")}, f,
	}}
}

// everyonesDir is where all users have their private directories.
func everyonesDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bolt-shelf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runBig runs bigCmd, which must print what it ought to, and returns what was sent.
func runBig(t *testing.T, c *Conn, cmd transport.Cmd) uint64 {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	before := c.Stats().Sent
	st, err := c.Run(t.Context(), &cmd)
	want := "640\n" + digestOf(cmd.Files[1].Data) + "  -\n"
	if err != nil || !st.OK() || out.String() != want || errs.Len() > 0 {
		t.Fatalf("%+v, %v, stdout %q stderr %q, want %q", st, err, out.String(), errs.String(), want)
	}
	return c.Stats().Sent - before
}

// shelfDirs are the directories that there are.
func shelfDirs(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// soonEmpty waits until nothing is in a directory.
func soonEmpty(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(shelfDirs(t, dir)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left behind: %q", shelfDirs(t, dir))
		}
	}
}

// A large file travels twice, and never again.
func TestShelf(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	for name, as := range map[string]transport.RunAs{"login user": {}, "run-as": {User: transporttest.Users(t).Free.Name}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, func(o *Options) { o.Keep = true }, s)
			c := l.mustDial(t, dest(s))
			dir := everyonesDir(t)
			cmd := bigCmd(dir, bigFile(2<<20|12345))
			cmd.RunAs = as
			size := uint64(len(cmd.Files[1].Data))
			for n := range 5 {
				if n == 3 {
					cmd.Files[1].Sum = digestOf(cmd.Files[1].Data)
				}
				sent := runBig(t, c, cmd)
				if n < 2 && (sent < size || sent > size+size/4) || n >= 2 && sent > 32<<10 {
					t.Errorf("run %d sent %d bytes", n+1, sent)
				}
			}
			dirs := shelfDirs(t, dir)
			if len(dirs) != 1 {
				t.Fatalf("shelves: %q", dirs)
			}
			out, err := exec.Command("stat", "-c", "%U %a", dirs[0]).CombinedOutput()
			owner := map[bool]string{true: "root", false: as.User}[as.User == ""]
			if err != nil || string(out) != owner+" 700\n" {
				t.Errorf("shelf: %s, %v", out, err)
			}
			c.Close()
			soonEmpty(t, dir)
		})
	}
}

// What was done to a shelf does no harm: the right file is sent.
func TestShelfSpoiled(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	for name, spoil := range map[string]func(dir string) error{
		"changed": func(dir string) error {
			return change(dir, func(f string) error { return os.WriteFile(f, []byte("#!/bin/sh\nevil\n"), 0o600) })
		},
		"cut":       func(dir string) error { return change(dir, func(f string) error { return os.Truncate(f, 1000) }) },
		"one byte":  func(dir string) error { return change(dir, flip) },
		"file gone": func(dir string) error { return change(dir, os.Remove) },
		"all gone":  os.RemoveAll,
		"a fifo":    func(dir string) error { return change(dir, func(f string) error { return os.Remove(f) }) },
		"not to be read": func(dir string) error {
			return change(dir, func(f string) error { return errJoin(os.Remove(f), os.Mkdir(f, 0o700)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *Options) { o.Keep = true }, s)
			c := l.mustDial(t, dest(s))
			dir := everyonesDir(t)
			cmd := bigCmd(dir, bigFile(200<<10))
			for range 3 {
				runBig(t, c, cmd)
			}
			dirs := shelfDirs(t, dir)
			if len(dirs) != 1 {
				t.Fatalf("shelves: %q", dirs)
			}
			if err := spoil(dirs[0]); err != nil {
				t.Fatal(err)
			}
			if sent := runBig(t, c, cmd); sent < 200<<10 {
				t.Errorf("sent %d bytes", sent)
			}
			soonEmpty(t, dir)
			runBig(t, c, cmd)
			if dirs := shelfDirs(t, dir); len(dirs) > 0 {
				t.Errorf("another shelf: %q", dirs)
			}
		})
	}
}

func errJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// change does something to each file of a directory.
func change(dir string, do func(file string) error) error {
	all, err := filepath.Glob(dir + "/*")
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("nothing in %s", dir)
	}
	for _, f := range all {
		err = errJoin(err, do(f))
	}
	return err
}

func flip(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 1
	return os.WriteFile(file, data, 0o600)
}

// A shelf goes when nobody uses it, when sessions are needed, and with the
// connection, however that ends.
func TestShelfEnds(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	open := func(t *testing.T, edit func(*transport.Dest)) (*Conn, transport.Cmd, string) {
		l := newLab(t, func(o *Options) { o.Keep = true }, s)
		to := dest(s)
		if edit != nil {
			edit(&to)
		}
		c := l.mustDial(t, to)
		dir := everyonesDir(t)
		cmd := bigCmd(dir, bigFile(100<<10))
		for range 3 {
			runBig(t, c, cmd)
		}
		if dirs := shelfDirs(t, dir); len(dirs) != 1 {
			t.Fatalf("shelves: %q", dirs)
		}
		return c, cmd, dir
	}
	t.Run("unused", func(t *testing.T) {
		c, cmd, dir := open(t, nil)
		c.shelves.mu.Lock()
		for _, sh := range c.shelves.all {
			sh.on.timer.Reset(0)
		}
		c.shelves.mu.Unlock()
		soonEmpty(t, dir)
		for n := range 2 { // it is seen before, so there is another at once
			if sent := runBig(t, c, cmd); sent < 100<<10 != (n == 1) {
				t.Errorf("run %d sent %d bytes", n+1, sent)
			}
		}
	})
	t.Run("sessions are needed", func(t *testing.T) {
		c, cmd, dir := open(t, nil)
		barrier(t, c)
		soonEmpty(t, dir)
		runBig(t, c, cmd)
	})
	t.Run("many at once", func(t *testing.T) {
		c, cmd, _ := open(t, nil)
		var work sync.WaitGroup
		for range 3 * defaultMaxSessions {
			work.Go(func() {
				var out bytes.Buffer
				mine := cmd
				mine.Stdout = &out
				if st, err := c.Run(t.Context(), &mine); err != nil || !st.OK() || !strings.Contains(out.String(), digestOf(cmd.Files[1].Data)) {
					t.Errorf("%+v, %v, %q", st, err, out.String())
				}
			})
		}
		work.Wait()
	})
	t.Run("network lost", func(t *testing.T) {
		link := sshtest.Delay(t, s.Addr, 0)
		c, _, dir := open(t, func(to *transport.Dest) {
			to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
		})
		c.wire.Close()
		soonEmpty(t, dir)
	})
	t.Run("server killed", func(t *testing.T) {
		c, _, dir := open(t, nil)
		var out bytes.Buffer
		if _, err := c.Run(t.Context(), &transport.Cmd{Line: "echo $PPID | cat", Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(out.String(), &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		soonEmpty(t, dir)
	})
	t.Run("cancelled in the middle", func(t *testing.T) {
		l := newLab(t, func(o *Options) { o.Keep = true }, s)
		c := l.mustDial(t, dest(s))
		dir := everyonesDir(t)
		cmd := bigCmd(dir, bigFile(40<<20))
		runBig(t, c, cmd)
		for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, err := c.Run(ctx, &cmd)
			cancel()
			if err == nil {
				t.Fatal("it was too quick")
			}
		}
		runBig(t, c, cmd)
		c.Close()
		soonEmpty(t, dir)
	})
}

// Where there is no room for the shelf and the command, the command has it.
func TestShelfFullDisk(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	for _, size := range []int{600 << 10, 900 << 10} {
		c := l.mustDial(t, dest(s))
		dir := everyonesDir(t)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=1777"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		cmd := bigCmd(dir, bigFile(size))
		for range 4 {
			runBig(t, c, cmd)
		}
		soonEmpty(t, dir)
	}
}

// Neither small files nor connections that are not kept have one.
func TestNoShelf(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	for _, k := range []struct {
		kept bool
		size int
	}{{true, 60 << 10}, {false, 100 << 10}} {
		l := newLab(t, func(o *Options) { o.Keep = k.kept }, s)
		c := l.mustDial(t, dest(s))
		dir := everyonesDir(t)
		cmd := bigCmd(dir, bigFile(k.size))
		for range 4 {
			if sent := runBig(t, c, cmd); sent < uint64(k.size) {
				t.Errorf("%+v: sent %d bytes", k, sent)
			}
			if dirs := shelfDirs(t, dir); len(dirs) > 0 {
				t.Errorf("%+v: %q", k, dirs)
			}
		}
	}
}
