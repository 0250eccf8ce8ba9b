package pool

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/ssh"
)

// realDialer returns an ssh.Dialer that knows the servers' host keys.
func realDialer(t testing.TB, servers ...*sshtest.Server) *ssh.Dialer {
	t.Helper()
	var known strings.Builder
	for _, s := range servers {
		known.WriteString(s.KnownHosts())
	}
	d, _ := dialerFor(t, known.String())
	return d
}

// dialerFor also returns the path of its known_hosts file.
func dialerFor(t testing.TB, known string) (*ssh.Dialer, string) {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".ssh", "known_hosts")
	if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: home, SystemConfig: os.DevNull}, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, file
}

func newPool(t testing.TB, next transport.Router, o Options) *Pool {
	t.Helper()
	p := New(next, o)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close the pool: %v", err)
		}
	})
	return p
}

func dest(s *sshtest.Server) transport.Dest {
	return transport.Dest{Protocol: "ssh", Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile,
		ConnectTimeout: 20 * time.Second, LoadConfig: true, HostKeyCheck: transport.CheckStrict}
}

// linkDest returns the destination of a server behind a link.
func linkDest(s *sshtest.Server, k *sshtest.Link) transport.Dest {
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = k.Host, k.Port, transport.CheckNone
	return to
}

// fleetDest returns the destination of a server in this process.
func fleetDest(t testing.TB, keyFile, addr string) transport.Dest {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return transport.Dest{Host: host, Port: n, User: "root", PrivateKey: keyFile, ConnectTimeout: 20 * time.Second, HostKeyCheck: transport.CheckNone}
}

// say runs a line and returns its output.
func say(ctx context.Context, c transport.Conn, line string) (string, error) {
	var out strings.Builder
	st, err := c.Run(ctx, &transport.Cmd{Line: line, Stdout: &out})
	if err == nil && !st.OK() {
		err = fmt.Errorf("%q ended with %+v", line, st)
	}
	return out.String(), err
}

func mustSay(t testing.TB, c transport.Conn, line, want string) {
	t.Helper()
	if got, err := say(t.Context(), c, line); err != nil || got != want {
		t.Fatalf("%q said %q, %v; want %q", line, got, err, want)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

// running counts the processes of the machine that have marker in their command
// line.
func running(t testing.TB, marker string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || files == nil {
		t.Fatalf("processes cannot be listed: %v", err)
	}
	n := 0
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), marker) {
			n++
		}
	}
	return n
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxSessions 4\n"})
	p := newPool(t, realDialer(t, s), Options{})
	var work sync.WaitGroup
	for i := range 50 {
		d := p.For(p.self.next)
		work.Go(func() {
			c, err := d.Dial(t.Context(), dest(s))
			if err != nil {
				t.Errorf("dial: %v", err)
				return
			}
			defer c.Close()
			for j := range 2 {
				want := fmt.Sprintf("%d.%d\n", i, j)
				if got, err := say(t.Context(), c, "echo "+strings.TrimSpace(want)); err != nil || got != want {
					t.Errorf("said %q, %v; want %q", got, err, want)
				}
			}
		})
	}
	work.Wait()
	got := p.Totals()
	if got.Dials > uint64(linksFor(4)) || got.DialsSaved != 49 || got.Runs != 100 || got.DialsFailed != 0 {
		t.Errorf("totals %+v", got)
	}
}

func TestServerKilled(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		s := sshtest.Start(t, sshtest.Options{})
		p := newPool(t, realDialer(t, s), Options{})
		c := mustDial(t, p, dest(s))
		mustSay(t, c, "echo a", "a\n")
		c.Close()
		s.Kill()
		eventually(t, "the connection leaves the pool", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.all) == 0 && len(p.peers) == 0
		})
		_, err := p.Dial(t.Context(), dest(s))
		wantClass(t, err, transport.ClassConnect)
	})
	t.Run("busy", func(t *testing.T) {
		t.Parallel()
		s := sshtest.Start(t, sshtest.Options{})
		p := newPool(t, realDialer(t, s), Options{})
		c := mustDial(t, p, dest(s))
		defer c.Close()
		started := make(chan struct{}, 1)
		var work sync.WaitGroup
		work.Go(func() {
			_, err := c.Run(t.Context(), &transport.Cmd{Line: "echo up; exec sleep 30", Stdout: writerFunc(func() { started <- struct{}{} })})
			if transport.ClassOf(err) != transport.ClassLost {
				t.Errorf("a command under a server that is killed: %v", err)
			}
		})
		<-started
		s.Kill()
		work.Wait()
		if got := p.Totals(); got.Dials != 1 {
			t.Errorf("totals %+v: what was lost must not be done again", got)
		}
		// The class is Lost if the end of the connection is detected while the
		// command starts.
		_, err := c.Run(t.Context(), &transport.Cmd{Line: "true"})
		if class := transport.ClassOf(err); class != transport.ClassConnect && class != transport.ClassLost {
			t.Errorf("a command after the server was killed: %v", err)
		}
	})
	t.Run("cut and back", func(t *testing.T) {
		t.Parallel()
		s := sshtest.Start(t, sshtest.Options{})
		k := sshtest.Delay(t, s.Addr, 0)
		p := newPool(t, realDialer(t, s), Options{})
		c := mustDial(t, p, linkDest(s, k))
		defer c.Close()
		for range 20 {
			k.Cut() // the next command follows at once
			_, err := say(t.Context(), c, "true")
			if class := transport.ClassOf(err); err != nil && class != transport.ClassLost {
				t.Errorf("%v (%s), want success or %s", err, class, transport.ClassLost)
			}
		}
		mustSay(t, c, "echo a", "a\n")
	})
}

