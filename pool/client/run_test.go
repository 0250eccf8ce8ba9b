package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

// stream records its writes together with its name.
type stream struct {
	to   *bytes.Buffer
	name string
}

func (s stream) Write(p []byte) (int, error) {
	fmt.Fprintf(s.to, "%s(%s)", s.name, p)
	return len(p), nil
}

func TestRunDelivers(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type != wire.Run {
			return false
		}
		p.send(wire.Stdout, f.ID, []byte("a"))
		p.send(wire.Stderr, f.ID, []byte("b"))
		p.send(wire.Stdout, f.ID, []byte("c"))
		p.send(wire.Exited, f.ID, wire.EncodeStatus(transport.Status{Code: -1, Signal: "KILL"}))
		return true
	})
	conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
	var all bytes.Buffer
	st, err := conn.Run(testContext(t), &transport.Cmd{Line: "x", Stdout: stream{&all, "out"}, Stderr: stream{&all, "err"}})
	if err != nil || st != (transport.Status{Code: -1, Signal: "KILL"}) || all.String() != "out(a)err(b)out(c)" {
		t.Errorf("got %+v, %v, %s", st, err, all.String())
	}
	if _, err := conn.Run(testContext(t), &transport.Cmd{Line: "x"}); err != nil {
		t.Errorf("without sinks: %v", err)
	}
}

// TestOutputWindow checks that the daemon gets credit when output was read, and that a
// blocked sink does not block others.
func TestOutputWindow(t *testing.T) {
	const total = 4 << 20
	d := newFake(t, nil)
	var mu sync.Mutex
	open := map[uint32]int{} // bytes that may be sent, by request
	left := map[uint32]int{}
	flow := func(p *peer, id uint32) {
		for open[id] > 0 && left[id] > 0 {
			n := min(wire.MaxPiece, open[id], left[id])
			p.send(wire.Stdout, id, make([]byte, n))
			open[id] -= n
			left[id] -= n
		}
		if left[id] == 0 {
			p.send(wire.Exited, id, wire.EncodeStatus(transport.Status{}))
		}
	}
	d.on = func(p *peer, f wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		switch f.Type {
		case wire.Run:
			if r, err := wire.DecodeRun(f.Body); err != nil || r.Cmd.Line != "flood" {
				return false
			}
			open[f.ID], left[f.ID] = wire.Window, total
		case wire.Credit:
			n, err := wire.DecodeCredit(f.Body)
			if err != nil || n < wire.Window/2 {
				t.Errorf("credit for %d bytes, %v", n, err)
			}
			open[f.ID] += n
		default:
			return false
		}
		flow(p, f.ID)
		return true
	}
	c := newClient(t, Options{Socket: d.socket})
	conn := mustDial(t, c)
	var got atomic.Int64
	stuck, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		first := sync.OnceFunc(func() { close(stuck); <-free })
		st, err := conn.Run(testContext(t), &transport.Cmd{Line: "flood", Stdout: writerFunc(func(p []byte) (int, error) {
			first()
			got.Add(int64(len(p)))
			return len(p), nil
		})})
		if err != nil || !st.OK() {
			t.Errorf("%v, %v", st, err)
		}
	})
	<-stuck
	say(t, conn, "hello")
	close(free)
	wg.Wait()
	if got.Load() != total {
		t.Errorf("%d of %d bytes", got.Load(), total)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSmallPieces checks that output printed byte by byte is not stored byte by byte while
// its sink is slow.
func TestSmallPieces(t *testing.T) {
	r := &request{opens: wire.Run, wake: make(chan struct{}, 1), buffers: new(buffers)}
	for i := range wire.Window {
		if err := r.take(wire.Frame{Type: wire.Stdout, ID: 1, Body: []byte{byte(i)}}, false); err != nil {
			t.Fatal(err)
		}
	}
	pieces, _ := r.next()
	if len(pieces) != wire.Window/wire.MaxPiece {
		t.Errorf("%d pieces", len(pieces))
	}
	if err := r.take(wire.Frame{Type: wire.Stdout, ID: 1, Body: []byte{0}}, false); err == nil {
		t.Error("a byte beyond the window was taken")
	}
}

func TestCancel(t *testing.T) {
	cases := []struct {
		name    string
		end     func(ctx context.Context) (context.Context, context.CancelFunc)
		timeout bool
		class   transport.Class
	}{
		{"cancelled", context.WithCancel, false, transport.ClassCancelled},
		{"out of time", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		}, true, transport.ClassTimeout},
		{"out of time by its cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(fmt.Errorf("the run: %w", context.DeadlineExceeded)) }
		}, true, transport.ClassTimeout},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			running := make(chan struct{}, 1)
			d := newFake(t, func(p *peer, f wire.Frame) bool {
				switch f.Type {
				case wire.Run:
					running <- struct{}{}
				case wire.Cancel:
					r, err := wire.DecodeCancel(f.Body)
					if err != nil || r.Timeout != c.timeout {
						t.Errorf("%+v, %v", r, err)
					}
					p.fail(f.ID, c.class, "it has ended there")
					return true
				}
				return false
			})
			ctx, cancel := c.end(testContext(t))
			defer cancel()
			conn := mustDial(t, newClient(t, Options{Socket: d.socket}))
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := conn.Run(ctx, &transport.Cmd{Line: "hang"})
				expectClass(t, err, c.class, "it has ended there")
				if !errors.Is(err, context.Cause(ctx)) {
					t.Errorf("the cause is not in %v", err)
				}
			})
			<-running
			if !c.timeout || strings.Contains(c.name, "cause") {
				cancel()
			}
			wg.Wait()
		})
	}
}

