package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/transport"
)

// inBubble runs a test in virtual time and closes its Pool.
func inBubble(t *testing.T, o Options, test func(t *testing.T, n *fakeNet, p *Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNet()
		p := New(n, o)
		defer func() {
			p.Close()
			n.wantOpen(t, 0)
			if len(p.peers) != 0 || len(p.all) != 0 || len(p.dials) != 0 || p.room.open != 0 || p.room.leaving != 0 || p.counts.leases != 0 {
				t.Errorf("left behind: peers %d, links %d, dials %d, room %d, leaving %d, leases %d", len(p.peers), len(p.all), len(p.dials), p.room.open, p.room.leaving, p.counts.leases)
			}
		}()
		test(t, n, p)
	})
}

func TestConnectionIsShared(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		one := mustDial(t, p, host("a"))
		mustRun(t, one, time.Second)
		two := mustDial(t, p.For(n), host("a")) // another caller, the same key
		mustRun(t, two, time.Second)
		one.Close()
		one.Close()
		mustRun(t, two, time.Second)
		two.Close()
		three := mustDial(t, p, host("a"))
		three.Close()
		n.wantDials(t, 1)
		mustDial(t, p, transport.Dest{Host: "a", User: "other"}).Close()
		n.wantDials(t, 2)
		if got, want := p.Totals(), (Totals{Dials: 2, DialsSaved: 2, Runs: 3}); got != want {
			t.Errorf("totals %+v, want %+v", got, want)
		}
		if n.links[0].checked != 2 {
			t.Errorf("%d checks, want one for each use of a warm connection", n.links[0].checked)
		}
	})
}

func TestSingleFlight(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes = time.Second
		var work sync.WaitGroup
		for range 50 {
			work.Go(func() {
				c := mustDial(t, p.For(n), host("a"))
				mustRun(t, c, time.Millisecond)
				c.Close()
			})
		}
		work.Wait()
		n.wantDials(t, 1)
		if got, want := p.Totals(), (Totals{Dials: 1, DialsSaved: 49, Runs: 50}); got != want {
			t.Errorf("totals %+v, want %+v", got, want)
		}
	})
}

func TestCancelDoesNotWasteADial(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			_, err := p.Dial(ctx, host("a"))
			wantClass(t, err, transport.ClassCancelled)
		})
		synctest.Wait()
		work.Go(func() { mustDial(t, p, host("a")).Close() })
		work.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := p.Dial(ctx, host("a"))
			wantClass(t, err, transport.ClassTimeout)
		})
		synctest.Wait()
		cancel()
		work.Wait()
		n.wantDials(t, 1)
		if n.cancels != 0 {
			t.Error("the dial was cancelled though somebody waited")
		}
	})
}

func TestUnwantedDialEnds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 20 {
			work.Go(func() {
				_, err := p.Dial(ctx, host("a"))
				wantClass(t, err, transport.ClassCancelled)
			})
		}
		synctest.Wait()
		cancel()
		work.Wait()
		synctest.Wait()
		if n.cancels != 1 || p.Busy() {
			t.Errorf("%d dials cancelled, want 1; busy %v", n.cancels, p.Busy())
		}
		n.set(func() { n.takes = 0 })
		mustDial(t, p, host("a")).Close() // the cancelled dial belongs to no caller
	})
}

func TestConnectionOfUnwantedDialIsKept(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		ctx, cancel := context.WithCancel(t.Context())
		n.onDial = func(dial context.Context) {
			cancel()
			<-dial.Done() // no caller waits any more, but the dial succeeds
		}
		_, err := p.Dial(ctx, host("a"))
		wantClass(t, err, transport.ClassCancelled)
		synctest.Wait()
		mustDial(t, p, host("a")).Close()
		n.wantDials(t, 1)
	})
}

