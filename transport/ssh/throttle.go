package ssh

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"bolt/transport"
)

// OpenSSH's MaxStartups (10:30:100 by default) turns new connections away at
// random when many are not yet logged in: with a line of text, an end of file
// or a reset before the version exchange. That says nothing of the machine,
// so it is tried again, and fewer handshakes are held open at a time.

const (
	// throttleBudget is how long one Dial lets itself be turned away. It is
	// meant to last for some hundred logins on one slow server.
	throttleBudget = 30 * time.Second

	firstThrottleDelay = 100 * time.Millisecond
	maxThrottleDelay   = 2 * time.Second

	// startHandshakes is how many handshakes with one address run at a time at
	// first: OpenSSH sheds nothing below 10. Each that succeeds lets one more
	// in, up to maxHandshakes, until one is shed; minHandshakes is what it
	// never goes below.
	startHandshakes = 10
	maxHandshakes   = 64
	minHandshakes   = 4
)

// gates holds a gate for each address that is being connected to.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

func newGates() *gates { return &gates{m: make(map[string]*gate)} }

// A gate limits the handshakes with one address: additive increase,
// multiplicative decrease.
type gate struct {
	users int // under gates.mu

	mu      sync.Mutex
	limit   float64
	inside  int
	waiting []chan struct{} // closed when let in, in the order of arrival
	cuts    int             // how often the limit was cut
	passed  int             // handshakes that got as far as a greeting
	busiest int             // most handshakes inside at a time
}

// borrow returns the gate of an address; give it back with release.
func (g *gates) borrow(address string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.m[address]
	if a == nil {
		a = &gate{limit: startHandshakes}
		g.m[address] = a
	}
	a.users++
	return a
}

// release forgets the gate with its last user.
func (g *gates) release(address string, a *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(g.m, address)
	}
}

// enter waits for a place. The ticket goes back with leave.
func (a *gate) enter(ctx context.Context) (ticket int, err error) {
	a.mu.Lock()
	if len(a.waiting) == 0 && a.inside < int(a.limit) {
		defer a.mu.Unlock()
		a.admit()
		return a.cuts, nil
	}
	turn := make(chan struct{})
	a.waiting = append(a.waiting, turn)
	a.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, w := range a.waiting {
			if w == turn {
				a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
				return 0, ctx.Err()
			}
		}
		a.inside-- // let in at the same moment
		a.next()
		return 0, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cuts, nil
}

func (a *gate) admit() {
	a.inside++
	a.busiest = max(a.busiest, a.inside)
}

// next lets waiters in.
func (a *gate) next() {
	for len(a.waiting) > 0 && a.inside < int(a.limit) {
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
		a.admit()
	}
}

// leave gives a place back. A shed handshake halves the limit, unless it
// began before the limit was last cut.
func (a *gate) leave(ticket int, greeted, shed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
	switch {
	case shed && ticket == a.cuts:
		a.limit = max(minHandshakes, min(a.limit, float64(a.busiest))/2)
		a.cuts++
	case greeted:
		a.passed++
		more := 1.0
		if a.cuts > 0 {
			more = 1 / a.limit
		}
		a.limit = min(maxHandshakes, a.limit+more)
	}
	a.next()
}

// busy reports whether there is reason to think that the server sheds load:
// it has greeted others of us, or many of us stood at its door at once.
func (a *gate) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.passed > 0 || a.busiest > minHandshakes
}

// A dialFunc makes the stream to an endpoint.
type dialFunc func(ctx context.Context) (stream, error)

// connect dials and shakes hands until it works, fails, or the server has
// shed it for too long.
func (v *View) connect(ctx context.Context, e *endpoint, dial dialFunc) (*Conn, error) {
	key := e.to.ProxyJump + " " + e.command + " " + e.address()
	if e.jump != nil {
		key = e.jump.Host + " " + key
	}
	g := v.d.gates.borrow(key)
	defer v.d.gates.release(key, g)
	began := time.Now()
	delay := firstThrottleDelay
	auth := newAuthRecord()
	for try := 1; ; try++ {
		ticket, err := g.enter(ctx)
		if err != nil {
			return nil, e.endedError(ctx, "waiting for a turn at a busy server")
		}
		c, w, err := v.attempt(ctx, e, dial, auth)
		shed := err != nil && w != nil && wasShed(err, w)
		g.leave(ticket, w != nil && w.greeted(), shed)
		switch {
		case err == nil:
			return c, nil
		case !shed && auth.again(err):
			continue // with the keys that were not yet tried
		case !shed:
			return nil, err
		}
		said := w.preamble()
		budget := throttleBudget
		if said == "" && !g.busy() && e.timeout > 0 {
			// Nothing speaks for load: more likely nobody is at home.
			budget = min(budget, e.timeout)
		}
		after := time.Since(began)
		wait := delay/2 + rand.N(delay)
		if after+wait > budget {
			if said == "" && !g.busy() {
				return nil, err
			}
			return nil, e.shedError(asError(err, e.to.Host), try, after, strings.Contains(said, penaltyText))
		}
		v.d.log.Debug("connection shed, trying again", "target", e.to.Host, "try", try, "after", after, "said", said)
		if err := pause(ctx, wait); err != nil {
			return nil, e.endedError(ctx, "waiting for a busy server")
		}
		delay = min(delay*2, maxThrottleDelay)
	}
}

// What sshd says when it turns a connection away (sshd.c).
const (
	startupsText = "Exceeded MaxStartups"
	penaltyText  = "Not allowed at this time"
)

// wasShed reports whether an attempt ended as a busy server ends it. A proxy
// command that ends has its own reasons, unless the server's text came
// through it.
func wasShed(err error, w *wire) bool {
	if w.greeted() {
		return false
	}
	if said := w.preamble(); said != "" {
		return strings.HasPrefix(said, startupsText) || strings.HasPrefix(said, penaltyText)
	}
	_, isCommand := w.Conn.(*commandConn)
	return transport.ClassOf(err) == transport.ClassConnect && hungUp(err) && !isCommand
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
