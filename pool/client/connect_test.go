package client

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

// expectUnavailable checks the error of Connect.
func expectUnavailable(t *testing.T, o Options, words ...string) *Unavailable {
	t.Helper()
	err := newClient(t, o).Connect(testContext(t))
	u, ok := errors.AsType[*Unavailable](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Unavailable", err, err)
	}
	for _, w := range words {
		if !strings.Contains(u.Error()+"\n"+u.Hint, w) {
			t.Errorf("it does not say %q: %v\n%s", w, u, u.Hint)
		}
	}
	return u
}

func TestConnect(t *testing.T) {
	d := newFake(t, nil)
	c := newClient(t, Options{Socket: d.socket, Build: "1.0", Made: 7})
	if err := c.Connect(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if p := c.Peer(); p.Build != "fake" || p.PID != os.Getpid() {
		t.Errorf("the peer is %+v", p)
	}
	got, err := c.Control(testContext(t), "ping")
	if err != nil || string(got) != "ping" {
		t.Errorf("ping: %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dial(testContext(t), transport.Dest{Host: "x"}); err == nil {
		t.Error("a closed client dials")
	}
}

func TestUnsafeSocketPaths(t *testing.T) {
	cases := []struct {
		name string
		make func(t *testing.T, socket string) // in an empty directory of this user
		want string
	}{
		{"directory open to others", func(t *testing.T, s string) { check(t, os.Chmod(filepath.Dir(s), 0o750)) }, "other users have access to the directory"},
		{"directory of another user", func(t *testing.T, s string) { check(t, os.Chown(filepath.Dir(s), 65534, 65534)) }, "belongs to user 65534"},
		{"socket of another user", func(t *testing.T, s string) { check(t, os.Chown(s, 65534, 65534)) }, "belongs to user 65534"},
		{"directory is a link", func(t *testing.T, s string) {
			dir := filepath.Dir(s)
			check(t, os.Rename(dir, dir+"-real"))
			t.Cleanup(func() { os.RemoveAll(dir + "-real") })
			check(t, os.Symlink(dir+"-real", dir))
		}, "is not a directory"},
		{"no socket", func(t *testing.T, s string) {
			check(t, os.Remove(s))
			check(t, os.WriteFile(s, nil, 0o600))
		}, "is not a socket"},
		{"socket is a link", func(t *testing.T, s string) {
			check(t, os.Rename(s, s+"-real"))
			check(t, os.Symlink(s+"-real", s))
		}, "is not a socket"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newFake(t, nil)
			c.make(t, d.socket)
			started := func(context.Context) error { t.Error("a daemon was started"); return nil }
			if u := expectUnavailable(t, Options{Socket: d.socket, Start: started}, c.want); u.Absent {
				t.Error("it is said to be absent")
			}
			if d.seen(wire.Hello) > 0 {
				t.Error("it was spoken to")
			}
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestListenerOfAnotherUser checks that a listener of another user is refused,
// although the socket's path looks safe.
func TestListenerOfAnotherUser(t *testing.T) {
	socket := socketPath(t)
	dir := filepath.Dir(socket)
	check(t, os.Chmod(dir, 0o777))
	program := filepath.Join(dir, "program") // only root has access to the test's own directory
	self, err := os.ReadFile(os.Args[0])
	check(t, err)
	check(t, os.WriteFile(program, self, 0o755))
	cmd := exec.Command(program)
	cmd.Env = []string{listenVariable + "=" + socket}
	cmd.SysProcAttr = asNobody()
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	defer func() { in.Close(); cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("%q, %v", line, err)
	}
	check(t, os.Chmod(dir, 0o700))
	check(t, os.Chown(socket, 0, 0))
	expectUnavailable(t, Options{Socket: socket}, "user 65534 listens")
}

func TestNoDaemonRuns(t *testing.T) {
	stale := socketPath(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	check(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	for name, socket := range map[string]string{
		"no socket": socketPath(t), "no directory": socketPath(t) + "/x/y", "stale socket": stale,
	} {
		t.Run(name, func(t *testing.T) {
			if u := expectUnavailable(t, Options{Socket: socket}, "none is running", "bolt pool start"); !u.Absent {
				t.Error("it is not said to be absent")
			}
		})
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	sends := func(typ wire.Type, id uint32, body []byte) func(*peer) {
		return func(p *peer) { p.send(typ, id, body) }
	}
	raw := func(b string) func(*peer) { return func(p *peer) { p.conn.Write([]byte(b)) } }
	cases := []struct {
		name   string
		answer func(p *peer)
		want   []string
	}{
		{"another version", sends(wire.Welcome, 0, (&wire.Greeting{Version: 9, Build: "4.5"}).Encode()), []string{"build 4.5", "version 9"}},
		{"refusal", sends(wire.Refused, 0, (&wire.Refusal{Reason: "too busy\x1b[2J"}).Encode()), []string{"it refuses: too busy[2J"}},
		{"stranger", raw("SSH-2.0-OpenSSH_9.9\r\n"), []string{"does not answer as a pool daemon should"}},
		{"huge frame", raw("\xff\xff\xff\xff\x41\x00\x00\x00\x00"), []string{"larger than"}},
		{"Welcome for an ID", sends(wire.Welcome, 1, (&wire.Greeting{Version: wire.Version}).Encode()), []string{"instead of a greeting"}},
		{"Dialed", sends(wire.Dialed, 0, nil), []string{"frame of type 67"}},
		{"garbage in the Welcome", sends(wire.Welcome, 0, []byte("garbage")), []string{"does not speak"}},
		{"silence", func(*peer) {}, []string{"does not answer", "kill -CONT"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newFake(t, func(p *peer, f wire.Frame) bool { c.answer(p); return true })
			begun := time.Now()
			expectUnavailable(t, Options{Socket: d.socket}, c.want...)
			if d := time.Since(begun); d > greetTime+30*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

func TestHugeEnvironment(t *testing.T) {
	d := newFake(t, nil)
	expectUnavailable(t, Options{Socket: d.socket, Caller: wire.Caller{Env: []string{strings.Repeat("x", wire.MaxFrame)}}}, "environment")
}

// TestConnectCancelled checks that the end of the caller's ctx ends the wait for a
// greeting and is the error.
func TestConnectCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	d := newFake(t, func(*peer, wire.Frame) bool { cancel(); return true })
	if err := newClient(t, Options{Socket: d.socket}).Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestConcurrentDialsStartOneDaemon checks that fifty concurrent dials start one
// daemon.
func TestConcurrentDialsStartOneDaemon(t *testing.T) {
	socket := socketPath(t)
	var started atomic.Int32
	c := newClient(t, Options{Socket: socket, Start: func(context.Context) error {
		started.Add(1)
		time.Sleep(20 * time.Millisecond)
		newFakeAt(t, socket, nil)
		return nil
	}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { mustDialAsync(t, c) })
	}
	wg.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d daemons were started", n)
	}
}

func mustDialAsync(t *testing.T, c *Client) {
	conn, err := c.Dial(testContext(t), transport.Dest{Host: "web1"})
	if err != nil {
		t.Error(err)
		return
	}
	say(t, conn, "hello")
	conn.Close()
}

// TestStartFails checks that all dials get the reason, and that not each of them tries
// to start a daemon.
func TestStartFails(t *testing.T) {
	var started atomic.Int32
	c := newClient(t, Options{Socket: socketPath(t), Start: func(context.Context) error {
		started.Add(1)
		return errors.New("no space left")
	}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := c.Dial(testContext(t), transport.Dest{Host: "web1"})
			expectClass(t, err, transport.ClassConnect, "web1", "no space left")
		})
	}
	wg.Wait()
	if _, err := c.Dial(testContext(t), transport.Dest{Host: "web1"}); err == nil {
		t.Error("dialed")
	}
	if n := started.Load(); n != maxStarts {
		t.Errorf("%d starts, want %d", n, maxStarts)
	}
	if err := c.Connect(testContext(t)); err == nil || started.Load() != 2*maxStarts {
		t.Errorf("Connect does not try again: %v", err)
	}
}

// TestStartRace checks the case that the daemon of another invocation was faster.
func TestStartRace(t *testing.T) {
	socket := socketPath(t)
	c := newClient(t, Options{Socket: socket, Start: func(context.Context) error {
		newFakeAt(t, socket, nil)
		return errors.New("another daemon has the lock")
	}})
	say(t, mustDial(t, c), "hello")
}

// TestOldDaemonIsReplaced checks the case that an old daemon ends, holds its lock a
// little longer, and a new one starts.
func TestOldDaemonIsReplaced(t *testing.T) {
	for name, leave := range map[string]func(p *peer){
		"says so":            func(p *peer) { p.send(wire.Refused, 0, (&wire.Refusal{Leaving: true}).Encode()) },
		"has just closed it": func(*peer) {},
	} {
		t.Run(name, func(t *testing.T) {
			socket := socketPath(t)
			old := newFakeAt(t, socket, func(p *peer, f wire.Frame) bool {
				leave(p)
				p.d.l.Close()
				time.Sleep(30 * time.Millisecond) // the time to close its connections
				p.conn.Close()
				return true
			})
			var starts int
			c := newClient(t, Options{Socket: socket, Start: func(context.Context) error {
				if starts++; starts < 4 {
					return errors.New("another daemon has the lock")
				}
				newFakeAt(t, socket, nil)
				return nil
			}})
			say(t, mustDial(t, c), "hello")
			if starts != 4 || old.seen(wire.Dial) != 0 {
				t.Errorf("%d starts", starts)
			}
		})
	}
}

// TestReplacedBySocketActivation checks that systemd, which owns the old daemon's
// socket, starts the new daemon. A daemon started by the client would take over the
// socket.
func TestReplacedBySocketActivation(t *testing.T) {
	var hellos atomic.Int32
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type != wire.Hello || hellos.Add(1) > 1 {
			return false
		}
		p.send(wire.Refused, 0, (&wire.Refusal{Leaving: true}).Encode())
		p.conn.Close()
		return true
	})
	c := newClient(t, Options{Socket: d.socket, Start: func(context.Context) error {
		t.Error("a daemon was started")
		return errors.New("no")
	}})
	say(t, mustDial(t, c), "hello")
}

// TestCloseWhileConnecting checks that a session that opens too late has ended, with
// its goroutines, when its dial returns.
func TestCloseWhileConnecting(t *testing.T) {
	var c *Client
	var over atomic.Bool
	warned := make(chan struct{})
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		check(t, c.Close())
		p.send(wire.Welcome, 0, (&wire.Greeting{Version: wire.Version}).Encode())
		p.send(wire.Warned, 0, (&wire.Warning{ID: "x"}).Encode())
		return true
	})
	c = newClient(t, Options{Socket: d.socket, Warn: func(string, string) {
		time.Sleep(50 * time.Millisecond)
		if over.Load() {
			t.Error("a warning after the end")
		}
		close(warned)
	}})
	_, err := c.Dial(testContext(t), transport.Dest{Host: "web1"})
	over.Store(true)
	expectClass(t, err, transport.ClassConnect, "the client was closed")
	select {
	case <-warned:
	case <-time.After(100 * time.Millisecond): // the reader may have been too late for it
	}
}

// TestLeaderGivesUp checks that other callers succeed if the first caller is
// cancelled.
func TestLeaderGivesUp(t *testing.T) {
	var hellos atomic.Int32
	first, cancel := context.WithCancel(testContext(t))
	defer cancel()
	waiting := make(chan struct{})
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Hello && hellos.Add(1) == 1 {
			<-waiting
			cancel()
			return true
		}
		return false
	})
	c := newClient(t, Options{Socket: d.socket})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Dial(first, transport.Dest{Host: "web1"})
		expectClass(t, err, transport.ClassCancelled)
	})
	eventually(t, "the first has said hello", func() bool { return hellos.Load() == 1 })
	wg.Go(func() { mustDialAsync(t, c) })
	close(waiting)
	wg.Wait()
}