// TestAbandonedDial checks the case that an abandoned dial that ignores its context is still
// running during the next caller's dial.
func TestAbandonedDial(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("fails %v", fails), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				n.onDial = func(context.Context) { time.Sleep(10 * time.Second) }
				if fails {
					n.fails = func(string) error { return &transport.Error{Class: transport.ClassAuth} }
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := p.Dial(ctx, host("a"))
				wantClass(t, err, transport.ClassTimeout)
				n.set(func() { n.onDial, n.fails, n.takes = nil, nil, time.Minute })
				began := time.Now()
				mustDial(t, p, host("a")).Close()
				synctest.Wait()
				took, cancelled := 9*time.Second, 1 // the first dial's connection is used, and the second dial is not needed
				if fails {
					took, cancelled = time.Minute, 0
				}
				if d := time.Since(began); d != took || n.cancels != cancelled {
					t.Errorf("took %v with %d dials cancelled, want %v, %d", d, n.cancels, took, cancelled)
				}
				n.wantDials(t, 2)
				n.wantOpen(t, 1)
			})
		})
	}
}

func TestDialErrorReachesAllAndIsNotCached(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		refused := &transport.Error{Class: transport.ClassConnect, Msg: "refused"}
		n.takes, n.fails = time.Second, func(string) error { return refused }
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() {
				if _, err := p.Dial(t.Context(), host("a")); err != error(refused) {
					t.Errorf("error %v, want the dial's own", err)
				}
			})
		}
		work.Wait()
		n.wantDials(t, 1)
		n.set(func() { n.fails = nil })
		mustDial(t, p, host("a")).Close()
		n.wantDials(t, 2)
		if got := p.Totals(); got.DialsFailed != 1 {
			t.Errorf("totals %+v, want one failed dial", got)
		}
	})
}

// TestErrorsOfOtherCallersAreRetried checks that a caller that joined a dial tries again if the
// dial failed for a reason that only concerns the caller that began it.
func TestErrorsOfOtherCallersAreRetried(t *testing.T) {
	cases := []struct {
		name          string
		err           *transport.Error
		first, second time.Duration // ConnectTimeout
		sameOwner     bool
		dials         int
	}{
		{"the first had less time", &transport.Error{Class: transport.ClassTimeout}, time.Second, time.Minute, true, 2},
		{"the first had less time, the second has no limit", &transport.Error{Class: transport.ClassTimeout}, time.Second, 0, true, 2},
		{"both had the same time", &transport.Error{Class: transport.ClassTimeout}, time.Minute, time.Minute, false, 1},
		{"the first could not ask", &transport.Error{Class: transport.ClassAuth, Ask: "/key"}, 0, 0, false, 2},
		{"nobody could ask", &transport.Error{Class: transport.ClassAuth, Ask: "/key"}, 0, 0, true, 1},
		{"the first has gone", &transport.Error{Class: transport.ClassCancelled}, 0, 0, false, 2},
		{"refused", &transport.Error{Class: transport.ClassConnect}, 0, 0, false, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				n.takes, n.fails = 500*time.Millisecond, func(string) error { return c.err }
				var work sync.WaitGroup
				work.Go(func() {
					_, err := p.Dial(t.Context(), transport.Dest{Host: "a", ConnectTimeout: c.first})
					wantClass(t, err, c.err.Class)
				})
				synctest.Wait()
				work.Go(func() {
					d := transport.Dialer(p)
					if !c.sameOwner {
						d = p.For(n)
					}
					_, err := d.Dial(t.Context(), transport.Dest{Host: "a", ConnectTimeout: c.second})
					wantClass(t, err, c.err.Class)
				})
				work.Wait()
				n.wantDials(t, c.dials)
			})
		})
	}
}

func TestConnectTimeoutShorterThanDial(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.takes = time.Minute
		var work sync.WaitGroup
		work.Go(func() { mustDial(t, p, host("a")).Close() })
		synctest.Wait()
		began := time.Now()
		_, err := p.Dial(t.Context(), transport.Dest{Host: "a", ConnectTimeout: time.Second})
		if e := wantClass(t, err, transport.ClassTimeout); e.Code != codeConnect || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		work.Wait()
		n.wantDials(t, 1)
	})
}

