package client

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bolt/pool/wire"
	"bolt/transport"
)

// A stoppable is a daemon in a bubble that can be stopped (SIGSTOP), with the warnings of its
// client.
type stoppable struct {
	*fake
	stopped  atomic.Bool
	late     chan func()  // its actions when it continues
	warnings chan warning // of the client
	s        *session
	conn     *Conn
}

type warning struct{ id, text string }

func newStoppable(t *testing.T) *stoppable {
	d := &stoppable{late: make(chan func(), 5000), warnings: make(chan warning, 5000)}
	d.fake = bubbleFake(t, func(p *peer, f wire.Frame) bool {
		if !d.stopped.Load() {
			return false
		}
		f.Body = append([]byte(nil), f.Body...)
		d.late <- func() { check(t, p.answer(f)) }
		return true
	})
	near, far := net.Pipe()
	p := d.add(far)
	d.wg.Go(p.serve)
	d.s = newSession(near, wire.NewWriter(steady{near}), wire.NewReader(near), wire.Greeting{PID: 4711},
		func(id, text string) { d.warnings <- warning{id, text} }, New(Options{}).log)
	c := New(Options{})
	c.current, c.sessions = d.s, []*session{d.s}
	d.conn = &Conn{client: c, to: transport.Dest{Host: "web1"}, s: d.s, id: 1}
	return d
}

func (d *stoppable) goOn() {
	d.stopped.Store(false)
	for len(d.late) > 0 {
		(<-d.late)()
	}
}

// warning waits for a warning.
func (d *stoppable) warning() (w warning) {
	select {
	case w = <-d.warnings:
	case <-time.After(time.Hour):
		d.t.Error("no warning")
	}
	return w
}

func (d *stoppable) end() {
	d.conn.client.Close()
	d.hangUp()
	d.wg.Wait()
}

// start runs a command that runs until it is cancelled.
func (d *stoppable) start(ctx context.Context, grace time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := d.conn.Run(ctx, &transport.Cmd{Line: "hang", Grace: grace})
		done <- err
	}()
	return done
}

// TestLongCommand checks that the client waits without limit for a daemon that answers pings,
// and sends pings.
func TestLongCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newStoppable(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := d.start(ctx, 0)
		time.Sleep(time.Hour)
		if n := d.seen(wire.Control); n < 250 || n > 360 || len(d.warnings) > 0 {
			t.Errorf("%d pings, %d warnings", n, len(d.warnings))
		}
		cancel()
		<-done
		before := d.seen(wire.Control)
		time.Sleep(time.Hour)
		synctest.Wait()
		d.s.mu.Lock()
		if n := d.seen(wire.Control) - before; n > 0 || d.s.watch.running {
			t.Errorf("%d pings while nothing waits, timer %v", n, d.s.watch.running)
		}
		d.s.mu.Unlock()
		d.end()
	})
}

// TestStoppedDaemonIsReported checks that the client warns once each time the daemon is
// stopped, and that the work continues after it.
func TestStoppedDaemonIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newStoppable(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := d.start(ctx, 0)
		time.Sleep(time.Minute)
		for range 2 {
			if !d.stopped.CompareAndSwap(false, true) {
				t.Fatal("it is stopped already")
			}
			stopped := time.Now()
			w := d.warning()
			if took := time.Since(stopped); took < 10*time.Second || took > quietTime+pongTime+2*lookEvery {
				t.Errorf("the warning came after %v", took)
			}
			if w.id != "pool_silent" || !strings.Contains(w.text, "(process 4711) has not answered for 20s") || !strings.Contains(w.text, `"kill -CONT 4711"`) {
				t.Errorf("warning: %+v", w)
			}
			time.Sleep(time.Minute)
			if !d.s.silent() || len(d.warnings) > 0 {
				t.Errorf("silent: %v, %d more warnings", d.s.silent(), len(d.warnings))
			}
			d.goOn()
			synctest.Wait()
			if d.s.silent() {
				t.Error("silent after a pong")
			}
			time.Sleep(time.Minute)
		}
		if len(done) > 0 || len(d.warnings) > 0 {
			t.Errorf("%d commands have ended, %d more warnings", len(done), len(d.warnings))
		}
		cancel()
		expectClass(t, <-done, transport.ClassCancelled, "it has ended there")
		d.end()
	})
}

// TestDialToStoppedDaemon checks that the watch covers a dial, but not the wait for the
// daemon's end.
func TestDialToStoppedDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newStoppable(t)
		d.stopped.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { _, err := d.conn.client.Control(ctx, "stop"); done <- err }()
		time.Sleep(time.Hour)
		if d.seen(wire.Control) != 1 || len(d.warnings) > 0 {
			t.Errorf("%d controls, %d warnings", d.seen(wire.Control), len(d.warnings))
		}
		begun := time.Now()
		go func() { _, err := d.conn.client.Dial(ctx, transport.Dest{Host: "web1"}); done <- err }()
		d.warning()
		if took := time.Since(begun); took != quietTime+pongTime {
			t.Errorf("the warning came after %v", took)
		}
		cancel()
		<-done
		<-done
		d.end()
	})
}

// TestCancelWhileStopped checks that a cancelled caller waits for the command's grace, and no
// longer if the daemon is known to be silent.
func TestCancelWhileStopped(t *testing.T) {
	for _, c := range []struct {
		name        string
		after, want time.Duration
	}{
		{"known", 30 * time.Second, 37 * time.Second},
		{"found out meanwhile", 15 * time.Second, 22 * time.Second},
		{"not known", 5 * time.Second, 17 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newStoppable(t)
				d.stopped.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				begun := time.Now()
				done := d.start(ctx, 7*time.Second)
				time.Sleep(c.after)
				cancel()
				expectClass(t, <-done, transport.ClassCancelled, "may still be running there")
				if took := time.Since(begun); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				d.end()
			})
		})
	}
}

// TestBuffers checks that the queue of a request takes a bounded multiple of its data, and that
// buffers are reused.
func TestBuffers(t *testing.T) {
	var b buffers
	r := &request{opens: wire.Run, wake: make(chan struct{}, 1), buffers: &b}
	body := make([]byte, streamPiece)
	for i := range wire.Window / streamPiece {
		kind := wire.Stdout
		if i%2 == 1 {
			kind = wire.Stderr
		}
		check(t, r.take(wire.Frame{Type: kind, ID: 1, Body: body}, false))
	}
	pieces, _ := r.next()
	var room int
	for _, p := range pieces {
		room += cap(p.data)
	}
	if len(pieces) != wire.Window/streamPiece || room > 4*wire.Window {
		t.Errorf("%d pieces with room for %d bytes", len(pieces), room)
	}
	if n := cap(b.get(100)); n > 100 {
		t.Errorf("room for %d bytes for a small piece", n)
	}
	for _, n := range []int{0, 100, 100_000} {
		b.put(make([]byte, n)) // not from the pool: left alone
	}
	if p := b.get(streamPiece); len(p) != 0 || cap(p) != wire.MaxPiece {
		t.Errorf("a buffer of %d, %d", len(p), cap(p))
	}
}
