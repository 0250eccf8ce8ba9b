package pool

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/transport"
)

func TestIdleTimeout(t *testing.T) {
	inBubble(t, Options{IdleTimeout: time.Minute}, func(t *testing.T, n *fakeNet, p *Pool) {
		a, b := mustDial(t, p, host("a")), mustDial(t, p, host("b"))
		a.Close()
		time.Sleep(30 * time.Second)
		b.Close()
		held := mustDial(t, p, host("c"))
		sleepTo := func(d time.Duration, open int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			n.wantOpen(t, open)
		}
		sleepTo(30*time.Second-1, 3)
		sleepTo(1, 2)
		sleepTo(30*time.Second-1, 2)
		sleepTo(1, 1)
		sleepTo(time.Hour, 1) // leased connections are not idle
		mustRun(t, held, time.Hour)
		held.Close()
		sleepTo(59*time.Second, 1)
		mustDial(t, p, host("c")).Close() // used again
		sleepTo(59*time.Second, 1)
		sleepTo(time.Second, 0)
		n.wantDials(t, 3)
	})
}

// TestJanitorSleeps checks that the janitor only wakes to close connections.
func TestJanitorSleeps(t *testing.T) {
	inBubble(t, Options{IdleTimeout: 10 * time.Minute, MaxAge: 2 * time.Hour}, func(t *testing.T, n *fakeNet, p *Pool) {
		armed := func() time.Duration {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.idle.armed.IsZero() {
				return 0
			}
			return time.Until(p.idle.armed)
		}
		if d := armed(); d != 0 {
			t.Errorf("an empty pool wakes in %v", d)
		}
		c := mustDial(t, p, host("a"))
		if d := armed(); d != 2*time.Hour {
			t.Errorf("with a busy connection it wakes in %v, want at its age", d)
		}
		c.Close()
		for range 5 { // use does not move the alarm, only its effect
			time.Sleep(time.Minute)
			mustDial(t, p, host("a")).Close()
		}
		if d := armed(); d != 5*time.Minute {
			t.Errorf("it wakes in %v, want 5m", d)
		}
		time.Sleep(5 * time.Minute)
		if d := armed(); d != 5*time.Minute {
			t.Errorf("it wakes in %v, want 5m", d)
		}
		time.Sleep(5 * time.Minute)
		if d := armed(); d != 0 {
			t.Errorf("an empty pool wakes in %v", d)
		}
		n.wantOpen(t, 0)
	})
}

func TestMaxAge(t *testing.T) {
	inBubble(t, Options{MaxAge: time.Minute, IdleTimeout: time.Hour}, func(t *testing.T, n *fakeNet, p *Pool) {
		mustDial(t, p, host("idle")).Close()
		c := mustDial(t, p, host("busy"))
		var work sync.WaitGroup
		work.Go(func() { mustRun(t, c, 2*time.Minute) })
		time.Sleep(time.Minute)
		synctest.Wait()
		n.wantOpen(t, 1)
		if got := p.Connections(); len(got) != 1 || got[0].State != Closing {
			t.Errorf("connections %+v, want one that is closing", got)
		}
		mustDial(t, p, host("busy")).Close() // a new connection
		n.wantDials(t, 3)
		mustRun(t, c, 0) // on the new connection, too
		if n.links[2].total != 1 {
			t.Error("a connection that is too old got something new")
		}
		work.Wait()
		synctest.Wait()
		if !n.links[1].gone() {
			t.Error("kept after its last use")
		}
		c.Close()
	})
}

func TestMaxConnections(t *testing.T) {
	inBubble(t, Options{MaxConnections: 3}, func(t *testing.T, n *fakeNet, p *Pool) {
		for i := range 3 {
			mustDial(t, p, hostN(i)).Close()
			time.Sleep(time.Second)
		}
		mustDial(t, p, hostN(0)).Close() // now h1 is the least recently used one
		c := mustDial(t, p, hostN(3))
		if !n.links[1].gone() || n.open != 3 {
			t.Errorf("open: %d; the least recently used one is closed: %v", n.open, n.links[1].gone())
		}
		d, e := mustDial(t, p, hostN(4)), mustDial(t, p, hostN(5))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Dial(ctx, hostN(6)) // all connections are busy
		wantClass(t, err, transport.ClassTimeout)
		var work sync.WaitGroup
		work.Go(func() { mustDial(t, p, hostN(7)).Close() })
		synctest.Wait()
		n.wantDials(t, 6)
		before := time.Now()
		d.Close()
		work.Wait()
		n.wantDials(t, 7)
		if waited := time.Since(before); waited != 0 {
			t.Errorf("the room of a connection that fell idle was given away after %v", waited)
		}
		c.Close()
		e.Close()
		if n.most != 3 {
			t.Errorf("%d connections at a time, want 3", n.most)
		}
	})
}