// TestCancelBehindSink checks that a blocked sink does not keep the command running.
func TestCancelBehindSink(t *testing.T) {
	cancelled := make(chan struct{})
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		switch f.Type {
		case wire.Run:
			p.send(wire.Stdout, f.ID, []byte("x"))
			return true
		case wire.Cancel:
			close(cancelled)
		}
		return false
	})
	ctx, cancel := context.WithCancel(testContext(t))
	_, err := mustDial(t, newClient(t, Options{Socket: d.socket})).Run(ctx, &transport.Cmd{Line: "hang",
		Stdout: writerFunc(func(p []byte) (int, error) {
			cancel()
			<-cancelled
			return len(p), nil
		})})
	expectClass(t, err, transport.ClassCancelled)
}

// TestEndedContext checks that nothing is sent if ctx has ended.
func TestEndedContext(t *testing.T) {
	d := newFake(t, nil)
	c := newClient(t, Options{Socket: d.socket})
	conn := mustDial(t, c)
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	dir := t.TempDir()
	_, err := conn.Run(ctx, &transport.Cmd{Line: "x"})
	expectClass(t, err, transport.ClassCancelled, "before it started")
	expectClass(t, conn.Put(ctx, transport.Tree{Path: dir}, "/x", transport.FileOptions{}), transport.ClassCancelled, "before it started")
	expectClass(t, conn.Get(ctx, "/x", dir+"/new", transport.FileOptions{}), transport.ClassCancelled, "before it started")
	if _, err := os.Stat(dir + "/new"); err == nil {
		t.Error("the download's directory was made")
	}
	_, err = c.Dial(ctx, transport.Dest{Host: "web2"})
	expectClass(t, err, transport.ClassCancelled, "web2")
	say(t, conn, "hello")
	for typ, want := range map[wire.Type]int{wire.Dial: 1, wire.Run: 1, wire.Put: 0, wire.Get: 0, wire.Offer: 0} {
		if n := d.seen(typ); n != want {
			t.Errorf("%d frames of type %d, want %d", n, typ, want)
		}
	}
}

func TestSinkError(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Run {
			p.send(wire.Stdout, f.ID, []byte("x"))
			p.send(wire.Stdout, f.ID, []byte("y"))
		}
		return f.Type == wire.Run
	})
	full := errors.New("disk full")
	var calls int
	_, err := mustDial(t, newClient(t, Options{Socket: d.socket})).Run(testContext(t), &transport.Cmd{Line: "hang", Label: "db1",
		Stdout: writerFunc(func([]byte) (int, error) { calls++; return 0, full })})
	expectClass(t, err, transport.ClassCancelled, "command on db1 was ended because its output could not be stored: disk full")
	if !errors.Is(err, full) || calls != 1 || d.seen(wire.Cancel) != 1 {
		t.Errorf("%d calls, %d cancels, %v", calls, d.seen(wire.Cancel), err)
	}
}

