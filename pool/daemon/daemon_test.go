package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bolt/pool"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/local"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience ends a test that hangs.
const patience = time.Minute

// here is a Router to this machine: each host name is a separate connection.
type here struct {
	dialer *local.Dialer
	dials  atomic.Int32
	// before, if not nil, is called by each Dial.
	before func(ctx context.Context, to transport.Dest) error
}

func newHere() *here { return &here{dialer: local.NewDialer(local.Options{})} }

func (h *here) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	return (&hereRoute{h, to}).Dial(ctx)
}

func (h *here) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return &hereRoute{h, to}, nil
}

type hereRoute struct {
	h  *here
	to transport.Dest
}

func (r *hereRoute) Key() string { return r.to.Host }

func (r *hereRoute) Dial(ctx context.Context) (transport.Conn, error) {
	if r.h.before != nil {
		if err := r.h.before(ctx, r.to); err != nil {
			return nil, err
		}
	}
	c, err := r.h.dialer.Dial(ctx, r.to)
	if err != nil {
		return nil, err
	}
	r.h.dials.Add(1)
	return &hereLink{Conn: c, name: r.to.Host, done: make(chan struct{})}, nil
}

type hereLink struct {
	transport.Conn
	name  string
	done  chan struct{}
	close sync.Once
}

func (l *hereLink) Close() error {
	defer l.close.Do(func() { close(l.done) })
	return l.Conn.Close()
}
func (l *hereLink) Done() <-chan struct{}       { return l.done }
func (l *hereLink) Check(context.Context) error { return nil }
func (l *hereLink) Stats() transport.LinkStats {
	return transport.LinkStats{Peer: l.name, Sessions: 1000, Sent: 1, Received: 2}
}
func (l *hereLink) Archive(_ context.Context, _ string, to io.Writer, _ transport.FileOptions) error {
	_, err := to.Write(bytes.Repeat([]byte("tar"), 100_000))
	return err
}

// served is a running Server.
type served struct {
	*Server
	pool   *pool.Pool
	router *here
	end    context.CancelFunc
	done   chan struct{}
	err    error // of Run, when done is closed
	log    *logBuffer
}

// logBuffer contains the server's log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve starts a server that ends with the test.
func serve(t testing.TB, change func(*Options)) *served {
	t.Helper()
	v := &served{router: newHere(), done: make(chan struct{}), log: &logBuffer{}}
	v.pool = pool.New(v.router, pool.Options{})
	o := Options{
		Socket: filepath.Join(t.TempDir(), "d", "sock"), Pool: v.pool, Build: "1.0-test", Made: 100,
		Router: func(_ wire.Caller, _ func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
			return v.router
		},
		ContentDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	v.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	v.end = cancel
	go func() {
		defer close(v.done)
		v.err = s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		v.wait(t)
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", v.log)
		}
	})
	return v
}

// wait waits until the server has ended.
func (v *served) wait(t testing.TB) {
	t.Helper()
	select {
	case <-v.done:
		if v.err != nil {
			t.Errorf("Run: %v", v.err)
		}
	case <-time.After(patience):
		t.Fatal("the daemon does not end")
	}
}

// peer is a client.
type peer struct {
	t      testing.TB
	conn   net.Conn
	frames *wire.Reader
	w      *wire.Writer
	last   uint32 // ID
}

// connect connects and greets.
func (v *served) connect(t testing.TB) *peer {
	t.Helper()
	p := v.socketOnly(t)
	p.hello(wire.Greeting{Version: wire.Version, Build: "1.0-test", Made: 100})
	p.expect(wire.Welcome, 0)
	return p
}

// socketOnly connects and does not greet.
func (v *served) socketOnly(t testing.TB) *peer {
	t.Helper()
	conn, err := net.Dial("unix", v.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, conn: conn, frames: wire.NewReader(conn), w: wire.NewWriter(conn)}
}

func (p *peer) hello(g wire.Greeting) {
	p.t.Helper()
	p.send(wire.Hello, 0, g.Encode())
}

func (p *peer) id() uint32 {
	p.last++
	return p.last
}

func (p *peer) send(kind wire.Type, id uint32, body []byte) {
	p.t.Helper()
	if err := p.w.Send(kind, id, body); err != nil {
		p.t.Fatalf("send a frame of type %d: %v", kind, err)
	}
}

