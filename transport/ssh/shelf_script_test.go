package ssh

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/shell"
)

// loneTask is a task that prints its parameters and, in the words of ps, where
// it is run from.
func loneTask(tmpDir, name string) transport.Cmd {
	return transport.Cmd{TmpDir: tmpDir, Interpreter: []string{"/bin/sh"}, Argv: []string{"./" + name}, Env: []string{"PT_a=it's"}, Stdin: []byte(`{"a":1}`),
		Files: []transport.File{{Name: name, Mode: 0o700, Data: []byte("#!/bin/sh\necho \"$PT_a $(cat)\"\nps -o args= -p $$\nsleep ${PT_sleep:-0}\n")}}}
}

// ranLone runs loneTask, which must print what it ought to, and returns where
// it was run from.
func ranLone(t *testing.T, c *Conn, cmd transport.Cmd) (path string, ok bool) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	st, err := c.Run(t.Context(), &cmd)
	said, from, _ := strings.Cut(out.String(), "\n")
	if err != nil || !st.OK() || said != `it's {"a":1}` || errs.Len() > 0 {
		t.Errorf("%+v, %v, stdout %q stderr %q", st, err, out.String(), errs.String())
		return "", false
	}
	return strings.TrimPrefix(strings.TrimSuffix(from, "\n"), "/bin/sh "), true
}

func runLone(t *testing.T, c *Conn, cmd transport.Cmd) string {
	t.Helper()
	path, ok := ranLone(t, c, cmd)
	if !ok {
		t.FailNow()
	}
	return path
}

// placedScripts are the paths of all scripts on shelves; ok is false while one is
// on its way.
func placedScripts(c *Conn) (paths []string, ok bool) {
	c.shelves.mu.Lock()
	defer c.shelves.mu.Unlock()
	ok = true
	for _, sh := range c.shelves.all {
		ok = ok && len(sh.coming) == 0
		if sh.on != nil {
			paths = append(paths, slices.Collect(maps.Values(sh.on.scripts))...)
		}
	}
	return paths, ok
}

// shelvedLone runs a task until it is run from a shelf.
func shelvedLone(t *testing.T, c *Conn, cmd transport.Cmd) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		paths, ok := placedScripts(c)
		if path := runLone(t, c, cmd); ok && slices.Contains(paths, path) {
			return path
		}
		if time.Now().After(end) {
			t.Fatal("it is never run from a shelf")
		}
	}
}

// A script that stands alone stays on the machine from its second run on, under
// its own name, and what has the same name beside it.
func TestShelfScript(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprintf("ready shells %v", eager), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *Options) { o.Keep, o.eager = true, eager }, s)
			c := l.mustDial(t, dest(s))
			dir := everyonesDir(t)
			one, two := loneTask(dir, "init.sh"), loneTask(dir, "init.sh")
			two.Files[0].Data = append(two.Files[0].Data, "# another\n"...)
			first := runLone(t, c, one)
			soonEmpty(t, dir)
			path := shelvedLone(t, c, one)
			if filepath.Dir(filepath.Dir(filepath.Dir(path))) != scriptsDir || filepath.Base(path) != "init.sh" || path == first {
				t.Errorf("run from %s, the first time from %s", path, first)
			}
			other := shelvedLone(t, c, two)
			if filepath.Base(other) != "init.sh" || other == path {
				t.Errorf("another of that name is run from %s", other)
			}
			out, err := exec.Command("stat", "-c", "%a", filepath.Dir(path), path, filepath.Dir(other), other).CombinedOutput()
			if err != nil || string(out) != "700\n600\n700\n600\n" {
				t.Errorf("modes: %s, %v", out, err)
			}
			if again := runLone(t, c, one); again != path {
				t.Errorf("run from %s", again)
			}
			in := one
			in.Stdin = []byte("\x00" + strings.Repeat("x", 9000)) // goes through a file
			var out2 bytes.Buffer
			in.Stdout = &out2
			if st, err := c.Run(t.Context(), &in); err != nil || !st.OK() || !strings.Contains(out2.String(), strings.Repeat("x", 9000)) {
				t.Errorf("%+v, %v, %d bytes", st, err, out2.Len())
			}
			soonEmpty(t, dir)
			c.Close()
			soonGone(t, path)
		})
	}
}

// soonGone waits until the shelf of a script is no more.
func soonGone(t *testing.T, path string) {
	t.Helper()
	dir := filepath.Dir(filepath.Dir(path))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left behind: %s", dir)
		}
	}
}

// What needs a directory of its own has one each time.
func TestShelfScriptNot(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	c := l.mustDial(t, dest(s))
	for name, change := range map[string]func(*transport.Cmd){
		"asks where it is":  func(c *transport.Cmd) { c.Files[0].Data = append(c.Files[0].Data, "# $0\n"...) },
		"has other files":   func(c *transport.Cmd) { c.Files = append(c.Files, transport.File{Name: "x", Mode: 0o600}) },
		"no interpreter":    func(c *transport.Cmd) { c.Interpreter = nil },
		"another":           func(c *transport.Cmd) { c.Interpreter = []string{"/usr/bin/env", "-i", "/bin/sh"} },
		"is to stay":        func(c *transport.Cmd) { c.KeepFiles = true },
		"in a subdirectory": func(c *transport.Cmd) { c.Files[0].Name, c.Argv = "m/x", []string{"./m/x"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := loneTask(everyonesDir(t), "x.sh")
			change(&cmd)
			for range 4 {
				var out bytes.Buffer
				cmd.Stdout = &out
				if _, err := c.Run(t.Context(), &cmd); err != nil {
					t.Fatal(err)
				}
			}
			if !cmd.KeepFiles {
				soonEmpty(t, cmd.TmpDir)
			} else if n := len(shelfDirs(t, cmd.TmpDir)); n != 4 {
				t.Errorf("%d directories stayed", n)
			}
		})
	}
}

