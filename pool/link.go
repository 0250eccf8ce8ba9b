package pool

import (
	"time"

	"bolt/transport"
)

// A link is one open connection.
type link struct {
	peer *peer
	conn transport.Conn
	link transport.Link  // conn as such; nil: it cannot be kept, and serves only those who waited for it
	done <-chan struct{} // of link
	born time.Time

	// The rest is guarded by Pool.mu.
	users    int  // leases that pin it
	active   int  // requests in flight
	sessions int  // requests that can be in flight, as far as known
	refused  bool // the server has refused a session, so sessions is its limit
	runs     uint64
	used     time.Time // when it was last given back
	extra    bool      // another of the peer's is older
	retired  bool
	leaving  bool
	why      string // it is retired
	at       spot   // in Pool.idle
}

// unlimited is the number of sessions of a connection that tells none.
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

// hasEnded reports whether the connection is gone.
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
// have been in flight together. Locked.
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

// unused is locked.
func (k *link) unused() bool { return k.users == 0 && k.active == 0 }

// pin gives a lease its link, or another one, or none (nil); locked.
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

// settle does what is due when a link may have become unused; locked.
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

// retire lets nothing new begin on a link, which is closed when it is unused;
// locked.
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

// shut closes a link in the background, whatever runs on it; locked.
func (p *Pool) shut(k *link) {
	if !k.leaving {
		p.leave(k, "")
		p.work.Go(func() { p.closeLink(k) })
	}
}

// leave takes a link out of everything but the count of open ones; closeLink
// has to follow. Locked.
func (p *Pool) leave(k *link, why string) {
	k.leaving = true
	p.room.leaving++
	if !k.retired {
		k.retired, k.why = true, why
		p.idle.forget(k)
		k.peer.remove(k, p)
	}
}

// hasEnded is why a link goes that the peer, or the network, has ended.
const hasEnded = "it has ended"

// closeLink closes what leave has taken out.
func (p *Pool) closeLink(k *link) {
	err := k.conn.Close()
	say := p.log.Debug
	if k.why == hasEnded {
		say = p.log.Info // nobody here wanted that
	}
	say("connection closed", "peer", k.peer.name, "why", k.why, "age", time.Since(k.born), "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, k)
	p.room.leaving--
	p.exit()
	p.tidy(k.peer)
}

// ended is told by the watchers that a connection is gone.
func (p *Pool) ended(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || k.leaving {
		return
	}
	p.drop(k, hasEnded)
}

// drop closes a link at once, whatever runs on it; locked.
func (p *Pool) drop(k *link, why string) {
	p.retire(k, why)
	p.shut(k)
}