// next returns the next frame; its body is a copy.
func (p *peer) next() wire.Frame {
	p.t.Helper()
	f, err := p.frames.Next()
	if err != nil {
		p.t.Fatalf("next frame: %v", err)
	}
	f.Body = bytes.Clone(f.Body)
	return f
}

// expect returns the body of the next frame, which must have this type and ID.
func (p *peer) expect(kind wire.Type, id uint32) []byte {
	p.t.Helper()
	f := p.next()
	if f.Type != kind || f.ID != id {
		text := ""
		if f.Type == wire.Failed {
			text = fmt.Sprint(failure(p.t, f))
		}
		p.t.Fatalf("frame of type %d for %d, want %d for %d %s", f.Type, f.ID, kind, id, text)
	}
	return f.Body
}

// failed returns the error of the next frame.
func (p *peer) failed(id uint32) *transport.Error {
	p.t.Helper()
	return failure(p.t, wire.Frame{Body: p.expect(wire.Failed, id)})
}

func failure(t testing.TB, f wire.Frame) *transport.Error {
	t.Helper()
	e, err := wire.DecodeError(f.Body)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// closed checks that the daemon closes the connection, possibly after further
// frames.
func (p *peer) closed() {
	p.t.Helper()
	for {
		f, err := p.frames.Next()
		if err == nil {
			continue
		}
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			p.t.Fatalf("the daemon keeps the connection open (last frame %+v)", f)
		}
		return
	}
}

// dial opens a lease.
func (p *peer) dial(host string) uint32 {
	p.t.Helper()
	id := p.id()
	p.send(wire.Dial, id, wire.EncodeDest(&transport.Dest{Host: host}))
	p.expect(wire.Dialed, id)
	return id
}

// start starts a command.
func (p *peer) start(lease uint32, line string) uint32 {
	p.t.Helper()
	id := p.id()
	q := wire.RunRequest{Lease: lease, Cmd: transport.Cmd{Line: line}}
	p.send(wire.Run, id, q.Encode())
	return id
}

// finish collects a command's output, and its status or error.
func (p *peer) finish(id uint32) (stdout, stderr string, status transport.Status, err error) {
	p.t.Helper()
	var out, errs bytes.Buffer
	for {
		f := p.next()
		if f.ID != id {
			p.t.Fatalf("frame of type %d for %d, want one for %d", f.Type, f.ID, id)
		}
		switch f.Type {
		case wire.Stdout:
			out.Write(f.Body)
		case wire.Stderr:
			errs.Write(f.Body)
		case wire.Exited:
			if status, err = wire.DecodeStatus(f.Body); err != nil {
				p.t.Fatal(err)
			}
			return out.String(), errs.String(), status, nil
		case wire.Failed:
			return out.String(), errs.String(), status, failure(p.t, f)
		default:
			p.t.Fatalf("frame of type %d", f.Type)
		}
		if len(f.Body) > wire.MaxPiece || len(f.Body) == 0 {
			p.t.Fatalf("a piece of %d bytes", len(f.Body))
		}
		p.send(wire.Credit, id, wire.EncodeCredit(len(f.Body)))
	}
}

// control sends a control and returns the reply.
func (p *peer) control(word string) []byte {
	p.t.Helper()
	id := p.id()
	p.send(wire.Control, id, []byte(word))
	var all []byte
	for {
		b := p.expect(wire.Reply, id)
		if len(b) == 0 {
			return all
		}
		all = append(all, b...)
	}
}

func (p *peer) status() *wire.Status {
	p.t.Helper()
	var st wire.Status
	if err := json.Unmarshal(p.control("status"), &st); err != nil {
		p.t.Fatal(err)
	}
	return &st
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestRunOnAWarmConnection(t *testing.T) {
	v := serve(t, nil)
	for range 3 {
		p := v.connect(t)
		lease := p.dial("a")
		out, errs, st, err := p.finish(p.start(lease, "echo out; echo err >&2; exit 3"))
		if out != "out\n" || errs != "err\n" || st.Code != 3 || err != nil {
			t.Errorf("got %q, %q, %v, %v", out, errs, st, err)
		}
		p.send(wire.Release, lease, nil)
		p.conn.Close()
	}
	if n := v.router.dials.Load(); n != 1 {
		t.Errorf("%d dials for three clients", n)
	}
}