// A script that has gone is sent again; and a shelf does not go while
// something is run from it.
func TestShelfScriptEnds(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	for name, spoil := range map[string]func(path string) error{
		"file gone": os.Remove,
		"all gone":  func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"directory": func(path string) error { return errJoin(os.Remove(path), os.Mkdir(path, 0o700)) },
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"somebody else's": func(path string) error {
			dir := filepath.Dir(filepath.Dir(path))
			return errJoin(os.RemoveAll(dir), os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("echo evil\n"), 0o755), os.Chown(dir, 1, 1))
		},
		"a link": func(path string) error {
			dir := filepath.Dir(filepath.Dir(path))
			return errJoin(os.Rename(dir, dir+"-"), os.Symlink(dir+"-", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := l.mustDial(t, dest(s))
			cmd := loneTask(everyonesDir(t), "x.sh")
			path := shelvedLone(t, c, cmd)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			if again := runLone(t, c, cmd); again == path {
				t.Errorf("run from %s", again)
			}
			soonEmpty(t, cmd.TmpDir)
			if name != "a link" {
				soonGone(t, path)
				return
			}
			if err := os.RemoveAll(filepath.Dir(filepath.Dir(path)) + "-"); err != nil { // it was moved away from who would remove it
				t.Error(err)
			}
		})
	}
	// holding runs a task from the shelf that goes on until end is called.
	holding := func(t *testing.T, c *Conn, cmd transport.Cmd) (end func()) {
		cmd.Env = append(cmd.Env, "PT_sleep=77")
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		begun := make(chan struct{})
		cmd.Stdout = writerFunc(func(p []byte) (int, error) {
			if out.Len() == 0 {
				close(begun)
			}
			return out.Write(p)
		})
		var work sync.WaitGroup
		work.Go(func() { c.Run(ctx, &cmd) })
		<-begun
		return func() { cancel(); work.Wait() }
	}
	t.Run("in use", func(t *testing.T) {
		t.Parallel()
		c := l.mustDial(t, dest(s))
		cmd := loneTask(everyonesDir(t), "x.sh")
		path := shelvedLone(t, c, cmd)
		end := holding(t, c, cmd)
		c.shelves.yield()
		for _, sh := range c.shelves.all {
			c.shelves.endUnused(sh, sh.on)
		}
		if again := runLone(t, c, cmd); again != path {
			t.Errorf("run from %s", again)
		}
		c.shelves.mu.Lock()
		for _, sh := range c.shelves.all {
			sh.forget() // as when something has failed
		}
		c.shelves.mu.Unlock()
		if again := runLone(t, c, cmd); again == path {
			t.Errorf("run from %s", again)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it has gone under who runs it: %v", err)
		}
		end()
		c.shelves.yield()
		soonGone(t, path)
	})
	t.Run("in the way", func(t *testing.T) {
		t.Parallel()
		c := l.mustDial(t, dest(s))
		cmd := loneTask(everyonesDir(t), "x.sh")
		path := shelvedLone(t, c, cmd)
		end := holding(t, c, cmd)
		defer end()
		c.shelves.mu.Lock()
		for _, sh := range c.shelves.all {
			sh.on.begun = time.Now().Add(-opensWithin)
		}
		c.shelves.mu.Unlock()
		c.shelves.yield()
		soonGone(t, path)
	})
	t.Run("many at once", func(t *testing.T) {
		t.Parallel()
		c := l.mustDial(t, dest(s))
		dir := everyonesDir(t)
		var work sync.WaitGroup
		for n := range 6 * defaultMaxSessions {
			work.Go(func() {
				mine := loneTask(dir, "x.sh")
				mine.Files[0].Data = append(mine.Files[0].Data, fmt.Sprintf("echo %d\n", n%3)...)
				for range 3 {
					if path, ok := ranLone(t, c, mine); ok && !strings.HasSuffix(path, fmt.Sprintf("x.sh\n%d", n%3)) {
						t.Errorf("another script has run: %q", path)
					}
				}
			})
		}
		work.Wait()
		c.Close()
		soonEmpty(t, dir)
	})
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		c := l.mustDial(t, dest(s))
		dir := everyonesDir(t)
		cmd := loneTask(dir, "x.sh")
		path := shelvedLone(t, c, cmd)
		c.shelves.mu.Lock()
		for _, sh := range c.shelves.all {
			for n := range maxScripts {
				sh.on.scripts[fmt.Sprint(n)] = "/x"
			}
			for n := range maxSeen {
				remember(sh.lone, fmt.Sprint(n), true)
			}
		}
		c.shelves.mu.Unlock()
		other := loneTask(dir, "y.sh")
		if again := shelvedLone(t, c, other); again == path {
			t.Errorf("run from %s", again)
		}
		shelvedLone(t, c, cmd)
		c.Close()
		soonEmpty(t, dir)
	})
	t.Run("without anything else", func(t *testing.T) {
		t.Parallel()
		l, to, home := startUp(t, "bare", "")
		c := l.mustDial(t, to)
		cmd := loneTask("", "x.sh")
		shelvedLone(t, c, cmd)
		cmd.Env, cmd.Stdin = nil, nil
		for range 3 {
			if st, err := c.Run(t.Context(), &cmd); err != nil || !st.OK() {
				t.Fatalf("%+v, %v", st, err)
			}
		}
		writeStartUp(t, home, "exit 0")
		c.warm.proof = shell.Proof{} // as after some seconds
		if st, err := c.Run(t.Context(), &cmd); err == nil {
			t.Errorf("nothing was run: %+v", st)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