// TestExtraConnectionsGoFirst checks that a peer's second connection is closed before another
// peer's only one.
func TestExtraConnectionsGoFirst(t *testing.T) {
	inBubble(t, Options{MaxConnections: 3}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 1, time.Second
		mustDial(t, p, host("only")).Close()
		conn := mustDial(t, p, host("two"))
		twoAtOnce(t, conn)
		conn.Close()
		n.wantOpen(t, 3)
		c := mustDial(t, p, host("another"))
		if n.links[0].gone() || n.links[1].gone() || !n.links[2].gone() {
			t.Error("another one than the second of a peer was closed")
		}
		c.Close()
	})
}

// twoAtOnce runs two commands on a connection with one session, which requires another
// connection.
func twoAtOnce(t *testing.T, c transport.Conn) {
	t.Helper()
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() { mustRun(t, c, 10*time.Second) })
	}
	work.Wait()
}

// TestSecondConnectionBecomesFirst checks that a second connection is kept as the first when the
// first has ended.
func TestSecondConnectionBecomesFirst(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 1, time.Second
		conn := mustDial(t, p, host("a"))
		twoAtOnce(t, conn)
		conn.Close()
		n.links[0].die()
		time.Sleep(DefaultIdleTimeout - time.Second)
		synctest.Wait()
		n.wantOpen(t, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		n.wantOpen(t, 0)
	})
}

// TestOldConnectionIsNotUsed checks that a connection that is too old gets no new work, even
// before the janitor closes it.
func TestOldConnectionIsNotUsed(t *testing.T) {
	inBubble(t, Options{MaxAge: time.Minute}, func(t *testing.T, n *fakeNet, p *Pool) {
		mustDial(t, p, host("a")).Close()
		p.mu.Lock()
		for k := range p.all {
			k.born = k.born.Add(-time.Minute)
		}
		p.mu.Unlock()
		mustDial(t, p, host("a")).Close()
		n.wantDials(t, 2)
	})
}

// TestRoomIsFair checks that callers take turns for room, each in its own order.
func TestRoomIsFair(t *testing.T) {
	inBubble(t, Options{MaxConnections: 1}, func(t *testing.T, n *fakeNet, p *Pool) {
		c := mustDial(t, p, host("first"))
		var work sync.WaitGroup
		for _, caller := range []string{"a", "b"} {
			d := p.For(n)
			for i := range map[string]int{"a": 6, "b": 3}[caller] {
				work.Go(func() {
					c := mustDial(t, d, host(fmt.Sprint(caller, i)))
					mustRun(t, c, time.Second)
					c.Close()
				})
				synctest.Wait()
			}
		}
		c.Close()
		work.Wait()
		want := []string{"first", "a0", "b0", "a1", "b1", "a2", "b2", "a3", "a4", "a5"}
		if !slices.Equal(n.dialed, want) {
			t.Errorf("dialed %q, want %q", n.dialed, want)
		}
	})
}

// TestRandomCancels checks that nothing is lost if callers give up at random moments.
func TestRandomCancels(t *testing.T) {
	inBubble(t, Options{MaxConnections: 4}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes, n.sessions = 7*time.Millisecond, 2
		var work sync.WaitGroup
		owners := []transport.Dialer{p, p.For(n), p.For(n)}
		for i := range 600 {
			work.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%97)*time.Millisecond)
				defer cancel()
				time.Sleep(time.Duration(i%13) * time.Millisecond)
				c, err := owners[i%3].Dial(ctx, hostN(i%7))
				if err != nil {
					return
				}
				c.Run(ctx, &transport.Cmd{Line: fmt.Sprint(i%11, "ms")})
				c.Close()
				if i%31 == 0 {
					n.mu.Lock()
					k := n.links[len(n.links)-1]
					n.mu.Unlock()
					k.die()
				}
			})
		}
		work.Wait()
		time.Sleep(n.takes) // for a dial of a further connection, which belongs to no request
		synctest.Wait()
		if n.most > 4 || p.Busy() {
			t.Errorf("%d connections at a time, want at most 4; busy %v", n.most, p.Busy())
		}
		for i := range 7 { // every machine still works
			c := mustDial(t, p, hostN(i))
			mustRun(t, c, 0)
			c.Close()
		}
	})
}

