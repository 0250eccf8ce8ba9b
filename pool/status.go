package pool

import (
	"cmp"
	"slices"
	"time"

	"bolt/transport"
)

// The states of a Connection.
const (
	Dialing = "dialing"
	Idle    = "idle"
	Busy    = "busy"    // leased
	Closing = "closing" // nothing new is begun on it
)

// A Connection is the state of one at a moment.
type Connection struct {
	Peer       string // user@address:port and jump hosts; as it was asked for while it is being dialed
	State      string
	Age        time.Duration // since it was opened; while dialing, since then
	Idle       time.Duration // since its last use; 0 while busy
	InFlight   int           // commands and copies that run on it
	Waiting    int           // for a session of this or the peer's other connections
	Sessions   int           // that the server allows at a time, as far as known
	Runs       uint64        // commands and copies so far
	DialsSaved uint64        // dials of this peer that were answered without one
	Sent       uint64        // bytes on the wire
	Received   uint64
}

// Totals are counted from the start of the Pool.
type Totals struct {
	Dials       uint64 // that opened a connection
	DialsSaved  uint64 // that were answered with a connection of somebody else
	DialsFailed uint64 // also those of further connections, which fail no request
	Runs        uint64 // commands and copies that have ended
}

// Totals returns the sums so far.
func (p *Pool) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.Totals
}

// Busy reports whether somebody has a lease or waits for one.
func (p *Pool) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy()
}

// busy is locked.
func (p *Pool) busy() bool { return p.counts.leases > 0 || len(p.dials) > 0 }

// IdleSince returns when the Pool was last of use to anybody, the time of New
// if it never was, and the zero time while it is busy.
func (p *Pool) IdleSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy() {
		return time.Time{}
	}
	return p.counts.lastUse
}

// Connections returns all that are open or being dialed, in the order of their
// peers.
func (p *Pool) Connections() []Connection {
	type held struct {
		Connection
		link transport.Link
	}
	p.mu.Lock()
	now := time.Now()
	all := make([]held, 0, len(p.all)+len(p.dials))
	for k := range p.all {
		if k.hasEnded() && k.unused() {
			continue // it is gone, and only nobody has looked yet
		}
		all = append(all, held{k.describe(now), k.link})
	}
	for d := range p.dials {
		c := Connection{Peer: d.peer.name, State: Dialing, Age: now.Sub(d.began)}
		if len(d.peer.links) == 0 && d.peer.dial == d {
			c.Waiting = d.peer.arrivals.n + d.peer.queue.n
		}
		all = append(all, held{c, nil})
	}
	p.mu.Unlock()
	list := make([]Connection, len(all))
	for i, h := range all {
		if h.link != nil {
			s := h.link.Stats()
			h.Peer, h.Sent, h.Received = s.Peer, s.Sent, s.Received
			h.Sessions = min(h.Sessions, s.Sessions) // the pool may have learned a lower limit on another connection
		}
		list[i] = h.Connection
	}
	slices.SortFunc(list, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(b.Age, a.Age))
	})
	return list
}

// describe is locked.
func (k *link) describe(now time.Time) Connection {
	c := Connection{Peer: k.peer.name, State: Busy, Age: now.Sub(k.born), InFlight: k.active, Sessions: k.sessions, Runs: k.runs}
	switch {
	case k.retired:
		c.State = Closing
	case k.unused():
		c.State, c.Idle = Idle, now.Sub(k.used)
	}
	if len(k.peer.links) > 0 && k.peer.links[0] == k {
		c.Waiting, c.DialsSaved = k.peer.queue.n, k.peer.saved
	}
	return c
}
