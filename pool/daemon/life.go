package daemon

import (
	"sync"
	"time"
)

// A life decides when the daemon ends. It counts the clients, requests and
// leases that keep the daemon alive.
type life struct {
	idleTimeout time.Duration
	inUse       func() bool   // reports whether any client uses a connection
	giveBack    func()        // frees memory, restAfter the last client
	over        chan struct{} // closed when it is time to end

	mu       sync.Mutex
	clients  int // connected, or with work that has not ended
	requests int // in progress, except controls
	leases   int
	draining bool
	why      string // why it ends; "" before
	timer    *time.Timer
	rest     *time.Timer // for giveBack
}

func newLife(idleTimeout time.Duration, inUse func() bool) *life {
	return &life{idleTimeout: idleTimeout, inUse: inUse, giveBack: new(rest).giveBack, over: make(chan struct{})}
}

// start starts the timers that wait for the first client.
func (l *life) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == "" {
		l.timer = time.AfterFunc(l.idleTimeout, l.idle)
		l.rest = time.AfterFunc(restAfter, l.giveBack)
	}
}

// idle ends the daemon if it has no work.
func (l *life) idle() {
	busy := l.inUse()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != "" || l.clients > 0:
	case busy:
		l.timer.Reset(l.idleTimeout)
	default:
		l.finish("idle")
	}
}

// finish must be called with the lock held.
func (l *life) finish(why string) {
	if l.why != "" {
		return
	}
	l.why = why
	if l.timer != nil {
		l.timer.Stop()
		l.rest.Stop()
	}
	close(l.over)
}

// end ends the daemon, unless it is ending already.
func (l *life) end(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(why)
}

// reason returns why the daemon ends; "" if it does not.
func (l *life) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// enter counts a client. It reports false if there are limit clients already or
// the daemon ends.
func (l *life) enter(limit int) (n int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != "" || l.clients >= limit {
		return l.clients, false
	}
	l.clients++
	if l.timer != nil {
		l.timer.Stop()
		l.rest.Stop()
	}
	return l.clients, true
}

func (l *life) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients--
	if l.clients == 0 && l.timer != nil && l.why == "" {
		l.timer.Reset(l.idleTimeout)
		l.rest.Reset(restAfter)
	}
}

// add counts requests and leases that begin or end.
func (l *life) add(requests, leases int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests += requests
	l.leases += leases
	l.drained()
}

// drained must be called with the lock held.
func (l *life) drained() {
	if l.draining && l.requests == 0 && l.leases == 0 {
		l.finish("drained")
	}
}

// drain ends the daemon as soon as no request and no lease is left.
func (l *life) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	l.drained()
}

// yield ends the daemon in favour of another one, if its only client has no
// requests and no leases.
func (l *life) yield(why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clients > 1 || l.requests > 0 || l.leases > 0 {
		return false
	}
	l.finish(why)
	return true
}

// A pulse is a snapshot of a life.
type pulse struct {
	clients, requests int
	draining, ending  bool
}

func (l *life) pulse() pulse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return pulse{l.clients, l.requests, l.draining, l.why != ""}
}
