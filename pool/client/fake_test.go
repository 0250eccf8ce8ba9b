package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
	"go.uber.org/goleak"
)

// listenVariable makes this program listen at a path, under its current user.
const listenVariable = "BOLT_TEST_LISTEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(listenVariable); path != "" {
		l, err := net.Listen("unix", path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("listening")
		io.Copy(io.Discard, os.Stdin)
		l.Close()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, leakedByEvil()...)
}

// leakedByEvil are goroutines of golang.org/x/crypto/ssh that never end if a server
// breaks the protocol and then sends more than sixteen further messages. The reader
// waits for room in a channel, and the other goroutines wait for the reader.
func leakedByEvil() []goleak.Option {
	const in = "golang.org/x/crypto/ssh."
	return []goleak.Option{
		goleak.IgnoreAnyFunction(in + "(*handshakeTransport).readLoop"), goleak.IgnoreAnyFunction(in + "(*handshakeTransport).kexLoop"),
		goleak.IgnoreAnyFunction(in + "(*mux).loop"), goleak.IgnoreAnyFunction(in + "(*mux).Wait"), goleak.IgnoreAnyFunction(in + "(*mux).OpenChannel"),
	}
}

// A fake is a daemon in which a test can handle every frame. It handles the other
// frames like the real daemon, with a machine that echoes.
type fake struct {
	t      testing.TB
	socket string
	// on gets each frame first, and reports whether it has handled it.
	on func(p *peer, f wire.Frame) bool

	l  net.Listener
	wg sync.WaitGroup

	mu       sync.Mutex
	peers    map[*peer]bool
	contents map[wire.Digest][]byte
	frames   map[wire.Type]int
	pieces   int // bytes of contents that arrived
}

// A peer is a client from the fake's point of view.
type peer struct {
	d      *fake
	conn   net.Conn
	w      *wire.Writer
	offers map[uint32]*offered
}

type offered struct {
	wire.OfferRequest
	data []byte
}

// socketPath is short enough for a unix socket, in a directory of its own.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bolt-pc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func newFake(t testing.TB, on func(p *peer, f wire.Frame) bool) *fake {
	t.Helper()
	return newFakeAt(t, socketPath(t), on)
}

func newFakeAt(t testing.TB, socket string, on func(p *peer, f wire.Frame) bool) *fake {
	t.Helper()
	d := &fake{t: t, socket: socket, on: on, peers: make(map[*peer]bool), contents: make(map[wire.Digest][]byte), frames: make(map[wire.Type]int)}
	var err error
	if d.l, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	d.wg.Go(d.accept)
	t.Cleanup(d.kill)
	return d
}

func (d *fake) accept() {
	for {
		conn, err := d.l.Accept()
		if err != nil {
			return
		}
		p := d.add(conn)
		d.wg.Go(func() { p.serve() })
	}
}

func (d *fake) add(conn net.Conn) *peer {
	p := &peer{d: d, conn: conn, w: wire.NewWriter(conn), offers: make(map[uint32]*offered)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers[p] = true
	return p
}

// kill ends the fake as SIGKILL would.
func (d *fake) kill() {
	d.l.Close()
	d.hangUp()
	d.wg.Wait()
}

func (d *fake) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.peers {
		p.conn.Close()
	}
}

func (d *fake) seen(t wire.Type) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.frames[t]
}

func (p *peer) serve() {
	defer p.conn.Close()
	r := wire.NewReader(p.conn)
	for {
		f, err := r.Next()
		if err != nil {
			return
		}
		p.d.mu.Lock()
		p.d.frames[f.Type]++
		p.d.mu.Unlock()
		if p.d.on != nil && p.d.on(p, f) {
			continue
		}
		if err := p.answer(f); err != nil {
			p.d.t.Errorf("frame of type %d: %v", f.Type, err)
			return
		}
	}
}