func TestEndedConnection(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		c := mustDial(t, p, host("a"))
		mustRun(t, c, 0)
		n.links[0].die()
		synctest.Wait()
		if got := p.Connections(); len(got) != 0 {
			t.Errorf("a connection that has ended is listed: %+v", got)
		}
		mustRun(t, c, 0) // a new connection for the same lease
		n.wantDials(t, 2)
		c.Close()
		n.links[1].die()
		mustDial(t, p, host("a")).Close()
		n.wantDials(t, 3)
	})
}

// TestEndsOfManyConnectionsAreDetected checks that the ends of many connections are detected at
// once.
func TestEndsOfManyConnectionsAreDetected(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		const many = 5*watchWidth + 3
		for i := range many {
			mustDial(t, p, hostN(i)).Close()
		}
		synctest.Wait()
		n.wantOpen(t, many)
		if got := len(p.watch.all); got != 6 {
			t.Errorf("%d watchers for %d connections", got, many)
		}
		for i := 0; i < many; i += 2 {
			n.links[i].die()
		}
		synctest.Wait()
		if got := len(p.Connections()); got != many/2 || len(p.all) != many/2 {
			t.Errorf("%d listed, %d held, want %d", got, len(p.all), many/2)
		}
		for i := range many {
			mustDial(t, p, hostN(i)).Close()
		}
		n.wantDials(t, many+(many+1)/2)
		for _, k := range n.links {
			k.die()
		}
		synctest.Wait()
		if len(p.all) != 0 || len(p.watch.all) != 0 {
			t.Errorf("%d connections and %d watchers left", len(p.all), len(p.watch.all))
		}
	})
}

// TestOnlyRequestsThatDidNotBeginAreRepeated checks that only a request that provably did not begin
// is made again, at most maxAgain times.
func TestOnlyRequestsThatDidNotBeginAreRepeated(t *testing.T) {
	actions := map[string]func(t *testing.T, c transport.Conn) error{
		"run": func(t *testing.T, c transport.Conn) error {
			_, err := c.Run(t.Context(), &transport.Cmd{})
			return err
		},
		"put": func(t *testing.T, c transport.Conn) error {
			return c.Put(t.Context(), transport.Tree{}, "", transport.FileOptions{})
		},
		"get": func(t *testing.T, c transport.Conn) error {
			return c.Get(t.Context(), "", "", transport.FileOptions{})
		},
		"archive": archive,
	}
	cases := []struct {
		name  string
		class transport.Class
		dies  bool // the connection
		times int  // how many links fail so
		want  transport.Class
		dials int
	}{
		{"ended before", transport.ClassConnect, true, 1, "", 2},
		{"did not begin", transport.ClassConnect, false, 1, "", 2},
		{"as often as allowed", transport.ClassConnect, true, maxAgain, "", 1 + maxAgain},
		{"too often", transport.ClassConnect, true, 1 + maxAgain, transport.ClassConnect, 1 + maxAgain},
		{"throttled and ended", transport.ClassThrottled, true, 1, "", 2},
		{"throttled", transport.ClassThrottled, false, 1, transport.ClassThrottled, 1},
		{"lost", transport.ClassLost, true, 1, transport.ClassLost, 1},
	}
	for name, act := range actions {
		for _, c := range cases {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
					failed := 0
					n.runs = func(k *fakeLink) error {
						if failed++; failed > c.times {
							return nil
						}
						if c.dies {
							go k.die()
							<-k.done
						}
						return &transport.Error{Class: c.class}
					}
					conn := mustDial(t, p, host("a"))
					defer conn.Close()
					if err := act(t, conn); transport.ClassOf(err) != c.want {
						t.Errorf("error %v, want class %q", err, c.want)
					}
					n.wantDials(t, c.dials)
				})
			})
		}
	}
}

