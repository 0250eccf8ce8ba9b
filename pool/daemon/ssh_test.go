package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"bolt/internal/sshtest"
	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/archive"
	"bolt/transport/ssh"
)

// serveSSH starts a daemon that makes real connections.
func serveSSH(t testing.TB) *served {
	t.Helper()
	dialer, err := ssh.NewDialer(ssh.Options{Keep: true, Caller: ssh.Caller{Home: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialer.Close() })
	return serve(t, func(o *Options) {
		o.Pool.Close()
		o.Pool = pool.New(dialer, pool.Options{Logger: slog.New(slog.DiscardHandler)})
		o.Router = func(c wire.Caller, answer func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
			return dialer.As(ssh.Caller{Home: c.Home, Environ: c.Env, AgentSocket: c.AgentSocket, Warn: warn,
				Passphrase: func(_ context.Context, path string) (transport.Secret, error) {
					if s, ok := answer(path); ok {
						return s, nil
					}
					return transport.Secret{}, ssh.ErrNobody
				}})
		}
	})
}

// dest returns the destination of a real server.
func dest(s *sshtest.Server) transport.Dest {
	return transport.Dest{Protocol: "ssh", Host: s.Host, Port: s.Port, User: "root", PrivateKey: s.KeyFile, HostKeyCheck: transport.CheckNone, ConnectTimeout: 10 * time.Second}
}

func (p *peer) dialTo(to transport.Dest) uint32 {
	p.t.Helper()
	id := p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&to))
	p.expect(wire.Dialed, id)
	return id
}

func TestRealServer(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	v := serveSSH(t)
	dir := t.TempDir()
	for round := range 2 {
		p := v.connect(t)
		lease := p.dialTo(dest(server))
		if out, _, st, err := p.finish(p.start(lease, "echo $((6*7)); exit 3")); out != "42\n" || st.Code != 3 || err != nil {
			t.Errorf("got %q, %v, %v", out, st, err)
		}
		// Ten megabytes arrive in pieces and wait for credit.
		if out, _, _, err := p.finish(p.start(lease, "head -c 10000000 /dev/zero")); len(out) != 10_000_000 || err != nil {
			t.Errorf("got %d bytes, %v", len(out), err)
		}

		tree := fstest.MapFS{"src/a": {Data: pattern(100_000), Mode: 0o640}, "src/b/c": {Data: []byte("c"), Mode: 0o755}}
		data := packed(t, tree, "src")
		digest := p.push(data)
		dst := filepath.Join(dir, fmt.Sprint(round))
		id := p.id()
		p.send(wire.Put, id, (&wire.PutRequest{Lease: lease, Tree: digest, Source: "/src", Name: "src", Dst: dst}).Encode())
		p.expect(wire.Finished, id)
		if got, err := os.ReadFile(filepath.Join(dst, "a")); err != nil || !bytes.Equal(got, pattern(100_000)) {
			t.Errorf("uploaded %d bytes, %v", len(got), err)
		}
		id = p.id()
		p.send(wire.Put, id, (&wire.PutRequest{Lease: lease, Tree: digest, Source: "/home/me/src", Name: "src", Dst: "/proc/none/x"}).Encode())
		if e := p.failed(id); e.Class != transport.ClassFile {
			t.Errorf("got %+v", e)
		}

		back := t.TempDir()
		id = p.id()
		p.send(wire.Get, id, (&wire.GetRequest{Lease: lease, Src: dst}).Encode())
		err := archive.Receive(dst, "host", back, transport.Limits{}, func(to io.Writer) error {
			for {
				f := p.next()
				switch f.Type {
				case wire.Stdout:
					if _, err := to.Write(f.Body); err != nil {
						return err
					}
					p.send(wire.Credit, id, wire.EncodeCredit(len(f.Body)))
				case wire.Finished:
					return nil
				default:
					return failure(t, f)
				}
			}
		})
		if got, read := os.ReadFile(filepath.Join(back, fmt.Sprint(round), "b", "c")); err != nil || string(got) != "c" {
			t.Errorf("downloaded %q, %v, %v", got, err, read)
		}
		p.conn.Close()
	}
	if n := v.o.Pool.Totals().Dials; n != 1 {
		t.Errorf("%d dials", n)
	}
}

// TestKilledClient checks that the client's remote processes end, and no
// others.
func TestKilledClient(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	v := serveSSH(t)
	dir := t.TempDir()
	var peers []*peer
	var pids, ids [2]int
	for i := range 2 {
		p := v.connect(t)
		file := filepath.Join(dir, fmt.Sprint(i))
		ids[i] = int(p.start(p.dialTo(dest(server)), "echo $$ >"+file+"; exec sleep 1000"))
		pids[i] = process(t, file)
		peers = append(peers, p)
	}
	peers[0].conn.Close()
	eventually(t, "its command is gone", func() bool { return gone(pids[0]) })
	if gone(pids[1]) {
		t.Error("the other client's command is gone, too")
	}
	server.Kill()
	if _, _, _, err := peers[1].finish(uint32(ids[1])); transport.ClassOf(err) != transport.ClassLost {
		t.Errorf("got %v", err)
	}
}

// TestPassphrase checks that only the client that needs it is asked for a
// passphrase, once.
func TestPassphrase(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	v := serveSSH(t)
	key := filepath.Join(t.TempDir(), "id")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(server.Authorized, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(public); err != nil {
		t.Fatal(err)
	}
	f.Close()
	to := dest(server)
	to.PrivateKey = key
	p := v.connect(t)
	id := p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&to))
	if e := p.failed(id); e.Ask != key {
		t.Fatalf("got %+v", e)
	}
	p.send(wire.Answer, 0, (&wire.AnswerRequest{Path: key, Passphrase: transport.NewSecret("open sesame")}).Encode())
	p.finish(p.start(p.dialTo(to), "true"))
	if strings.Contains(v.log.String(), "sesame") {
		t.Error("the log has the passphrase")
	}
}

