package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/pool"
	"bolt/pool/client"
	"bolt/pool/daemon"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
	"bolt/transport/transporttest"
)

// goodTargets are 40 targets that follow the protocol.
func goodTargets(t testing.TB) []transport.Dest {
	t.Helper()
	fleet := sshtest.NewFleet(t, 40, func(_ context.Context, c sshtest.Call) int {
		io.WriteString(c.Stdout, "fine\n")
		return 0
	}, nil)
	var list []transport.Dest
	for i := range fleet.Addrs {
		list = append(list, fleetDest(t, fleet, i))
	}
	return list
}

// evilTarget is a target that breaks the protocol. It accepts any login.
func evilTarget(t testing.TB, seed uint64) transport.Dest {
	t.Helper()
	e := sshtest.NewEvil(t, seed)
	return transport.Dest{Protocol: "ssh", Host: e.Host, Port: e.Port, User: "u", Password: transport.NewSecret("pw"), HostKeyCheck: transport.CheckNone}
}

func evilTargets(t testing.TB, first, n uint64) (list []transport.Dest) {
	t.Helper()
	for seed := range n {
		list = append(list, evilTarget(t, first+seed))
	}
	return list
}

// A lockedBuffer is a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// evilHouse starts a daemon and one client. alive returns an error if the client's
// session has ended or something has panicked.
func evilHouse(t testing.TB) (c *client.Client, alive func() error) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "bolt-pc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: home}, Keep: true, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	p := pool.New(d, pool.Options{Logger: logger})
	socket := home + "/pool/socket"
	s, err := daemon.New(daemon.Options{Socket: socket, Pool: p, Build: "test", ContentDir: t.TempDir(), Logger: logger,
		Router: func(c wire.Caller, _ func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
			return d.As(ssh.Caller{Home: c.Home, Dir: c.Dir, Environ: c.Env, Warn: warn})
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("daemon: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		p.Close()
		d.Close()
	})
	c = client.New(client.Options{Socket: socket, Build: "test", Caller: wire.Caller{Home: home, Dir: home}, Logger: logger})
	t.Cleanup(func() { c.Close() })
	return c, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := c.Control(ctx, "status"); err != nil {
			return fmt.Errorf("the daemon does not answer: %w", err)
		}
		for _, bad := range []string{"daemon broke the protocol", "client that broke the protocol", "panic", "internal error", "cannot be read", "cannot be decoded", "cannot decode", "client disconnected unexpectedly"} {
			if text := log.String(); strings.Contains(text, bad) {
				return fmt.Errorf("the log has %q:\n%.4000s", bad, text)
			}
		}
		return nil
	}
}

// TestTargetsThatBreakTheProtocol checks that targets which send invalid data at any step do not affect other
// targets: directly, through a pool, and through a daemon.
func TestTargetsThatBreakTheProtocol(t *testing.T) {
	for _, way := range []string{"direct", "pool", "daemon"} {
		t.Run(way, func(t *testing.T) {
			good, evil := goodTargets(t), evilTargets(t, 1, 40)
			var through transport.Dialer
			var alive func() error
			if way == "daemon" {
				through, alive = evilHouse(t)
			} else {
				d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: t.TempDir()}, Keep: way == "pool"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { d.Close() })
				through = d
				if way == "pool" {
					p := pool.New(d, pool.Options{})
					t.Cleanup(func() { p.Close() })
					through = p
				}
			}
			transporttest.TestEvil(t, through, good, evil, "fine\n", alive)
		})
	}
}

// TestLargeStatus checks that large exit statuses, as of Windows programs that crash,
// reach the client unchanged, and that the session continues.
func TestLargeStatus(t *testing.T) {
	statuses := map[string]int{"crash": 0xc0000005, "all": 1<<32 - 1, "half": 1 << 31}
	fleet := sshtest.NewFleet(t, 1, func(_ context.Context, c sshtest.Call) int {
		for word, status := range statuses {
			if strings.Contains(c.Line, word) {
				return status
			}
		}
		return 0
	}, nil)
	c, alive := evilHouse(t)
	to := fleetDest(t, fleet, 0)
	conn, err := c.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	for word, status := range statuses {
		if st, err := conn.Run(t.Context(), &transport.Cmd{Line: word}); err != nil || st != (transport.Status{Code: status}) {
			t.Errorf("%s: got %+v, %v", word, st, err)
		}
	}
	if err := alive(); err != nil {
		t.Error(err)
	}
}

func fleetDest(t testing.TB, fleet *sshtest.Fleet, i int) transport.Dest {
	t.Helper()
	at, err := net.ResolveTCPAddr("tcp", fleet.Addrs[i])
	if err != nil {
		t.Fatal(err)
	}
	return transport.Dest{Protocol: "ssh", Host: at.IP.String(), Port: at.Port, User: "u", PrivateKey: fleet.KeyFile,
		HostKeyCheck: transport.CheckNone, ConnectTimeout: 30 * time.Second}
}

// FuzzEvil searches for a target that affects another target. Each input is the seed
// of an evil target.
func FuzzEvil(f *testing.F) {
	c, alive := evilHouse(f)
	good := goodTargets(f)[0]
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		transporttest.TestEvil(t, c, []transport.Dest{good}, []transport.Dest{evilTarget(t, seed)}, "fine\n", alive)
	})
}
