package pool

import (
	"cmp"
	"slices"
	"time"

	"bolt/transport"
)

// These are the states of a Connection.
const (
	Dialing = "dialing"
	Idle    = "idle"
	Busy    = "busy"    // leased
	Closing = "closing" // nothing new begins on it
)

// A Connection is the state of a connection at one moment.
type Connection struct {
	Peer       string // user@address:port and jump hosts; while it is being dialed, the destination as requested
	State      string
	Age        time.Duration // since it was opened; while dialing, since the dial began
	Idle       time.Duration // since its last use; 0 while busy
	InFlight   int           // running commands and copies
	Waiting    int           // requests that wait for a session of this or another connection of the peer
	Sessions   int           // that the server allows at a time, as far as known
	Runs       uint64        // commands and copies so far
	DialsSaved uint64        // dials of this peer that were answered with an open connection
	Sent       uint64        // bytes on the wire
	Received   uint64
}

// Totals are counted from the start of the Pool.
type Totals struct {
	Dials       uint64 // dials that opened a connection
	DialsSaved  uint64 // dials that were answered with a connection of another caller
	DialsFailed uint64 // also dials of further connections, whose failure fails no request
	Runs        uint64 // commands and copies that have ended
}

// Totals returns the sums so far.
func (p *Pool) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.Totals
}

// Busy reports whether there are leases or dials.
func (p *Pool) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy()
}

// busy must be called with Pool.mu held.
func (p *Pool) busy() bool { return p.counts.leases > 0 || len(p.dials) > 0 }

// IdleSince returns the end of the Pool's last use, the time of New if it was
// never used, and the zero time while it is busy.
func (p *Pool) IdleSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy() {
		return time.Time{}
	}
	return p.counts.lastUse
}

// Connections returns all connections that are open or being dialed, sorted by
// peer.
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
			continue // it has ended, and the Pool has not noticed yet
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

// describe must be called with Pool.mu held.
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