// pipeSession returns a session over a net.Pipe, for bubbles of synctest, with a Conn on it.
func pipeSession(d *fake) (*session, *Conn) {
	near, far := net.Pipe()
	p := d.add(far)
	d.wg.Go(func() { p.serve() })
	s := newSession(near, wire.NewWriter(steady{near}), wire.NewReader(near), wire.Greeting{}, nil, New(Options{}).log)
	c := New(Options{})
	c.current, c.sessions = s, []*session{s}
	return s, &Conn{client: c, to: transport.Dest{Host: "web1"}, s: s, id: 1}
}

func bubbleFake(t *testing.T, on func(p *peer, f wire.Frame) bool) *fake {
	return &fake{t: t, on: on, peers: make(map[*peer]bool), contents: make(map[wire.Digest][]byte), frames: make(map[wire.Type]int)}
}

// TestNoAnswerToCancel checks that the wait for a daemon that does not answer is bounded,
// and that its late frames do no harm.
func TestNoAnswerToCancel(t *testing.T) {
	for _, name := range []string{"cancel", "sink"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var run atomic.Uint32
				d := bubbleFake(t, func(p *peer, f wire.Frame) bool {
					if f.Type == wire.Run {
						if r, err := wire.DecodeRun(f.Body); err != nil || r.Cmd.Line != "hang" {
							return false
						}
						run.Store(f.ID)
						p.send(wire.Stdout, f.ID, []byte("x"))
						return true
					}
					return f.Type == wire.Cancel
				})
				s, conn := pipeSession(d)
				ctx, cancel := context.WithCancel(t.Context())
				cmd := transport.Cmd{Line: "hang", Grace: 7 * time.Second}
				if name == "sink" {
					cmd.Stdout = writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
				} else {
					time.AfterFunc(time.Second, cancel)
				}
				begun := time.Now()
				_, err := conn.Run(ctx, &cmd)
				cancel()
				expectClass(t, err, transport.ClassCancelled, "may still be running there")
				if took := time.Since(begun).Truncate(time.Second); took != 12*time.Second && took != 13*time.Second {
					t.Errorf("it took %v", took)
				}
				for p := range d.peers {
					p.send(wire.Stdout, run.Load(), []byte("late"))
					p.send(wire.Exited, run.Load(), wire.EncodeStatus(transport.Status{}))
				}
				say(t, conn, "hello")
				if len(s.requests) != 0 {
					t.Errorf("%d requests are remembered", len(s.requests))
				}
				conn.client.Close()
				d.hangUp()
				d.wg.Wait()
			})
		})
	}
}

// TestDaemonThatDoesNotRead checks that the client leaves a daemon that does not read within
// a defined time. That daemon has not seen the request, so another daemon gets it, if there
// is one.
func TestDaemonThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := newSession(near, wire.NewWriter(steady{near}), wire.NewReader(near), wire.Greeting{}, nil, New(Options{}).log)
		c := New(Options{Socket: "/nonexistent/socket"})
		c.current, c.sessions = s, []*session{s}
		begun := time.Now()
		_, err := (&Conn{client: c, to: transport.Dest{Host: "web1"}, s: s, id: 1}).Run(t.Context(), &transport.Cmd{Line: "x"})
		expectClass(t, err, transport.ClassConnect, "none is running")
		if took := time.Since(begun); took != stallTime {
			t.Errorf("it took %v", took)
		}
		c.Close()
		far.Close()
	})
}

// TestWorkIsLostWithDaemon checks that requests that were sent are lost with the daemon, and
// that other requests go to the next daemon.
func TestWorkIsLostWithDaemon(t *testing.T) {
	socket := socketPath(t)
	var starts atomic.Int32
	start := func(context.Context) error {
		starts.Add(1)
		newFakeAt(t, socket, nil)
		return nil
	}
	first := newFakeAt(t, socket, func(p *peer, f wire.Frame) bool { return f.Type == wire.Put || f.Type == wire.Get })
	c := newClient(t, Options{Socket: socket, Start: start})
	file := t.TempDir() + "/file"
	check(t, os.WriteFile(file, []byte("text"), 0o600))
	var wg sync.WaitGroup
	conns := make([]transport.Conn, 60)
	for i := range conns {
		conns[i] = mustDial(t, c)
		wg.Go(func() {
			var err error
			switch i % 3 {
			case 0:
				_, err = conns[i].Run(testContext(t), &transport.Cmd{Line: "hang"})
			case 1:
				err = conns[i].Put(testContext(t), transport.Tree{Path: file}, "/x", transport.FileOptions{})
			case 2:
				err = conns[i].Get(testContext(t), "/x", t.TempDir(), transport.FileOptions{})
			}
			expectClass(t, err, transport.ClassLost, "web1", "outcome is unknown", "bolt pool logs")
		})
	}
	eventually(t, "all are under way", func() bool {
		return first.seen(wire.Run)+first.seen(wire.Put)+first.seen(wire.Get) == len(conns)
	})
	first.kill()
	wg.Wait()
	for _, conn := range conns {
		wg.Go(func() {
			say(t, conn, "hello")
			conn.Close()
		})
		wg.Go(func() { mustDialAsync(t, c) })
	}
	wg.Wait()
	if n := starts.Load(); n != 1 {
		t.Errorf("%d daemons were started", n)
	}
}

