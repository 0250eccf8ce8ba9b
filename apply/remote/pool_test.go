package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bolt/apply/remote"
	"bolt/internal/sshtest"
	"bolt/pool"
	"bolt/pool/client"
	"bolt/pool/daemon"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
)

// dialPool returns a connection through a pool daemon of the test's own.
func dialPool(t *testing.T, s *sshtest.Server) transport.Conn {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "bolt-ar-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: home}, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	p := pool.New(d, pool.Options{})
	router := func(wire.Caller, func(string) (transport.Secret, bool), func(id, text string)) transport.Router {
		return d
	}
	socket := filepath.Join(home, "pool", "socket")
	server, err := daemon.New(daemon.Options{Socket: socket, Pool: p, Router: router, Build: "test", ContentDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Errorf("daemon: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		p.Close()
		d.Close()
	})
	c := client.New(client.Options{Socket: socket, Build: "test", Caller: wire.Caller{Home: home, Dir: home, Env: os.Environ()}})
	t.Cleanup(func() { c.Close() })
	conn, err := c.Dial(t.Context(), transport.Dest{Protocol: "ssh", Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile, ConnectTimeout: time.Minute, HostKeyCheck: transport.CheckNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestPool applies a catalog through the pool daemon, whose connections the client does not have itself.
func TestPool(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	p := newPlace(t)
	p.Conn = dialPool(t, s)
	f := filepath.Join(p.dir, "f")
	c := parse(t, nil, file(f, "x"))
	if p.mustApply(t, &remote.Job{Catalog: c}); p.runs != 2 || p.puts != 1 {
		t.Errorf("fresh: %d runs, %d copies", p.runs, p.puts)
	}
	if p.mustApply(t, &remote.Job{Catalog: c}); p.runs != 1 || p.puts != 0 {
		t.Errorf("unchanged: %d runs, %d copies", p.runs, p.puts)
	}
}

// TestFirstAtOnce applies to one machine without a helper through several connections at once, as controllers that do not know of
// each other do.
func TestFirstAtOnce(t *testing.T) {
	first := newPlace(t)
	var all sync.WaitGroup
	for i := range 8 {
		conn, target := dial(t), first.target
		all.Go(func() {
			node := fmt.Sprint("n", i)
			c := parse(t, map[string]any{"name": node}, file(filepath.Join(first.dir, node), "x"))
			if out, err := remote.Apply(t.Context(), conn, &target, &remote.Job{Catalog: c, Node: node}); err != nil || out.Counts.Changed != 1 {
				t.Errorf("%s: %+v, %v", node, out, err)
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(first.target.Dir, "new-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
