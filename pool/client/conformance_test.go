package client_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// A house is a home directory that trusts a server, with a path for a socket.
type house struct {
	home, socket string
	server       *sshtest.Server
}

func newHouse(t *testing.T, s *sshtest.Server) *house {
	t.Helper()
	// Short enough for a socket, and in the directory that the parent of a process
	// which is killed removes.
	home, err := os.MkdirTemp("", "bolt-pc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(s.KnownHosts()), 0o600); err != nil {
		t.Fatal(err)
	}
	return &house{home: home, socket: filepath.Join(home, "pool", "socket"), server: s}
}

func (h *house) dest() transport.Dest {
	return transport.Dest{Protocol: "ssh", Host: h.server.Host, Port: h.server.Port, User: "root", PrivateKey: h.server.KeyFile,
		ConnectTimeout: 30 * time.Second, HostKeyCheck: transport.CheckStrict}
}

// serve runs a daemon until the test ends or end is called.
func (h *house) serve(t *testing.T) (p *pool.Pool, end func()) {
	t.Helper()
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: h.home}, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	p = pool.New(d, pool.Options{})
	router := func(c wire.Caller, answer func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
		return d.As(ssh.Caller{Home: c.Home, Dir: c.Dir, Environ: c.Env, AgentSocket: c.AgentSocket,
			Passphrase: func(_ context.Context, path string) (transport.Secret, error) {
				if secret, ok := answer(path); ok {
					return secret, nil
				}
				return transport.Secret{}, ssh.ErrNobody
			}, Warn: warn})
	}
	s, err := daemon.New(daemon.Options{Socket: h.socket, Pool: p, Router: router, Build: "test", ContentDir: t.TempDir()})
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
	end = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		p.Close()
		d.Close()
	})
	t.Cleanup(end)
	return p, end
}

func (h *house) client(t *testing.T, change func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{Socket: h.socket, Build: "test", Caller: wire.Caller{Home: h.home, Dir: h.home, Env: os.Environ()}}
	if change != nil {
		change(&o)
	}
	c := client.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestConformance checks that client, socket, daemon, pool and SSH together
// behave as a Dialer. Each case has its own client, as each invocation does.
// The connections are shared.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	h := newHouse(t, s)
	p, _ := h.serve(t)
	transporttest.TestDialerAtOnce(t, func(t *testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		c := h.client(t, nil)
		return c, h.dest(), transporttest.Env{
			StartsHome: true,
			As: func(_ *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
				to := h.dest()
				to.User = u.Name
				return c, to
			},
		}
	})
	if got := p.Totals(); got.DialsSaved < 20 {
		t.Errorf("totals %+v: the connections were not shared", got)
	}
}

func run(t *testing.T, d transport.Dialer, to transport.Dest, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := d.Dial(ctx, to)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var out bytes.Buffer
	_, err = conn.Run(ctx, &transport.Cmd{Line: line, Stdout: &out})
	return out.String(), err
}

// TestEncryptedKey checks that the client is asked for a passphrase, because
// the daemon cannot ask.
func TestEncryptedKey(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	h := newHouse(t, s)
	h.serve(t)
	key := filepath.Join(h.home, "locked")
	text, err := os.ReadFile(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-p", "-a", "1", "-N", "open sesame", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	to := h.dest()
	to.PrivateKey = key
	if _, err := run(t, h.client(t, nil), to, "echo hello"); transport.ClassOf(err) != transport.ClassAuth {
		t.Errorf("with nobody to ask: %v", err)
	}
	asked := 0
	c := h.client(t, func(o *client.Options) {
		o.Passphrase = func(_ context.Context, path string) (transport.Secret, error) {
			if asked++; asked == 1 {
				return transport.NewSecret("wrong"), nil
			}
			return transport.NewSecret("open sesame"), nil
		}
	})
	for range 2 {
		if out, err := run(t, c, to, "echo hello"); out != "hello\n" {
			t.Errorf("got %q, %v", out, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// TestDaemonEnds checks that running commands end on the machine when the
// daemon is stopped, and that the next command starts another daemon.
func TestDaemonEnds(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	h := newHouse(t, s)
	starts := 0
	var end func()
	c := h.client(t, func(o *client.Options) {
		o.Start = func(context.Context) error {
			starts++
			_, end = h.serve(t)
			return nil
		}
	})
	if out, err := run(t, c, h.dest(), "echo hello"); out != "hello\n" {
		t.Fatalf("got %q, %v", out, err)
	}
	conn, err := c.Dial(t.Context(), h.dest())
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	mark := strconv.Itoa(os.Getpid())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := conn.Run(t.Context(), &transport.Cmd{Line: "echo x; exec sleep 98765" + mark, Stdout: signal(begun)})
		if class := transport.ClassOf(err); class != transport.ClassLost && class != transport.ClassCancelled {
			t.Errorf("Run: %v", err)
		}
	})
	<-begun
	end()
	wg.Wait()
	var out bytes.Buffer
	if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "for i in $(seq 600); do pgrep -f 'sleep 9876[5]" + mark + "' || { echo none; break; }; sleep 0.1; done", Stdout: &out}); err != nil || !strings.HasSuffix(out.String(), "none\n") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if starts != 2 {
		t.Errorf("%d starts", starts)
	}
}

type signal chan struct{}

func (s signal) Write(p []byte) (int, error) { close(s); return len(p), nil }
