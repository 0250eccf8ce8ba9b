package pool

import (
	"slices"
	"time"
)

const (
	// A key gets as many connections as enoughSessions sessions need: four if the
	// server has OpenSSH's default limit. More sessions would load the machine, and no
	// fan-out needs them.
	enoughSessions = 32

	// minLinks is the number of connections that a key can always get, because a
	// connection may be slow or full of commands that hang.
	minLinks = 4

	// maxLinks bounds the connections of a key whose server allows one or two
	// sessions on each. A connection is two processes of sshd.
	maxLinks = 16

	// extraPause is the pause after a failed extra dial.
	extraPause = time.Minute
)

// A peer is the Pool's state for one key. Its fields except key and name are guarded
// by Pool.mu, and its methods must be called with Pool.mu held.
type peer struct {
	key  string
	name string // of the first destination with this key

	links    []*link // links that are not retired, the oldest first
	leases   int     // not closed
	dials    int     // goroutines that dial
	dial     *dial   // the dial that requests wait for, or nil
	extras   int     // dials of further links; no request depends on them
	arrivals queue   // of the leases that wait for any connection
	queue    queue   // of requests that wait for a session
	saved    uint64
	limit    int // of sessions on a new link, once a link was refused one; 0 before

	took     time.Duration // by the last dial that succeeded
	alarm    *alarm        // starts dials of further links; nil if none is set
	notUntil time.Time     // no extra dial before this time
}

// tidy forgets a peer that has no links, leases and dials. It must be called with
// Pool.mu held.
func (p *Pool) tidy(pe *peer) {
	if len(pe.links) == 0 && pe.leases == 0 && pe.dials == 0 && p.peers[pe.key] == pe {
		delete(p.peers, pe.key)
	}
}

// remove removes a retired link.
func (pe *peer) remove(k *link, p *Pool) {
	i := slices.Index(pe.links, k)
	if i < 0 {
		return
	}
	pe.links = slices.Delete(pe.links, i, i+1)
	if len(pe.links) == 0 || !pe.links[0].extra {
		return
	}
	// The next link is now the peer's only or oldest one. Its idle time begins anew.
	heir := pe.links[0]
	heir.extra = false
	if heir.at.chain != nil {
		p.idle.remove(heir)
		heir.used = time.Now()
		p.idle.add(heir)
	}
}

// sweep retires the links on which nothing new may begin. It must be called with
// Pool.mu held.
func (p *Pool) sweep(pe *peer) {
	for i := 0; i < len(pe.links); {
		switch k := pe.links[i]; {
		case k.hasEnded():
			p.drop(k, hasEnded)
		case p.o.MaxAge > 0 && time.Since(k.born) >= p.o.MaxAge:
			p.retire(k, "old")
		default:
			i++
		}
	}
}

// free returns a link with a free session, or nil. It prefers the oldest link, so
// that the others become idle.
func (pe *peer) free() *link {
	for _, k := range pe.links {
		if k.active < k.sessions {
			return k
		}
	}
	return nil
}

// ensure begins a dial if a request waits and there is no link. It must be called
// with Pool.mu held.
func (p *Pool) ensure(pe *peer) {
	if p.closed || len(pe.links) > 0 || pe.dial != nil {
		return
	}
	switch {
	case pe.arrivals.n > 0:
		pe.arrivals.oldest().begin(false)
	case pe.queue.n > 0:
		pe.queue.oldest().begin(false)
	}
}

// dispatch gives free sessions to the waiting requests. It must be called with
// Pool.mu held.
func (p *Pool) dispatch(pe *peer) {
	for pe.queue.n > 0 {
		k := pe.free()
		if k == nil {
			break
		}
		w := pe.queue.pop()
		p.start(w.lease, k)
		w.serve(k)
	}
	p.await(pe)
}

// start puts a request on a link. It must be called with Pool.mu held.
func (p *Pool) start(l *lease, k *link) {
	k.active++
	p.idle.remove(k)
	if l.link == nil || l.link.retired {
		p.pin(l, k)
	}
}

// await sets the alarm for another link. A second connection helps only the requests
// that would wait longer for a session than for a dial.
func (p *Pool) await(pe *peer) {
	if !pe.wantsMore() || p.closed {
		pe.stopAlarm()
		return
	}
	if pe.alarm != nil {
		return
	}
	at := pe.queue.oldest().since.Add(pe.took)
	if at.Before(pe.notUntil) {
		at = pe.notUntil
	}
	a := new(alarm)
	a.timer = time.AfterFunc(time.Until(at), func() { p.expand(pe, a) })
	pe.alarm = a
}

// An alarm fires when requests have waited as long as a dial takes. If it was stopped
// too late, it takes the lock and finds that it is not the peer's alarm any more.
type alarm struct{ timer *time.Timer }

func (pe *peer) stopAlarm() {
	if pe.alarm != nil {
		pe.alarm.timer.Stop()
		pe.alarm = nil
	}
}

// expand begins dials of further links if the alarm is still the peer's alarm.
func (p *Pool) expand(pe *peer, a *alarm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pe.alarm != a || p.closed {
		return // stopped at this moment
	}
	pe.alarm = nil
	now := time.Now()
	for pe.wantsMore() && now.Sub(pe.queue.oldest().since) >= pe.took && !now.Before(pe.notUntil) {
		pe.queue.oldest().begin(true)
	}
	p.await(pe) // for the requests that have not waited long enough yet
}

// wantsMore reports whether another link must be dialed for the waiting requests.
// The number of dials in progress is at most the number of links, because each link
// proves that the server accepts a further login. So the number of links doubles.
func (pe *peer) wantsMore() bool {
	open, coming := len(pe.links), pe.extras
	if pe.dial != nil {
		coming++
	}
	if pe.queue.n == 0 || coming >= open {
		return false
	}
	each := pe.brings()
	return open+coming < linksFor(each) && coming*each < pe.queue.n
}

// brings estimates the number of sessions of a further link from the open links.
func (pe *peer) brings() int {
	most := 1
	for _, k := range pe.links {
		most = max(most, k.sessions)
	}
	return most
}

// linksFor returns the number of links that a key can have if each has this number of
// sessions.
func linksFor(sessions int) int {
	return min(max(enoughSessions/sessions, minLinks), maxLinks)
}

// instruct sets the limit of a new link to what the peer's other links have learned,
// which may have ended.
func (pe *peer) instruct(k *link) {
	if pe.limit > 0 && pe.limit < k.sessions {
		k.sessions, k.refused = pe.limit, true
	}
}