// TestDialGivesUpIfDaemonsDie checks that a dial fails after several daemons have died.
func TestDialGivesUpIfDaemonsDie(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Dial {
			p.conn.Close()
		}
		return f.Type == wire.Dial
	})
	_, err := newClient(t, Options{Socket: d.socket}).Dial(testContext(t), transport.Dest{Host: "web1"})
	expectClass(t, err, transport.ClassConnect, "web1", "it closed the connection")
	if n := d.seen(wire.Dial); n != maxSessions {
		t.Errorf("%d dials, want %d", n, maxSessions)
	}
}

func TestCloseEndsWork(t *testing.T) {
	d := newFake(t, nil)
	c := newClient(t, Options{Socket: d.socket})
	conn := mustDial(t, c)
	check(t, conn.Close())
	check(t, conn.Close())
	_, err := conn.Run(testContext(t), &transport.Cmd{Line: "x"})
	expectClass(t, err, transport.ClassConnect, "closed")
	eventually(t, "the lease is given back", func() bool { return d.seen(wire.Release) == 1 })

	conn = mustDial(t, c)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := conn.Run(testContext(t), &transport.Cmd{Line: "hang"})
		expectClass(t, err, transport.ClassLost, "was closed")
	})
	eventually(t, "the command runs", func() bool { return d.seen(wire.Run) == 1 })
	check(t, c.Close())
	wg.Wait()
}

// TestCloseBeforeRunIsSent checks that no request names a closed lease, because that would
// end the session and the work of other callers.
func TestCloseBeforeRunIsSent(t *testing.T) {
	var conn transport.Conn
	d := newFake(t, func(_ *peer, f wire.Frame) bool {
		if f.Type == wire.Offer {
			check(t, conn.Close())
		}
		return false
	})
	conn = mustDial(t, newClient(t, Options{Socket: d.socket}))
	_, err := conn.Run(testContext(t), &transport.Cmd{Line: "cat", Stdin: make([]byte, wire.MaxPushed+1)})
	expectClass(t, err, transport.ClassConnect, "closed on this side")
	if d.seen(wire.Release) != 1 || d.seen(wire.Run) != 0 {
		t.Errorf("%d releases, %d commands", d.seen(wire.Release), d.seen(wire.Run))
	}
}

func TestTooLarge(t *testing.T) {
	d := newFake(t, nil)
	c := newClient(t, Options{Socket: d.socket})
	huge := strings.Repeat("x", wire.MaxFrame+1)
	_, err := mustDial(t, c).Run(testContext(t), &transport.Cmd{Line: huge})
	expectClass(t, err, transport.ClassUnsupported, "command for web1")
	_, err = c.Dial(testContext(t), transport.Dest{Host: "web1", ProxyJump: huge})
	expectClass(t, err, transport.ClassUnsupported, "destination")
}

func TestWarnings(t *testing.T) {
	d := newFake(t, func(p *peer, f wire.Frame) bool {
		if f.Type == wire.Dial {
			for i := range 2 * maxWarnings {
				p.send(wire.Warned, 0, (&wire.Warning{ID: "id", Text: fmt.Sprint(i)}).Encode())
			}
		}
		return false
	})
	release := make(chan struct{})
	var got []string
	c := newClient(t, Options{Socket: d.socket, Warn: func(id, text string) {
		<-release // nothing else waits for it
		got = append(got, id+" "+text)
	}})
	say(t, mustDial(t, c), "hello")
	close(release)
	check(t, c.Close())
	if len(got) < maxWarnings || got[0] != "id 0" || got[9] != "id 9" {
		t.Errorf("%d warnings, %.20q …", len(got), got)
	}
}
