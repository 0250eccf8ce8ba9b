package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/transport"
)

// tied returns a machine with a lifeline; play simulates the command.
func tied(t *testing.T, play func(f *farSide)) starterFunc {
	var mu sync.Mutex
	started := 0
	life := start(t, func(f *farSide) {
		f.say(f.stderr, f.token()+"!\n")
		f.say(f.stdout, f.token()+"!\n")
		_, _ = io.Copy(io.Discard, f.stdin)
		f.end(0)
	})
	command := start(t, play)
	return func(ctx context.Context, line string, tty bool) (Session, error) {
		mu.Lock()
		defer mu.Unlock()
		if started++; started == 1 {
			return life(ctx, line, tty)
		}
		return command(ctx, line, tty)
	}
}

// TestInput checks that a stream is read only after the command has begun. An
// error of the stream ends the command, even if its output has ended. A command
// that ends does not wait for the stream.
func TestInput(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		cmd   transport.Cmd
		input func(end <-chan struct{}) io.Reader
		play  func(f *farSide)
		class transport.Class
		cause error
		took  time.Duration
	}{
		{name: "it never begins", cmd: transport.Cmd{Line: "x"}, class: transport.ClassBootstrap, took: beginsWithin + transport.DefaultGrace + killSlack,
			input: func(<-chan struct{}) io.Reader { return unread{t} },
			play:  func(f *farSide) {}},
		{name: "sudo refuses the password", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, class: transport.ClassRunAs,
			input: func(<-chan struct{}) io.Reader { return unread{t} },
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"?")
				_, _ = io.ReadFull(f.stdin, make([]byte, 3))
				f.say(f.stderr, "Sorry, try again.\n"+f.token()+"?")
			}},
		{name: "the password is first", cmd: transport.Cmd{Line: "x", RunAs: asRoot},
			input: func(<-chan struct{}) io.Reader { return strings.NewReader("stream") },
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"?")
				got := make([]byte, len("pw\nstream"))
				if _, err := io.ReadFull(f.stdin, got[:3]); err == nil {
					f.say(f.stderr, f.token()+"!\n")
					f.say(f.stdout, f.token()+"!\n")
					_, _ = io.ReadFull(f.stdin, got[3:])
				}
				if n, err := f.stdin.Read(make([]byte, 1)); string(got) != "pw\nstream" || n > 0 || err != io.EOF {
					f.end(1)
					return
				}
				f.end(0)
			}},
		{name: "it ends first", cmd: transport.Cmd{Line: "x"},
			input: func(end <-chan struct{}) io.Reader { return blocked{end, io.EOF} },
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"!\n")
				f.say(f.stdout, f.token()+"!\n")
				f.end(0)
			}},
		{name: "an error after its output", cmd: transport.Cmd{Line: "x"}, class: transport.ClassCancelled, cause: broken, took: 2 * time.Second,
			input: func(<-chan struct{}) io.Reader {
				return io.MultiReader(strings.NewReader("a"), later{time.Second, broken})
			},
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"!\n")
				f.say(f.stdout, f.token()+"!\n")
				f.stdout.Close()
				f.stderr.Close()
				_, _ = io.ReadFull(f.stdin, make([]byte, 1))
				time.Sleep(2 * time.Second) // the watcher ends it
				f.ends(transport.Status{Code: -1, Signal: "TERM"})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				c.cmd.Input = c.input(end)
				begin := time.Now()
				st, err := Run(t.Context(), tied(t, c.play), &c.cmd, Options{Host: "web1", User: "deploy"})
				if transport.ClassOf(err) != c.class || c.cause != nil && !errors.Is(err, c.cause) || err == nil && !st.OK() {
					t.Errorf("%+v, %v", st, err)
				}
				if took := time.Since(begin).Round(100 * time.Millisecond); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// TestLifelineEnds checks that a watcher that opens the FIFO while the lifeline
// ends does not block forever: the FIFO has a writer until it is removed.
func TestLifelineEnds(t *testing.T) {
	t.Parallel()
	for name, sh := range posixShells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, dir := t.TempDir(), filepath.Join(t.TempDir(), "life")
			slow := "#!/bin/sh\n[ \"$1\" != -rf ] || { : >" + bin + "/removing; sleep 1; }\nexec /bin/rm \"$@\"\n"
			if err := os.WriteFile(filepath.Join(bin, "rm"), []byte(slow), 0o755); err != nil {
				t.Fatal(err)
			}
			l := &lifeline{fifo: dir + "/alive"}
			life := exec.Command(sh, "-c", l.script(testToken, dir, ""))
			life.Env, life.Stdin = []string{"PATH=" + bin + ":/usr/bin:/bin"}, strings.NewReader("")
			if err := life.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, filepath.Join(bin, "removing"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := exec.CommandContext(ctx, sh, "-c", "cat <"+Quote(l.fifo)).Run(); ctx.Err() != nil {
				t.Errorf("the watcher still waits: %v", err)
			}
			if err := life.Wait(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the directory is left: %v", err)
			}
		})
	}
}

// await waits until a file exists.
func await(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come", path)
		}
	}
}

// unread must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the stream was read")
	return 0, io.EOF
}

// blocked is a reader that returns after a channel is closed.
type blocked struct {
	end <-chan struct{}
	err error
}

func (b blocked) Read([]byte) (int, error) {
	<-b.end
	return 0, b.err
}

// later is a reader that fails after a while.
type later struct {
	after time.Duration
	err   error
}

func (l later) Read([]byte) (int, error) {
	time.Sleep(l.after)
	return 0, l.err
}