// fleetDest returns the destination of a server of an in-process fleet.
func fleetDest(t testing.TB, f *sshtest.Fleet, i int) transport.Dest {
	t.Helper()
	host, port, err := net.SplitHostPort(f.Addrs[i])
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return transport.Dest{Protocol: "ssh", Host: host, Port: n, User: "u", PrivateKey: f.KeyFile, HostKeyCheck: transport.CheckNone, ConnectTimeout: 30 * time.Second}
}

// heap returns the memory in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestSlowReader checks that a client that is stopped while fifty machines
// print without end costs a bounded amount of memory, and does not delay other
// clients.
func TestSlowReader(t *testing.T) {
	const machines = 50
	fleet := sshtest.NewFleet(t, machines, func(ctx context.Context, c sshtest.Call) int {
		if !strings.Contains(c.Line, "endless") {
			fmt.Fprintln(c.Stdout, "short")
			return 0
		}
		go func() { // it ends with the channel
			_, _ = io.Copy(io.Discard, c.Stdin)
		}()
		for data := make([]byte, 32<<10); ctx.Err() == nil; {
			if _, err := c.Stdout.Write(data); err != nil {
				break
			}
		}
		return 0
	}, nil)
	v := serveSSH(t)
	p := v.connect(t)
	quick := func() time.Duration {
		began := time.Now()
		ids := make(map[uint32]bool)
		for i := range machines {
			ids[p.start(uint32(i+1), "quick")] = true
		}
		for range 2 * machines {
			if f := p.next(); !ids[f.ID] || f.Type != wire.Stdout && f.Type != wire.Exited {
				t.Fatalf("frame of type %d", f.Type)
			}
		}
		return time.Since(began)
	}
	for i := range machines {
		p.dialTo(fleetDest(t, fleet, i))
	}
	alone := min(quick(), quick(), quick())

	before := heap()
	stopped := v.connect(t)
	var leases []uint32
	for i := range machines {
		leases = append(leases, stopped.dialTo(fleetDest(t, fleet, i)))
	}
	for _, lease := range leases {
		stopped.start(lease, "endless")
	}
	eventually(t, "all print", func() bool { return p.status().InFlight == machines })
	var last int64
	eventually(t, "memory grows no more", func() bool {
		time.Sleep(200 * time.Millisecond)
		now := heap()
		grown := now - last
		last = now
		return grown < 256<<10
	})
	// A channel of golang.org/x/crypto/ssh takes up to 64 packets of 32 KiB (40
	// KiB in memory) before its window closes. This program cannot change that.
	const channelWindow = 64 * 40 << 10
	each := (last - before) / machines
	t.Logf("%d KiB for each command of the stopped client", each>>10)
	if each > channelWindow+wire.Window+150<<10 {
		t.Errorf("%d bytes for each command", each)
	}
	with := min(quick(), quick(), quick())
	t.Logf("%d quick commands: %v alone, %v beside a stopped client", machines, alone, with)
	if with > 3*alone+20*time.Second {
		t.Errorf("others are slowed: %v instead of %v", with, alone)
	}
	stopped.conn.Close()
	eventually(t, "all have ended", func() bool { return p.status().InFlight == 0 })
}

// still is a Router whose commands run until they are cancelled.
type still struct{ nowhere }

func (s still) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return stillRoute{to.Host}, nil
}

type stillRoute struct{ key string }

func (r stillRoute) Key() string                                { return r.key }
func (stillRoute) Dial(context.Context) (transport.Conn, error) { return stillConn{}, nil }

type stillConn struct{ nowhere }

func (stillConn) Run(ctx context.Context, _ *transport.Cmd) (transport.Status, error) {
	<-ctx.Done()
	return transport.Status{}, &transport.Error{Class: transport.ClassCancelled}
}

// TestThousandsOfRequests measures the cost of thousands of requests in flight.
func TestThousandsOfRequests(t *testing.T) {
	const n = 4000
	v := serve(t, func(o *Options) {
		o.Logger = nil
		o.Router = func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
			return still{}
		}
	})
	p, q := v.connect(t), v.connect(t)
	before, goroutines := heap(), runtime.NumGoroutine()
	leases := make([]uint32, n)
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range leases {
			leases[i] = p.id()
			p.send(wire.Dial, leases[i], wire.EncodeDest(&transport.Dest{Host: fmt.Sprint(i)}))
		}
	})
	for range n {
		if f := p.next(); f.Type != wire.Dialed {
			t.Fatalf("frame of type %d", f.Type)
		}
	}
	sending.Wait()
	ids := make([]uint32, n)
	for i, lease := range leases {
		ids[i] = p.start(lease, "true")
	}
	eventually(t, "all are in flight", func() bool { return q.status().InFlight == n })
	each, more := (heap()-before)/n, runtime.NumGoroutine()-goroutines
	t.Logf("%d bytes and %.2f goroutines for each request with its lease", each, float64(more)/n)
	if each > 16<<10 || more > n+n/10 {
		t.Errorf("%d bytes and %d goroutines", each, more)
	}
	sending.Go(func() {
		for _, id := range ids {
			p.send(wire.Cancel, id, (&wire.CancelRequest{}).Encode())
		}
	})
	for range n {
		if f := p.next(); f.Type != wire.Failed {
			t.Fatalf("frame of type %d", f.Type)
		}
	}
	sending.Wait()
}