// TestInputSpent checks that a command whose input was read is not run again, and that the error
// contains the reason why the command did not begin.
func TestInputSpent(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.runs = func(*fakeLink) error { return &transport.Error{Class: transport.ClassConnect, Msg: "the reason"} }
		conn := mustDial(t, p, host("a"))
		defer conn.Close()
		_, err := conn.Run(t.Context(), &transport.Cmd{Input: strings.NewReader("text")})
		if transport.ClassOf(err) != transport.ClassLost || !strings.Contains(err.Error(), "the reason") {
			t.Errorf("error %v", err)
		}
	})
}

func archive(t *testing.T, c transport.Conn) error {
	return c.(transport.Archiver).Archive(t.Context(), "x", t.Output(), transport.FileOptions{})
}

// TestFailedCheckRetiresConnection checks that a warm connection is not used if it fails its check.
func TestFailedCheckRetiresConnection(t *testing.T) {
	cases := []struct {
		class  transport.Class
		closed bool // at once, although it is in use
	}{
		{transport.ClassConnect, false},
		{transport.ClassHostKeyChanged, true},
		{transport.ClassHostKeyUnknown, false},
		{transport.ClassProtocol, false},
	}
	for _, c := range cases {
		t.Run(string(c.class), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
				first := mustDial(t, p, host("a"))
				n.set(func() {
					n.checks = func(k *fakeLink) error {
						if k == n.links[0] {
							return &transport.Error{Class: c.class}
						}
						return nil
					}
				})
				second := mustDial(t, p, host("a"))
				n.wantDials(t, 2)
				synctest.Wait()
				if n.links[0].gone() != c.closed {
					t.Errorf("closed %v, want %v", n.links[0].gone(), c.closed)
				}
				first.Close()
				synctest.Wait()
				if !n.links[0].gone() {
					t.Error("kept after its last use")
				}
				mustRun(t, second, 0)
				second.Close()
				if got, want := p.Totals(), (Totals{Dials: 2, Runs: 1}); got != want {
					t.Errorf("totals %+v, want %+v", got, want)
				}
			})
		})
	}
	t.Run("given up", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
			mustDial(t, p, host("a")).Close()
			ctx, cancel := context.WithCancel(t.Context())
			n.checks = func(*fakeLink) error {
				cancel()
				return &transport.Error{Class: transport.ClassCancelled}
			}
			_, err := p.Dial(ctx, host("a"))
			wantClass(t, err, transport.ClassCancelled)
			n.checks = nil
			mustDial(t, p, host("a")).Close()
			n.wantDials(t, 1) // the check did not fail
		})
	})
}

func TestLeaseClose(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		one, two := mustDial(t, p, host("a")), mustDial(t, p, host("a"))
		var work sync.WaitGroup
		var mine, others error
		work.Go(func() { _, mine = one.Run(t.Context(), &transport.Cmd{Line: "1h"}) })
		work.Go(func() { _, others = two.Run(t.Context(), &transport.Cmd{Line: "1m"}) })
		synctest.Wait()
		n.lingers = time.Second
		began := time.Now()
		work.Go(func() { one.Close() })
		one.Close()
		if d := time.Since(began); d != time.Second {
			t.Errorf("Close returned after %v, with a command that takes 1s to end", d)
		}
		synctest.Wait()
		wantClass(t, mine, transport.ClassCancelled)
		if !errors.Is(mine, errGivenBack) {
			t.Errorf("cause of %v is not the lease's end", mine)
		}
		_, err := one.Run(t.Context(), &transport.Cmd{})
		wantClass(t, err, transport.ClassCancelled)
		work.Wait()
		if others != nil {
			t.Errorf("a command of another lease: %v", others)
		}
		two.Close()
		n.wantDials(t, 1)
		n.wantOpen(t, 1)
	})
}

func TestConnectionThatIsNotALink(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.plain = true
		c := mustDial(t, p, host("a"))
		mustRun(t, c, time.Second)
		mustRun(t, c, time.Second)
		wantClass(t, archive(t, c), transport.ClassUnsupported)
		n.wantDials(t, 1)
		n.wantOpen(t, 1)
		c.Close()
		synctest.Wait()
		n.wantOpen(t, 0)
		mustDial(t, p, host("a")).Close()
		n.wantDials(t, 2)
	})
}

