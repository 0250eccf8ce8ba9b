package ssh

import (
	"context"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestManyDials checks a hundred logins at once. OpenSSH's default MaxStartups
// is 10:30:100, so the server refuses most of them, but none may fail because
// of it.
func TestManyDials(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	var work sync.WaitGroup
	began := time.Now()
	for range 100 {
		work.Go(func() {
			c, err := l.Dial(t.Context(), dest(s))
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	work.Wait()
	t.Logf("100 logins in %v", time.Since(began).Round(time.Millisecond))
}

// TestRetriesRefusedHandshakes checks that the server's text decides how long a
// refused dial is repeated.
func TestRetriesRefusedHandshakes(t *testing.T) {
	for _, c := range []struct {
		name, text, hint string
	}{
		{"startups", "Exceeded MaxStartups\r\n", "MaxStartups"},
		{"penalties", "Not allowed at this time\r\n", "PerSourcePenalties"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sshtest.Start(t, sshtest.Options{})
			l := newLab(t, nil)
			p := sshtest.Chatter(t, c.text, s.Addr)
			// The server prints the text but still works: the text does not
			// count as a refusal.
			l.mustDial(t, func() transport.Dest { d := dest(s); d.Port, d.HostKeyCheck = p.Port, transport.CheckNone; return d }())

			ctx, cancel := context.WithCancel(t.Context())
			p = sshtest.Shedder(t, c.text)
			to := peerDest(p)
			to.ConnectTimeout = 500 * time.Millisecond // not the limit that ends it
			var work sync.WaitGroup
			work.Go(func() {
				defer cancel()
				began := time.Now()
				for took := time.Duration(0); took < 2*to.ConnectTimeout || p.Connections() < 3 && took < time.Minute; took = time.Since(began) {
					time.Sleep(10 * time.Millisecond)
				}
			})
			if _, err := l.Dial(ctx, to); transport.ClassOf(err) != transport.ClassCancelled {
				t.Errorf("error %v, want the context's end", err)
			}
			work.Wait()
			if p.Connections() < 3 {
				t.Errorf("%d tries in a minute", p.Connections())
			}
		})
	}
}

func TestGate(t *testing.T) {
	ctx := t.Context()
	g := newGates()
	a := g.borrow("x")
	var tickets []int
	for range startHandshakes {
		ticket, err := a.enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := a.enter(short); err == nil {
		t.Error("let in though full")
	}
	for _, ticket := range tickets { // one burst of refusals reduces the limit once
		a.leave(ticket, false, true)
	}
	if a.limit != startHandshakes/2 {
		t.Errorf("limit %v after a cut, want %d", a.limit, startHandshakes/2)
	}
	for range 20 {
		ticket, err := a.enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		a.leave(ticket, false, true)
	}
	if a.limit != minHandshakes {
		t.Errorf("limit %v, want no less than %d", a.limit, minHandshakes)
	}
	for range 2000 {
		ticket, err := a.enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		a.leave(ticket, true, false)
	}
	if int(a.limit) < maxHandshakes-1 || a.limit > maxHandshakes {
		t.Errorf("limit %v after many successes, want %d", a.limit, maxHandshakes)
	}
	if a.inside != 0 {
		t.Errorf("%d still inside", a.inside)
	}
	g.release("x", a)
	if len(g.m) != 0 {
		t.Errorf("%d gates without a user", len(g.m))
	}
}