// TestServedAndCancelledAtOnce checks that a session is given back if its request is cancelled at
// the moment when it gets the session.
func TestServedAndCancelledAtOnce(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 1, time.Hour // no second connection in time
		c := mustDial(t, p, host("a"))
		var work sync.WaitGroup
		work.Go(func() { mustRun(t, c, time.Second) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		work.Go(func() {
			_, err := c.Run(ctx, &transport.Cmd{})
			wantClass(t, err, transport.ClassCancelled)
		})
		synctest.Wait()
		p.mu.Lock()
		cancel() // it notices the cancel, and then must wait for the lock
		for _, pe := range p.peers {
			w := pe.queue.pop()
			p.start(w.lease, pe.links[0])
			w.serve(pe.links[0])
		}
		p.mu.Unlock()
		work.Wait()
		if got := p.Connections()[0]; got.InFlight != 0 || got.Waiting != 0 {
			t.Errorf("%+v: something is left in flight or waiting", got)
		}
		c.Close()
	})
}

func TestRequestsStayWithinSessionLimit(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 3, time.Hour // no second connection in time
		c := mustDial(t, p, host("a"))
		var work sync.WaitGroup
		began := time.Now()
		for range 9 {
			work.Go(func() { mustRun(t, c, time.Second) })
		}
		synctest.Wait()
		if got := p.Connections()[0]; got.InFlight != 3 || got.Waiting != 6 || got.Sessions != 3 || got.State != Busy {
			t.Errorf("%+v, want 3 in flight and 6 waiting", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.Run(ctx, &transport.Cmd{})
		wantClass(t, err, transport.ClassTimeout)
		work.Wait()
		if d := time.Since(began); d != 3*time.Second || n.links[0].most != 3 || n.links[0].total != 9 {
			t.Errorf("took %v, %d at a time, %d in all", d, n.links[0].most, n.links[0].total)
		}
		c.Close()
	})
}

// TestLowerSessionLimitTakesEffect checks that a limit that the connection learns takes effect at
// once.
func TestLowerSessionLimitTakesEffect(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes = time.Hour
		c := mustDial(t, p, host("a"))
		mustRun(t, c, 0)
		n.set(func() { n.sessions = 0 }) // it reports none, which means one
		mustRun(t, c, 0)
		var work sync.WaitGroup
		began := time.Now()
		for range 4 {
			work.Go(func() { mustRun(t, c, time.Second) })
		}
		work.Wait()
		if d := time.Since(began); d != 4*time.Second {
			t.Errorf("took %v, want one after the other", d)
		}
		c.Close()
	})
}