func TestPoolClose(t *testing.T) {
	inBubble(t, Options{MaxConnections: 2}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions = 1
		c := mustDial(t, p, host("a"))
		n.takes = time.Hour
		var work sync.WaitGroup
		work.Go(func() {
			_, err := c.Run(t.Context(), &transport.Cmd{Line: "1h"})
			wantClass(t, err, transport.ClassLost)
		})
		synctest.Wait()
		work.Go(func() { // it waits for a session
			_, err := c.Run(t.Context(), &transport.Cmd{Line: "1h"})
			wantClass(t, err, transport.ClassCancelled)
		})
		for _, name := range []string{"b", "b", "c"} { // these dial, join, and wait for room
			work.Go(func() {
				_, err := p.Dial(t.Context(), host(name))
				wantClass(t, err, transport.ClassCancelled)
			})
		}
		synctest.Wait()
		began := time.Now()
		p.Close()
		work.Wait()
		p.Close()
		if d := time.Since(began); d != 0 {
			t.Errorf("Close took %v", d)
		}
		_, err := p.Dial(t.Context(), host("a"))
		wantClass(t, err, transport.ClassCancelled)
		_, err = c.Run(t.Context(), &transport.Cmd{})
		wantClass(t, err, transport.ClassCancelled)
		c.Close()
	})
}

// TestEveryLinkIsChecked checks all connections of a machine, because a request may run on any of
// them.
func TestEveryLinkIsChecked(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		n.sessions, n.takes = 1, time.Second
		conn := mustDial(t, p, host("a"))
		twoAtOnce(t, conn)
		conn.Close()
		n.wantOpen(t, 2)
		n.set(func() { // the second connection's key was revoked
			n.checks = func(k *fakeLink) error {
				if k == n.links[1] {
					return &transport.Error{Class: transport.ClassHostKeyChanged}
				}
				return nil
			}
		})
		c := mustDial(t, p, host("a"))
		defer c.Close()
		before := n.links[1].total
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() { mustRun(t, c, 100*time.Millisecond) })
		}
		work.Wait()
		if n.links[1].total != before {
			t.Errorf("%d commands ran on a connection that is not to be trusted", n.links[1].total-before)
		}
	})
}

// TestQueuedRequestIgnoresErrorOfOtherCaller checks that a request in the queue does not fail with
// an error that only concerns another caller.
func TestQueuedRequestIgnoresErrorOfOtherCaller(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n *fakeNet, p *Pool) {
		a, b := mustDial(t, p, host("a")), mustDial(t, p.For(n), host("a"))
		defer a.Close()
		defer b.Close()
		asked := false
		n.set(func() {
			n.takes = time.Second
			n.fails = func(string) error {
				if asked {
					return nil
				}
				asked = true
				return &transport.Error{Class: transport.ClassAuth, Ask: "/key"}
			}
		})
		n.links[0].die()
		synctest.Wait()
		var work sync.WaitGroup
		work.Go(func() {
			_, err := a.Run(t.Context(), &transport.Cmd{})
			wantClass(t, err, transport.ClassAuth)
		})
		synctest.Wait()
		work.Go(func() { mustRun(t, b, 0) })
		work.Wait()
	})
}

// TestPanicInADial checks that a panic in a dial fails only the requests that wait for
// that dial.
func TestPanicInADial(t *testing.T) {
	n := newNet()
	n.onDial = func(context.Context) { panic("oh no") }
	p := newPool(t, n, Options{})
	_, err := p.Dial(t.Context(), transport.Dest{Host: "a"})
	if transport.ClassOf(err) != transport.ClassProtocol || !strings.Contains(err.Error(), "internal error: oh no") {
		t.Errorf("got %v", err)
	}
	n.mu.Lock()
	n.onDial = nil
	n.mu.Unlock()
	c, err := p.Dial(t.Context(), transport.Dest{Host: "b"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