type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestNetworkSilentAndBack(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	k := sshtest.Delay(t, s.Addr, 0)
	p := newPool(t, realDialer(t, s), Options{})
	to := linkDest(s, k)
	to.Keepalive, to.DisconnectTimeout = 500*time.Millisecond, time.Second
	c := mustDial(t, p, to)
	defer c.Close()
	mustSay(t, c, "echo a", "a\n")
	mustDial(t, p, dest(s)).Close()
	started := make(chan struct{}, 1)
	var work sync.WaitGroup
	work.Go(func() {
		_, err := c.Run(t.Context(), &transport.Cmd{Line: "echo up; exec sleep 30", Stdout: writerFunc(func() { started <- struct{}{} })})
		if transport.ClassOf(err) != transport.ClassLost {
			t.Errorf("a command while the network goes silent: %v", err)
		}
	})
	<-started
	k.BlackHole(true)
	work.Wait()
	// The pool detects the loss independently of the command.
	eventually(t, "the dead connection is not kept", func() bool {
		return !slices.ContainsFunc(p.Connections(), func(k Connection) bool { return strings.Contains(k.Peer, strconv.Itoa(to.Port)) && k.State != Closing })
	})
	k.BlackHole(false)
	mustSay(t, c, "echo b", "b\n")
	if got := p.Totals(); got.Dials != 3 {
		t.Errorf("totals %+v", got)
	}
}

// TestHostKeyNoLongerTrusted checks that a warm connection is not used if
// known_hosts does not trust its key any more.
func TestHostKeyNoLongerTrusted(t *testing.T) {
	t.Parallel()
	s, other := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{})
	d, file := dialerFor(t, s.KnownHosts())
	p := newPool(t, d, Options{})
	c := mustDial(t, p, dest(s))
	mustSay(t, c, "echo a", "a\n")
	wrong := strings.ReplaceAll(other.KnownHosts(), strconv.Itoa(other.Port), strconv.Itoa(s.Port))
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change counts", func() bool {
		c, err := p.Dial(t.Context(), dest(s))
		if err == nil {
			c.Close()
			return false
		}
		wantClass(t, err, transport.ClassHostKeyChanged)
		return true
	})
	eventually(t, "the connection is closed", func() bool { return len(p.Connections()) == 0 })
	c.Close()
}

// TestCancelledCommandsEnd checks that cancelled commands leave no process on
// the machine, and that the connection still works.
func TestCancelledCommandsEnd(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	p := newPool(t, realDialer(t, s), Options{})
	marker := fmt.Sprintf("7%d.%d", os.Getpid(), time.Now().UnixNano()%1e9)
	var work sync.WaitGroup
	for i := range 40 {
		work.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+i*20)*time.Millisecond)
			defer cancel()
			c, err := p.Dial(ctx, dest(s))
			if err != nil {
				return
			}
			if i%2 == 0 {
				stop := context.AfterFunc(ctx, func() { c.Close() })
				defer stop()
				ctx = context.WithoutCancel(ctx)
			}
			_, err = say(ctx, c, "sleep "+marker)
			if class := transport.ClassOf(err); class != transport.ClassCancelled && class != transport.ClassTimeout {
				t.Errorf("command %d: %v", i, err)
			}
			c.Close()
		})
	}
	work.Wait()
	eventually(t, "all commands have ended", func() bool { return running(t, marker) == 0 })
	c := mustDial(t, p, dest(s))
	mustSay(t, c, "echo a", "a\n")
	c.Close()
	eventually(t, "nothing is in use", func() bool { return !p.Busy() })
}

// TestFleet uses more machines than connections.
func TestFleet(t *testing.T) {
	t.Parallel()
	const machines, room = 200, 40
	f := sshtest.NewFleet(t, machines, func(_ context.Context, c sshtest.Call) int {
		fmt.Fprintln(c.Stdout, c.Addr)
		return 0
	}, nil)
	d, _ := dialerFor(t, "")
	p := newPool(t, d, Options{MaxConnections: room})
	turns := make(chan struct{}, 60)
	var work sync.WaitGroup
	for _, addr := range f.Addrs {
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			c, err := p.Dial(t.Context(), fleetDest(t, f.KeyFile, addr))
			if err != nil {
				t.Errorf("dial: %v", err)
				return
			}
			defer c.Close()
			p.mu.Lock()
			open := p.room.open
			p.mu.Unlock()
			if open > room {
				t.Errorf("%d connections open", open)
			}
		})
	}
	work.Wait()
	if got := p.Totals(); got.Dials != machines || got.DialsFailed != 0 {
		t.Errorf("totals %+v", got)
	}
}
