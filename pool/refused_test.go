package pool

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestRefusedSessions checks that requests which the server refuses a session on one
// connection run on further connections, and that no request fails.
func TestRefusedSessions(t *testing.T) {
	for _, c := range []struct {
		allows, requests int
		dials            int
		most             time.Duration // all together
	}{
		{allows: 1, requests: 24, dials: maxLinks, most: 30 * time.Second},
		{allows: 1, requests: 3, dials: 3, most: 15 * time.Second},
		{allows: 2, requests: 24, dials: 12, most: 20 * time.Second},
		{allows: 5, requests: 24, dials: 5, most: 16 * time.Second},
		{allows: 8, requests: 8, dials: 1, most: 11 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d requests, %d on each connection", c.requests, c.allows), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				n.takes, n.allows = time.Second, c.allows
				conn := mustDial(t, p, host("a"))
				began := time.Now()
				var work sync.WaitGroup
				for range c.requests {
					work.Go(func() { mustRun(t, conn, 10*time.Second) })
				}
				work.Wait()
				n.wantDials(t, c.dials)
				n.wantOpen(t, c.dials) // no connection was closed because of a refusal
				if d := time.Since(began); d > c.most {
					t.Errorf("took %v, want at most %v", d, c.most)
				}
				if got := p.Totals(); got.Runs != uint64(c.requests) {
					t.Errorf("totals %+v, want %d runs", got, c.requests)
				}
				for i, k := range n.links {
					// The first connection begins with the default limit. The others
					// begin with the learned limit and try to exceed it once.
					if limit := max(n.sessions-c.allows, 1); k.refused > limit {
						t.Errorf("connection %d: %d refusals, want at most %d", i, k.refused, limit)
					}
				}
				conn.Close()
				time.Sleep(extraIdleTimeout + time.Second)
				synctest.Wait()
				n.wantOpen(t, 1)
			})
		})
	}
}

// TestRefusedRequestKeepsItsPlace checks that a refused request runs before a later
// request of the same caller.
func TestRefusedRequestKeepsItsPlace(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		c := mustDial(t, p, host("a"))
		mustRun(t, c, 0)
		n.set(func() {
			n.takes, n.allows, n.sessions = time.Hour, 1, 2
			n.runs = func(*fakeLink) error { time.Sleep(10 * time.Millisecond); return nil } // so the third waits before the second is refused
		})
		mustRun(t, c, 0)
		var mu sync.Mutex
		var order []string
		var work sync.WaitGroup
		for _, name := range []string{"first", "refused", "later"} {
			work.Go(func() {
				mustRun(t, c, time.Second)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			time.Sleep(time.Millisecond)
		}
		work.Wait()
		if got := fmt.Sprint(order); got != "[first refused later]" {
			t.Errorf("order %s", got)
		}
		if n.links[0].refused != 1 {
			t.Errorf("%d refusals, want 1", n.links[0].refused)
		}
		c.Close()
	})
}

// TestQueueKeepsPlaces checks that several requests that return to the queue take the
// places that they had.
func TestQueueKeepsPlaces(t *testing.T) {
	var q queue
	began := time.Now()
	l := &lease{owner: new(owner)}
	for _, at := range []time.Duration{5, 7, 9, 2, 6, 1, 8, 5} {
		q.push(newWaiter(l, began.Add(at)))
	}
	var order []time.Duration
	for q.n > 0 {
		if oldest, w := q.oldest(), q.pop(); oldest != w {
			t.Errorf("the oldest is of %v, the next of %v", oldest.since.Sub(began), w.since.Sub(began))
		} else {
			order = append(order, w.since.Sub(began))
		}
	}
	if want := []time.Duration{1, 2, 5, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// TestLimitOutlivesItsConnection checks that a new connection begins with the limit
// that the server has shown on a connection that has ended, and that this limit rises
// if the server allows more.
func TestLimitOutlivesItsConnection(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.allows = 2
		c := mustDial(t, p, host("a"))
		first := n.links[0]
		var look sync.Once
		shown := 0 // sessions of the second connection when its first command begins
		n.set(func() {
			n.takes = time.Hour // no further connection in time
			n.runs = func(k *fakeLink) error {
				if k != first {
					look.Do(func() {
						for _, c := range p.Connections() { // connections that are being dialed have none
							shown = max(shown, c.Sessions)
						}
					})
				}
				return nil
			}
		})
		for i := range 2 {
			var work sync.WaitGroup
			for range 4 {
				work.Go(func() { mustRun(t, c, time.Second) })
			}
			work.Wait()
			if i == 0 {
				first.die()
				synctest.Wait()
			}
		}
		if first.refused == 0 {
			t.Error("the first connection refused no session")
		}
		var second *fakeLink
		n.set(func() { second = n.links[1] })
		if second.refused > 1 || shown != 2 { // it tries to exceed the limit once
			t.Errorf("the new connection: %d sessions refused, want at most 1; the status shows %d sessions, want 2", second.refused, shown)
		}
		n.set(func() { n.allows, n.runs = 8, nil }) // the server's limit is higher now
		for range 10 {
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() { mustRun(t, c, time.Second) })
			}
			work.Wait()
		}
		p.mu.Lock()
		limit := c.(*lease).peer.limit
		p.mu.Unlock()
		if limit != 8 {
			t.Errorf("a new connection would begin with %d sessions, want 8", limit)
		}
		c.Close()
	})
}

