package pool

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"bolt/transport"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeNet is a transport.Router to machines that do not exist, for tests of time
// and order. Its fields may be changed between calls.
type fakeNet struct {
	mu       sync.Mutex
	takes    time.Duration             // a dial
	fails    func(host string) error   // a dial
	checks   func(*fakeLink) error     // Check
	runs     func(*fakeLink) error     // at the start of each command
	lingers  time.Duration             // a command that is cancelled
	plain    bool                      // dial no Links
	sessions int                       // sessions that each link reports until the server refuses one
	allows   int                       // sessions that the server allows on each link; 0 for any number
	dialed   []string                  // hosts, in order
	cancels  int                       // dials whose ctx ended
	links    []*fakeLink               // in order
	open     int                       // links
	most     int                       // ever
	onDial   func(ctx context.Context) // before a dial ends
}

func newNet() *fakeNet { return &fakeNet{sessions: 8} }

type fakeRoute struct {
	n    *fakeNet
	host string
	key  string
}

func (n *fakeNet) Route(_ context.Context, to transport.Dest) (transport.Route, error) {
	return fakeRoute{n, to.Host, to.User + "@" + to.Host}, nil
}

func (n *fakeNet) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	r, _ := n.Route(ctx, to)
	return r.Dial(ctx)
}

func (r fakeRoute) Key() string { return r.key }

func (r fakeRoute) Dial(ctx context.Context) (transport.Conn, error) {
	n := r.n
	n.mu.Lock()
	n.dialed = append(n.dialed, r.host)
	takes, fails, onDial := n.takes, n.fails, n.onDial
	n.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			n.mu.Lock()
			n.cancels++
			n.mu.Unlock()
			return nil, &transport.Error{Class: transport.ClassCancelled, Msg: "dial cancelled", Err: context.Cause(ctx)}
		}
	}
	if onDial != nil {
		onDial(ctx)
	}
	if fails != nil {
		if err := fails(r.host); err != nil {
			return nil, err
		}
	}
	k := &fakeLink{n: n, host: r.host, done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links = append(n.links, k)
	n.open++
	n.most = max(n.most, n.open)
	if n.plain {
		return struct{ transport.Conn }{k}, nil
	}
	return k, nil
}

// A fakeLink runs commands whose Line is a duration.
type fakeLink struct {
	n    *fakeNet
	host string
	done chan struct{}
	once sync.Once

	mu      sync.Mutex
	noQueue bool
	refused int // requests that the server has refused a session
	running int
	most    int
	total   int
	checked int
}

func (k *fakeLink) Done() <-chan struct{} { return k.done }

func (k *fakeLink) Check(context.Context) error {
	k.mu.Lock()
	k.checked++
	k.mu.Unlock()
	k.n.mu.Lock()
	checks := k.n.checks
	k.n.mu.Unlock()
	if checks != nil {
		return checks(k)
	}
	return nil
}

func (k *fakeLink) Stats() transport.LinkStats {
	k.n.mu.Lock()
	defer k.n.mu.Unlock()
	told := k.n.sessions
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refused > 0 {
		told = k.n.allows
	}
	return transport.LinkStats{Peer: "me@" + k.host, Sessions: told, Sent: 1, Received: 2}
}

func (k *fakeLink) NoQueue() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noQueue = true
}

func (k *fakeLink) Run(ctx context.Context, c *transport.Cmd) (transport.Status, error) {
	k.n.mu.Lock()
	runs, allows := k.n.runs, k.n.allows
	k.n.mu.Unlock()
	if c.Input != nil {
		_, _ = c.Input.Read(make([]byte, 1))
	}
	if runs != nil {
		if err := runs(k); err != nil {
			return transport.Status{}, err
		}
	}
	k.mu.Lock()
	if k.noQueue && allows > 0 && k.running >= allows {
		k.refused++
		k.mu.Unlock()
		return transport.Status{}, &transport.Error{Class: transport.ClassThrottled, Msg: "refused", Err: transport.ErrSessionsTaken}
	}
	k.running++
	k.most = max(k.most, k.running)
	k.total++
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.running--
		k.mu.Unlock()
	}()
	if c.Line == "" {
		return transport.Status{}, nil
	}
	d, err := time.ParseDuration(c.Line)
	if err != nil {
		return transport.Status{}, err
	}
	select {
	case <-time.After(d):
		return transport.Status{}, nil
	case <-ctx.Done():
		time.Sleep(k.n.lingers)
		return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Msg: "run cancelled", Err: context.Cause(ctx)}
	case <-k.done:
		return transport.Status{}, &transport.Error{Class: transport.ClassLost, Msg: "lost"}
	}
}

func (k *fakeLink) Put(ctx context.Context, _ transport.Tree, _ string, _ transport.FileOptions) error {
	_, err := k.Run(ctx, &transport.Cmd{})
	return err
}

func (k *fakeLink) Get(ctx context.Context, _, _ string, _ transport.FileOptions) error {
	_, err := k.Run(ctx, &transport.Cmd{})
	return err
}

func (k *fakeLink) Archive(ctx context.Context, _ string, to io.Writer, _ transport.FileOptions) error {
	if _, err := k.Run(ctx, &transport.Cmd{}); err != nil {
		return err
	}
	_, err := io.WriteString(to, "tar")
	return err
}

func (k *fakeLink) Close() error {
	k.die()
	return nil
}

// die ends the connection.
func (k *fakeLink) die() {
	k.once.Do(func() {
		k.n.mu.Lock()
		k.n.open--
		k.n.mu.Unlock()
		close(k.done)
	})
}

func (k *fakeLink) gone() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// set changes the fields of the net.
func (n *fakeNet) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *fakeNet) wantDials(t testing.TB, want int) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.dialed) != want {
		t.Fatalf("%d dials %q, want %d", len(n.dialed), n.dialed, want)
	}
}

func (n *fakeNet) wantOpen(t testing.TB, want int) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open != want {
		t.Fatalf("%d connections open, want %d", n.open, want)
	}
}

func host(name string) transport.Dest { return transport.Dest{Host: name} }

func hostN(i int) transport.Dest { return host(fmt.Sprintf("h%d", i)) }

func mustDial(t testing.TB, d transport.Dialer, to transport.Dest) transport.Conn {
	t.Helper()
	c, err := d.Dial(t.Context(), to)
	if err != nil {
		t.Fatalf("dial %s: %v", to.Host, err)
	}
	return c
}

// mustRun runs a command that takes the time d.
func mustRun(t testing.TB, c transport.Conn, d time.Duration) {
	t.Helper()
	if _, err := c.Run(t.Context(), &transport.Cmd{Line: d.String()}); err != nil {
		t.Fatalf("run: %v", err)
	}
}

func wantClass(t testing.TB, err error, class transport.Class) *transport.Error {
	t.Helper()
	if transport.ClassOf(err) != class {
		t.Fatalf("error %v of class %q, want %q", err, transport.ClassOf(err), class)
	}
	e, _ := err.(*transport.Error)
	return e
}
