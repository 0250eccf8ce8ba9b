package ssh

import (
	"fmt"
	"sync"
	"time"
)

// A moment is a time by both clocks. The monotonic one stands still while a
// laptop is suspended, the other may be set: what lies between two moments is
// the longer of the two.
type moment struct{ mono, wall time.Duration }

func (m moment) since(before moment) time.Duration {
	return max(m.mono-before.mono, m.wall-before.wall)
}

// What a pulse's beat calls for.
type beat uint8

const (
	beatQuiet beat = iota // something has come
	beatAsk               // ask for a sign of life
	beatDead              // too many questions have had no answer
)

// A pulse decides when a peer is asked for a sign of life and when it counts
// as dead. One beat follows another after an interval.
type pulse struct {
	interval time.Duration
	misses   int // questions that may stay open; -1: any number

	received uint64
	last     moment
	silent   int
}

// next is one beat, at a moment when so many bytes had come in all.
//
// A beat that comes far too late says that we were stopped or suspended. What
// the peer has sent meanwhile may not be read yet, so it is asked anew.
func (p *pulse) next(now moment, received uint64) beat {
	late := now.since(p.last) > 2*p.interval
	p.last = now
	switch {
	case received != p.received:
		p.received, p.silent = received, 0
		return beatQuiet
	case late:
		p.silent = 0
	case p.silent == p.misses:
		return beatDead
	}
	p.silent++
	return beatAsk
}

// A keeper asks the peer of one connection for signs of life. It has a timer
// and, while a question is open, a goroutine of the Conn's crew.
type keeper struct {
	mu    sync.Mutex
	pulse pulse
	timer *time.Timer   // nil before it began and after it has ended
	open  chan struct{} // closed when the question under way has an answer; nil: there is none
	over  bool
}

// keep begins to watch.
func (c *Conn) keep() {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pulse = pulse{interval: c.e.keepalive, misses: c.e.keepaliveMisses, received: c.wire.received.Load(), last: c.wire.now()}
	k.timer = time.AfterFunc(c.e.keepalive, func() { c.work.run(c.beat) })
}

// unkeep ends the watch.
func (c *Conn) unkeep() {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.timer.Stop()
}

func (c *Conn) beat() {
	k := &c.keeper
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	what := k.pulse.next(c.wire.now(), c.wire.received.Load())
	if what != beatDead {
		k.timer.Reset(k.pulse.interval)
	}
	silent := k.pulse.silent
	k.mu.Unlock()
	switch what {
	case beatAsk:
		c.ask()
	case beatDead:
		c.fail(fmt.Errorf("no answer to %d keepalives in %v", silent, time.Duration(silent)*c.e.keepalive))
	}
}

// ask sends a question, unless one is under way. The channel is closed when it
// has its answer or the connection has ended.
func (c *Conn) ask() <-chan struct{} {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open != nil {
		return k.open
	}
	answered := make(chan struct{})
	if !c.work.start(func() {
		// Any answer will do, a refusal too (OpenSSH's PROTOCOL); the wire
		// counts what comes.
		c.mux.SendRequest("keepalive@openssh.com", true, nil)
		k.mu.Lock()
		k.open = nil
		k.mu.Unlock()
		close(answered)
	}) {
		close(answered)
		return answered
	}
	k.open = answered
	return answered
}