// TestRefusedAndCancelled checks the error of a request that was refused a session and
// is cancelled while it waits: the request did not begin.
func TestRefusedAndCancelled(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		c := mustDial(t, p, host("a"))
		n.set(func() { n.takes, n.allows = time.Hour, 1 })
		var work sync.WaitGroup
		work.Go(func() { mustRun(t, c, time.Minute) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Run(ctx, &transport.Cmd{Line: "1s"})
		wantClass(t, err, transport.ClassTimeout)
		if got := p.Connections()[1]; got.InFlight != 1 || got.Waiting != 0 {
			t.Errorf("%+v, want 1 in flight and none waiting", got)
		}
		work.Wait()
		c.Close()
	})
}

// TestNoSessionAtAll checks that a request asks a connection at most twice for a
// session if no other request is on it, and then runs on another connection.
func TestNoSessionAtAll(t *testing.T) {
	for _, c := range []struct {
		name  string
		first bool // only the connections
		dials int
	}{{"first connection", true, 2}, {"all connections", false, 1 + maxAgain}} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				conn := mustDial(t, p, host("a"))
				taken := &transport.Error{Class: transport.ClassThrottled, Msg: "refused", Err: transport.ErrSessionsTaken}
				asked := 0
				n.set(func() {
					n.runs = func(k *fakeLink) error {
						if asked++; asked > 2*c.dials {
							t.Error("asked again")
							return nil
						}
						if c.first && k != n.links[0] {
							return nil
						}
						return taken
					}
				})
				_, err := conn.Run(t.Context(), &transport.Cmd{})
				if c.first && err != nil || !c.first && transport.ClassOf(err) != transport.ClassThrottled {
					t.Errorf("error %v", err)
				}
				n.wantDials(t, c.dials)
				conn.Close()
			})
		})
	}
}

// TestFailedExtraDialsPause checks that after a failed dial of a further connection,
// no other one is dialed for a while, even if many requests wait.
func TestFailedExtraDialsPause(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes, n.sessions = time.Second, 1
		conn := mustDial(t, p, host("a"))
		var work sync.WaitGroup
		for range 30 {
			work.Go(func() { mustRun(t, conn, 20*time.Second) })
		}
		time.Sleep(3500 * time.Millisecond) // 4 connections by then
		n.set(func() { n.fails = func(string) error { return &transport.Error{Class: transport.ClassAuth} } })
		time.Sleep(extraPause - time.Second)
		n.mu.Lock()
		dialed := len(n.dialed)
		n.mu.Unlock()
		if most := 2 * len(n.links); dialed > most {
			t.Errorf("%d dials, want at most %d: one for each connection that was there", dialed, most)
		}
		work.Wait()
		conn.Close()
	})
}

// TestOverlapOnRealServer checks that all commands run at the same time, for any
// MaxSessions of the server. Each command ends only when all of them run.
func TestOverlapOnRealServer(t *testing.T) {
	const commands = 8
	for _, c := range []struct {
		maxSessions int
		least, most uint64 // connections
	}{
		{1, commands, commands},
		{2, commands / 2, commands},
		{10, 1, 1},
	} {
		t.Run(fmt.Sprintf("MaxSessions %d", c.maxSessions), func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: fmt.Sprintf("MaxSessions %d\n", c.maxSessions)})
			p := newPool(t, realDialer(t, s), Options{})
			conn := mustDial(t, p, dest(s))
			defer conn.Close()
			dir := t.TempDir()
			var work sync.WaitGroup
			for i := range commands {
				work.Go(func() {
					line := fmt.Sprintf("echo >%s/%d; n=0; while [ $(ls %[1]s | wc -l) -lt %[3]d ]; do sleep 0.05; n=$((n+1)); [ $n -lt 600 ] || exit 1; done", dir, i, commands)
					if out, err := say(t.Context(), conn, line); err != nil || out != "" {
						t.Errorf("command %d: %q, %v", i, out, err)
					}
				})
			}
			work.Wait()
			got := p.Totals()
			if got.Dials < c.least || got.Dials > c.most || got.Runs != commands || got.DialsFailed != 0 {
				t.Errorf("totals %+v, want %d runs on %d to %d connections", got, commands, c.least, c.most)
			}
			for _, k := range p.Connections() {
				if c.maxSessions == 1 && k.Sessions > 2 { // it rises by one when a request ends
					t.Errorf("a connection tells %d sessions", k.Sessions)
				}
			}
		})
	}
}
