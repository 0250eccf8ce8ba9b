// Package pool keeps the connections of another transport.Dialer open. A Pool is a
// Dialer whose callers share connections if they ask for the same one
// (transport.Route.Key). A connection stays open for a while after its last use, and
// the number of connections is limited.
//
// Dial returns a lease: a transport.Conn (and transport.Archiver) whose Close gives
// the connection back. The number of concurrent requests on one connection stays
// within the server's limit (transport.LinkStats.Sessions). The other requests wait,
// and the callers take turns. If a connection ends and provably did not begin a
// request, the Pool makes the request again on another connection, at most maxAgain
// times. A request that may have begun is never made again.
//
// A Pool owns its connections, a goroutine that waits until the next connection must
// be closed (in an idle pool it never wakes), a goroutine for each dial and each
// connection being closed, and one for every watchWidth open connections, which
// detects their end. Pool.Close ends all of them and waits for them.
package pool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bolt/transport"
)

// Ownership, for maintainers:
//
// A peer is the state of one key: its links (usually one), the dial in progress, and
// the waiting requests. A link is one open connection. A lease belongs to its
// caller. It pins one link of its peer, so that the link does not become idle. Each
// of its requests takes a session on the first link of the peer that is free.
//
// One mutex, Pool.mu, guards all of it: peers, links, leases, queues. No other lock
// of this package is held together with it (watchers.mu is taken alone). No method
// of the other Dialer (Route, Dial, Check, Stats, Run, Close) is called under it. So
// no lock order can be violated. It is held for some hundred nanoseconds at a time.
//
// The number of requests on a link: active is at most sessions when a request
// starts on it (free, start). If the server refuses a session, a link of package ssh
// whose NoQueue was called returns the request instead of queuing it. release then
// lowers sessions below active, under Pool.mu, and the request takes its old place in
// the peer's queue. Therefore the same request is refused again only after sessions
// has risen or another link is free, and a request never waits on one link while
// another link is free. Dials of further links (extras) do not belong to a request:
// no request joins or abandons them. An extra that no request needs any more is not
// cancelled, because sshd (PerSourcePenalties) refuses addresses that disconnect several
// times before they have logged in. A peer that loses its links dials again, even if
// extras are in progress.
//
// A link is in one of three states. Kept: it is in its peer's links and may get new
// work. Retired: it is only in Pool.all and ends with its last use. Leaving: a
// goroutine is closing it, and room.open still counts it.

const (
	// DefaultMaxConnections is more than the operators of one machine need, and less
	// than a raised limit of descriptors allows.
	DefaultMaxConnections = 10_000

	// DefaultIdleTimeout is longer than the pauses of a user at work.
	DefaultIdleTimeout = 15 * time.Minute

	// extraIdleTimeout is for further connections of a key, which only a burst of
	// requests needs.
	extraIdleTimeout = 30 * time.Second
)

// Options are the limits of a Pool. The zero value is ready to use.
type Options struct {
	// MaxConnections is how many connections are open or being opened at a
	// time; 0 for DefaultMaxConnections.
	MaxConnections int
	// IdleTimeout is how long an unused connection is kept; 0 for
	// DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxAge is the age from which a connection gets no new work and is closed after
	// its last use; 0 for never.
	MaxAge time.Duration
	// Logger gets each connection that is opened or closed, at debug level;
	// nil discards.
	Logger *slog.Logger
}

// A Pool is a transport.Dialer that keeps the connections of another one. It
// is safe for concurrent use.
type Pool struct {
	o    Options
	log  *slog.Logger
	self *owner // of Pool.Dial

	wake  chan struct{} // the janitor must wake earlier
	done  chan struct{} // closed by Close
	work  sync.WaitGroup
	watch *watchers

	mu     sync.Mutex
	closed bool
	peers  map[string]*peer
	all    map[*link]struct{} // all that are not closed yet
	dials  map[*dial]struct{}
	idle   idleness
	room   room
	counts counts
}

// counts are sums over the life of a Pool.
type counts struct {
	Totals
	leases  int // not closed
	lastUse time.Time
}

// New returns a pool of next's connections. It dials nothing by itself.
func New(next transport.Router, o Options) *Pool {
	if o.MaxConnections <= 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{
		o: o, log: log,
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		peers:  make(map[string]*peer),
		all:    make(map[*link]struct{}),
		dials:  make(map[*dial]struct{}),
		counts: counts{lastUse: time.Now()},
	}
	p.self = &owner{p: p, next: next}
	p.watch = newWatchers(p.done, p.ended)
	p.work.Go(p.janitor)
	return p
}

// Dial leases a connection of New's next. If a caller gives up, a dial that other
// callers wait for continues.
func (p *Pool) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	return p.self.Dial(ctx, to)
}

// For returns a Dialer of the same connections for another caller. next makes its
// routes and dials connections that do not exist yet. Routes with equal keys share
// connections, whichever caller made them. If requests must wait, the Dialers take
// turns.
func (p *Pool) For(next transport.Router) transport.Dialer {
	return &owner{p: p, next: next}
}

// Drain lets nothing new begin on the existing connections. Unused connections are
// closed now, the others after their last use.
func (p *Pool) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.all {
		p.retire(k, "drained")
	}
}

// CloseIdle closes up to n unused connections, the least recently used first, and
// returns how many it closed. It waits until they are closed.
func (p *Pool) CloseIdle(n int) int {
	p.mu.Lock()
	var going []*link
	for len(going) < n {
		k := p.idle.oldest()
		if k == nil {
			break
		}
		p.leave(k, "file descriptors are needed")
		going = append(going, k)
	}
	p.mu.Unlock()
	var work sync.WaitGroup
	for _, k := range going {
		work.Go(func() { p.closeLink(k) })
	}
	work.Wait()
	return len(going)
}

// Close ends all connections and the requests that run on them, and waits for the
// Pool's goroutines. Leases may still be closed afterwards.
func (p *Pool) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
		for d := range p.dials {
			d.cancel(errClosed)
		}
		for _, pe := range p.peers {
			pe.stopAlarm()
			pe.arrivals.failAll(closedError(pe.name))
			pe.queue.failAll(closedError(pe.name))
		}
		for k := range p.all {
			if !k.leaving {
				p.leave(k, "pool closed")
				p.work.Go(func() { p.closeLink(k) })
			}
		}
	}
	p.mu.Unlock()
	p.work.Wait()
	p.watch.wait()
	return nil
}