// answer answers as the daemon would.
func (p *peer) answer(f wire.Frame) error {
	switch f.Type {
	case wire.Hello:
		if _, err := wire.DecodeGreeting(f.Body); err != nil {
			return err
		}
		p.send(wire.Welcome, 0, (&wire.Greeting{Version: wire.Version, Build: "fake", PID: os.Getpid()}).Encode())
	case wire.Dial:
		p.send(wire.Dialed, f.ID, nil)
	case wire.Run:
		r, err := wire.DecodeRun(f.Body)
		if err != nil {
			return err
		}
		p.run(f.ID, r)
	case wire.Put:
		r, err := wire.DecodePut(f.Body)
		if err != nil {
			return err
		}
		if p.content(r.Tree) == nil {
			p.fail(f.ID, transport.ClassFile, "no such content")
			return nil
		}
		p.send(wire.Finished, f.ID, nil)
	case wire.Offer, wire.Piece, wire.End:
		return p.offer(f)
	case wire.Control:
		p.send(wire.Reply, f.ID, f.Body)
		p.send(wire.Reply, f.ID, nil)
	case wire.Cancel:
		p.fail(f.ID, transport.ClassCancelled, "cancelled; it has ended there")
	}
	return nil
}

// run echoes files and stdin, or the line. A line "hang" never ends.
func (p *peer) run(id uint32, r *wire.RunRequest) {
	out := []byte(r.Cmd.Line)
	for _, f := range append(r.Files, r.Stdin)[:len(r.Files)+btoi(r.HasStdin)] {
		data := p.content(f.Data)
		if int64(len(data)) != f.Size {
			p.fail(id, transport.ClassBootstrap, "no such content")
			return
		}
		out = append(out, data...)
	}
	if r.Cmd.Line == "hang" {
		return
	}
	out = out[:min(len(out), wire.MaxPiece)] // the tests check no more than that
	for len(out) > 0 {
		n := min(len(out), 10_000)
		p.send(wire.Stdout, id, out[:n])
		out = out[n:]
	}
	p.send(wire.Exited, id, wire.EncodeStatus(transport.Status{}))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *peer) content(d wire.Digest) []byte {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.d.contents[d]
}

func (p *peer) offer(f wire.Frame) error {
	o := p.offers[f.ID]
	switch f.Type {
	case wire.Offer:
		r, err := wire.DecodeOffer(f.Body)
		if err != nil {
			return err
		}
		p.offers[f.ID] = &offered{OfferRequest: *r}
		if !r.Pushed && p.content(r.Content) != nil {
			p.send(wire.Had, f.ID, nil)
		} else if !r.Pushed {
			p.send(wire.Wanted, f.ID, nil)
		}
	case wire.Piece:
		if len(f.Body) == 0 || len(f.Body) > wire.MaxPiece {
			return fmt.Errorf("piece of %d bytes", len(f.Body))
		}
		o.data = append(o.data, f.Body...)
		p.d.mu.Lock()
		p.d.pieces += len(f.Body)
		p.d.mu.Unlock()
	case wire.End:
		if int64(len(o.data)) != o.Size {
			return fmt.Errorf("%d bytes were announced, %d came", o.Size, len(o.data))
		}
		p.d.mu.Lock()
		p.d.contents[o.Content] = append([]byte{}, o.data...)
		p.d.mu.Unlock()
		p.send(wire.Finished, f.ID, nil)
	}
	return nil
}

// send ignores errors if the client has disconnected.
func (p *peer) send(t wire.Type, id uint32, body []byte) { _ = p.w.Send(t, id, body) }

func (p *peer) fail(id uint32, class transport.Class, msg string) {
	p.send(wire.Failed, id, wire.EncodeError(&transport.Error{Class: class, Msg: msg}))
}

// newClient returns a client of a socket, which is closed at the end of the test.
func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustDial(t testing.TB, c *Client) transport.Conn {
	t.Helper()
	conn, err := c.Dial(testContext(t), transport.Dest{Protocol: "ssh", Host: "web1"})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// say runs a command that the fake echoes.
func say(t testing.TB, conn transport.Conn, text string) {
	t.Helper()
	var out strings.Builder
	if st, err := conn.Run(testContext(t), &transport.Cmd{Line: text, Stdout: &out}); err != nil || !st.OK() || out.String() != text {
		t.Errorf("said %q: got %q, %v, %v", text, out.String(), st, err)
	}
}

func expectClass(t testing.TB, err error, class transport.Class, words ...string) {
	t.Helper()
	if transport.ClassOf(err) != class {
		t.Errorf("got class %q (%v), want %q", transport.ClassOf(err), err, class)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

// asNobody returns the attributes of a process of another user.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