// TestSessionsAreFair checks that one caller's thousand commands do not block another caller's
// single command.
func TestSessionsAreFair(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 1, time.Hour
		var work sync.WaitGroup
		var mu sync.Mutex
		var order []string
		one, two := mustDial(t, p, host("a")), mustDial(t, p.For(n), host("a"))
		do := func(c transport.Conn, name string) {
			work.Go(func() {
				mustRun(t, c, time.Second)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			synctest.Wait()
		}
		for i := range 6 {
			do(one, fmt.Sprint("a", i))
		}
		for i := range 2 {
			do(two, fmt.Sprint("b", i))
		}
		work.Wait()
		if want := []string{"a0", "a1", "b0", "a2", "b1", "a3", "a4", "a5"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		one.Close()
		two.Close()
	})
}

// TestSecondConnection checks that a second connection is dialed only if requests have waited
// longer than a dial takes.
func TestSecondConnection(t *testing.T) {
	cases := []struct {
		name     string
		requests int
		each     time.Duration
		dials    int
		most     time.Duration // all together
	}{
		{"short ones", 8, 200 * time.Millisecond, 1, 800 * time.Millisecond},
		{"long ones", 4, 10 * time.Second, 2, 12 * time.Second},
		{"many long ones", 20, 30 * time.Second, 10, 36 * time.Second},
		{"more than there may be connections for", 100, 30 * time.Second, maxLinks, 130 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				n.sessions, n.takes = 2, time.Second
				conn := mustDial(t, p, host("a"))
				began := time.Now()
				var work sync.WaitGroup
				for range c.requests {
					work.Go(func() { mustRun(t, conn, c.each) })
				}
				work.Wait()
				n.wantDials(t, c.dials)
				if d := time.Since(began); d > c.most {
					t.Errorf("took %v, want at most %v", d, c.most)
				}
				conn.Close()
				time.Sleep(extraIdleTimeout + time.Second)
				synctest.Wait()
				n.wantOpen(t, 1) // the other connections are closed soon
				mustDial(t, p, host("a")).Close()
				if n.links[0].gone() {
					t.Error("the first connection has gone before the others")
				}
			})
		})
	}
	t.Run("refused", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
			n.sessions, n.takes = 1, time.Second
			conn := mustDial(t, p, host("a"))
			n.fails = func(string) error { return &transport.Error{Class: transport.ClassThrottled} }
			var work sync.WaitGroup
			for range 3 {
				work.Go(func() { mustRun(t, conn, 20*time.Second) })
			}
			work.Wait()
			n.wantDials(t, 2) // and no other dial so soon
			if got := p.Totals(); got.DialsFailed != 1 {
				t.Errorf("totals %+v, want 1 failed dial", got)
			}
			conn.Close()
		})
	})
	t.Run("no room", func(t *testing.T) {
		inBubble(t, Options{MaxConnections: 2}, func(t *testing.T, n *fakeNet, p *Pool) {
			n.sessions, n.takes = 1, time.Second
			mustDial(t, p, host("idle")).Close()
			conn := mustDial(t, p, host("a"))
			var work sync.WaitGroup
			for range 3 {
				work.Go(func() { mustRun(t, conn, 20*time.Second) })
			}
			work.Wait()
			n.wantDials(t, 2)
			n.wantOpen(t, 2) // no idle connection was closed for it
			if got := p.Totals(); got.DialsFailed != 0 {
				t.Errorf("totals %+v: a dial for which there was no room counts as failed", got)
			}
			conn.Close()
		})
	})
	t.Run("the first dies under them", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
			n.sessions, n.takes = 1, time.Second
			conn := mustDial(t, p, host("a"))
			var work sync.WaitGroup
			work.Go(func() {
				_, err := conn.Run(t.Context(), &transport.Cmd{Line: "1h"})
				wantClass(t, err, transport.ClassLost)
			})
			synctest.Wait()
			for range 3 {
				work.Go(func() { mustRun(t, conn, time.Second) })
			}
			synctest.Wait()
			n.links[0].die()
			work.Wait()
			conn.Close()
		})
	})
}

func TestDrainAndCloseIdle(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		for i := range 4 {
			mustDial(t, p, hostN(i)).Close()
			time.Sleep(time.Second)
		}
		if got := p.CloseIdle(2); got != 2 || !n.links[0].gone() || !n.links[1].gone() {
			t.Errorf("%d closed, want the two that were used longest ago", got)
		}
		c := mustDial(t, p, hostN(3))
		p.Drain()
		synctest.Wait()
		n.wantOpen(t, 1)
		if got := p.CloseIdle(9); got != 0 {
			t.Errorf("%d closed of none", got)
		}
		c.Close()
		synctest.Wait()
		n.wantOpen(t, 0)
		mustDial(t, p, hostN(3)).Close() // a drained pool still dials
		n.wantDials(t, 5)
	})
}

func TestStatus(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		began := time.Now()
		if p.Busy() || p.IdleSince() != began {
			t.Errorf("new: busy %v, idle since %v", p.Busy(), p.IdleSince())
		}
		mustDial(t, p, transport.Dest{Host: "b"}).Close()
		c := mustDial(t, p, transport.Dest{Host: "a"})
		mustDial(t, p, transport.Dest{Host: "a"}).Close()
		n.set(func() { n.takes = time.Minute })
		var work sync.WaitGroup
		work.Go(func() { mustRun(t, c, 10*time.Second) })
		work.Go(func() { mustDial(t, p, transport.Dest{Host: "c", User: "u", Port: 22}).Close() })
		time.Sleep(time.Second)
		want := []Connection{
			{Peer: "me@a", State: Busy, Age: time.Second, InFlight: 1, Sessions: 8, DialsSaved: 1, Sent: 1, Received: 2},
			{Peer: "me@b", State: Idle, Age: time.Second, Idle: time.Second, Sessions: 8, Sent: 1, Received: 2},
			{Peer: "u@c:22", State: Dialing, Age: time.Second, Waiting: 1},
		}
		if got := p.Connections(); !slices.Equal(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if !p.Busy() || !p.IdleSince().IsZero() {
			t.Error("busy, and does not say so")
		}
		work.Wait()
		c.Close()
		if ended := time.Now(); p.Busy() || p.IdleSince() != ended {
			t.Errorf("busy %v, idle since %v, want %v", p.Busy(), p.IdleSince(), ended)
		}
		if got := p.Connections()[0]; got.Runs != 1 || got.State != Idle {
			t.Errorf("got %+v, want one run", got)
		}
	})
}
