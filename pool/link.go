package pool

import (
	"time"

	"bolt/transport"
)

// A link is one open connection.
type link struct {
	peer *peer
	conn transport.Conn
	link transport.Link  // conn as a Link; nil: it cannot be kept, and only the requests that waited for it use it
	done <-chan struct{} // of link
	born time.Time

	// The other fields are guarded by Pool.mu.
	users    int  // leases that pin it
	active   int  // requests in flight
	sessions int  // requests that can be in flight, as far as known
	refused  bool // the server has refused a session, so sessions is its limit
	runs     uint64
	used     time.Time // when it was last given back
	extra    bool      // the peer has an older link
	retired  bool
	leaving  bool
	why      string // why it is retired
	at       spot   // in Pool.idle
}

// unlimited is the number of sessions of a connection that reports none.
const unlimited = 1 << 20

func newLink(pe *peer, conn transport.Conn, now time.Time) *link {
	k := &link{peer: pe, conn: conn, born: now, used: now, sessions: unlimited}
	if l, ok := conn.(transport.Link); ok {
		k.link, k.done = l, l.Done()
		if q, ok := conn.(transport.Unqueued); ok {
			q.NoQueue() // the request goes back to the peer's queue (lease.do)
		}
		k.sessions = max(1, l.Stats().Sessions)
	}
	return k
}

// hasEnded reports whether the connection has ended.
func (k *link) hasEnded() bool {
	select {
	case <-k.done: // never, if nil
		return true
	default:
		return false
	}
}

// learn records the number of sessions that the connection reports after a request,
// and whether the server has refused a session. After a refusal, the limit is below
// the number of requests in flight. A higher number that the connection reports later
// then raises the limit by one step at a time, because the connection may not have
// reached the server's limit yet. The peer's limit rises to the number of requests that
// have been in flight together. learn must be called with Pool.mu held.
func (k *link) learn(told int, refused bool) {
	switch {
	case refused:
		k.sessions, k.refused = max(1, k.active-1), true
		k.peer.limit = k.sessions
	case k.refused:
		k.sessions = min(told, k.sessions+1)
		k.peer.limit = max(k.peer.limit, k.active)
	default:
		k.sessions = told
	}
}

// unused must be called with Pool.mu held.
func (k *link) unused() bool { return k.users == 0 && k.active == 0 }

// pin gives a lease a link, a different link, or none (nil). It must be called with
// Pool.mu held.
func (p *Pool) pin(l *lease, k *link) {
	old := l.link
	if old == k {
		return
	}
	l.link = k
	if k != nil {
		p.idle.remove(k)
		k.users++
	}
	if old != nil {
		old.users--
		p.settle(old)
	}
}

// settle handles a link that may have become unused. It must be called with Pool.mu
// held.
func (p *Pool) settle(k *link) {
	switch {
	case !k.unused() || k.leaving:
	case k.retired || p.closed:
		p.shut(k)
	case k.at.chain == nil:
		k.used = time.Now()
		p.idle.add(k)
		p.arm()
		p.makeRoom()
	}
}

// retire lets nothing new begin on a link. The link is closed when it is unused.
// retire must be called with Pool.mu held.
func (p *Pool) retire(k *link, why string) {
	if !k.retired {
		k.retired, k.why = true, why
		p.idle.forget(k)
		k.peer.remove(k, p)
	}
	if k.unused() {
		p.shut(k)
	}
	p.ensure(k.peer)
}

// shut closes a link in the background, even if requests run on it. It must be called
// with Pool.mu held.
func (p *Pool) shut(k *link) {
	if !k.leaving {
		p.leave(k, "")
		p.work.Go(func() { p.closeLink(k) })
	}
}

// leave removes a link from everything but the count of open links. The caller must
// then call closeLink. leave must be called with Pool.mu held.
func (p *Pool) leave(k *link, why string) {
	k.leaving = true
	p.room.leaving++
	if !k.retired {
		k.retired, k.why = true, why
		p.idle.forget(k)
		k.peer.remove(k, p)
	}
}

// hasEnded is the reason if the server or the network has ended a connection.
const hasEnded = "it has ended"

// closeLink closes a link after leave.
func (p *Pool) closeLink(k *link) {
	err := k.conn.Close()
	say := p.log.Debug
	if k.why == hasEnded {
		say = p.log.Info // the Pool did not close it
	}
	say("connection closed", "peer", k.peer.name, "why", k.why, "age", time.Since(k.born), "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, k)
	p.room.leaving--
	p.exit()
	p.tidy(k.peer)
}

// ended handles a connection that has ended; the watchers call it.
func (p *Pool) ended(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || k.leaving {
		return
	}
	p.drop(k, hasEnded)
}

// drop closes a link at once, even if requests run on it. It must be called with
// Pool.mu held.
func (p *Pool) drop(k *link, why string) {
	p.retire(k, why)
	p.shut(k)
}
