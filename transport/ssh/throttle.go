package ssh

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"bolt/transport"
)

// If many connections are not yet logged in, OpenSSH refuses new ones at random
// (MaxStartups, 10:30:100 by default): with a line of text, an end of file or a
// reset before the version exchange. This does not mean that the machine has
// failed. So bolt tries again, with fewer handshakes at a time.

const (
	// throttleBudget is the maximum time for which one Dial tries again. It is
	// long enough for some hundred logins on one slow server.
	throttleBudget = 30 * time.Second

	firstThrottleDelay = 100 * time.Millisecond
	maxThrottleDelay   = 2 * time.Second

	// startHandshakes is the initial number of simultaneous handshakes with one
	// address: OpenSSH refuses none below 10. Each success raises the number,
	// up to maxHandshakes, until a handshake is refused. It never falls below
	// minHandshakes.
	startHandshakes = 10
	maxHandshakes   = 64
	minHandshakes   = 4
)

// gates holds a gate for each address with a dial in progress.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

func newGates() *gates { return &gates{m: make(map[string]*gate)} }

// A gate limits the handshakes with one address by additive increase and
// multiplicative decrease.
type gate struct {
	users int // guarded by gates.mu

	mu      sync.Mutex
	limit   float64
	inside  int
	waiting []chan struct{} // closed on admission, in the order of arrival
	cuts    int             // number of reductions of the limit
	passed  int             // handshakes whose server sent its version line
	busiest int             // highest number of simultaneous handshakes
}

// borrow returns the gate of an address. The caller must call release.
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

// release removes the gate when its last user is gone.
func (g *gates) release(address string, a *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(g.m, address)
	}
}

// enter waits for admission. The ticket must be passed to leave.
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
		a.inside-- // admitted at the same moment
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

// next admits waiting handshakes.
func (a *gate) next() {
	for len(a.waiting) > 0 && a.inside < int(a.limit) {
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
		a.admit()
	}
}

// leave ends a handshake. A refused handshake halves the limit, unless it began
// before the limit was last reduced.
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

// busy reports whether the server probably refuses connections because of load:
// it has answered other handshakes, or many handshakes were open at once.
func (a *gate) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.passed > 0 || a.busiest > minHandshakes
}

// A dialFunc opens the stream to an endpoint.
type dialFunc func(ctx context.Context) (stream, error)

// connect dials and runs the handshake until it succeeds, fails, or the server
// has refused it for too long.
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
			// Nothing indicates load: the SSH server is probably not running.
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

// The texts that sshd sends when it refuses a connection (sshd.c).
const (
	startupsText = "Exceeded MaxStartups"
	penaltyText  = "Not allowed at this time"
)

// wasShed reports whether an attempt ended in the way in which a busy server
// ends it. If a proxy command ends, that does not count, unless the server's
// text came through it.
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
