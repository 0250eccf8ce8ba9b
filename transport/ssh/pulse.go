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
	beatQuiet beat = iota // something has come, and gone
	beatAsk               // ask for a sign of life
	beatDead              // too many questions have had no answer
)

// A pulse decides when a peer is asked for a sign of life and when it counts
// as dead. One beat follows another after an interval.
type pulse struct {
	interval time.Duration
	misses   int // questions that may stay open; -1: any number

	received, sent uint64
	last           moment
	silent         int
}

// next is one beat, at a moment when so many bytes had come and gone in all.
// The peer may count what it hears from us (sshd_config(5), ClientAliveInterval),
// so we speak once an interval, too.
//
// A beat that comes far too late says that we were stopped or suspended. What
// the peer has sent meanwhile may not be read yet, so it is asked anew.
func (p *pulse) next(now moment, received, sent uint64) beat {
	late := now.since(p.last) > 2*p.interval
	p.last = now
	mute := sent == p.sent
	p.sent = sent
	switch {
	case received != p.received:
		p.received, p.silent = received, 0
		if mute {
			return beatAsk
		}
		return beatQuiet
	case late:
		p.silent = 0
	case p.silent == p.misses:
		return beatDead
	}
	p.silent++
	return beatAsk
}

// A keeper asks the peer of one connection for signs of life. It has two timers
// and, while a question is open, a goroutine of the Conn's crew.
type keeper struct {
	patience time.Duration // with a peer that owes an answer; 0: any

	mu    sync.Mutex
	pulse pulse
	timer *time.Timer   // of the next beat
	open  chan struct{} // closed when the question under way has an answer; nil: there is none
	over  bool

	// An answer is owed while a command has begun and nothing has come since.
	owed              *time.Timer // nil before it was first wanted
	owing             bool
	asked             bool   // for a sign of life, in vain so far
	owedFrom          uint64 // bytes received when it began
	owedSince, owedAt moment // when it began, and when owed was last set
}

// beatGrid is what beats are a multiple of: those of many connections come
// together, so that one wake-up serves them, and their answers too.
const beatGrid = time.Second

// untilBeat is the time from now to the beat that is an interval away, or up to
// half a beatGrid sooner or later.
func untilBeat(now time.Time, interval time.Duration) time.Duration {
	if interval < 2*beatGrid {
		return interval
	}
	due := now.Add(interval)
	return interval + due.Round(beatGrid).Sub(due)
}

// keep begins to watch.
func (c *Conn) keep() {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.patience = c.e.patience()
	k.pulse = pulse{interval: c.e.keepalive, misses: c.e.keepaliveMisses, received: c.wire.received.Load(), sent: c.wire.sent.Load(), last: c.wire.now()}
	k.timer = time.AfterFunc(untilBeat(time.Now(), c.e.keepalive), func() { c.work.run(c.beat) })
}

// unkeep ends the watch.
func (c *Conn) unkeep() {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.timer.Stop()
	if k.owed != nil {
		k.owed.Stop()
	}
}

// expect is told that a command begins. If nothing at all comes for as long as
// it may take to connect, the peer is gone: whoever would have waited so long
// for a new connection need not wait for the keepalive of this one.
func (c *Conn) expect() {
	k := &c.keeper
	if k.patience <= 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	received := c.wire.received.Load()
	if k.over || k.owing && k.owedFrom == received {
		return // the time of a command before this one runs
	}
	k.owedFrom, k.owedSince, k.asked = received, c.wire.now(), false
	if !k.owing {
		k.owing = true
		c.setOwed(k.patience / 2)
	}
}

// setOwed needs the keeper's lock.
func (c *Conn) setOwed(after time.Duration) {
	k := &c.keeper
	k.owedAt = c.wire.now()
	if k.owed == nil {
		k.owed = time.AfterFunc(after, func() { c.work.run(c.overdue) })
	} else {
		k.owed.Reset(after)
	}
}

// overdue asks for a sign of life in the middle of the time, and gives the
// connection up at its end; unless we have slept ourselves.
func (c *Conn) overdue() {
	k := &c.keeper
	k.mu.Lock()
	slept := c.wire.now().since(k.owedAt) > k.patience
	switch {
	case k.over:
	case c.wire.received.Load() != k.owedFrom || !c.warm.busy():
		k.owing = false
	case k.asked && !slept:
		k.owing = false
		k.mu.Unlock()
		c.fail(fmt.Errorf("nothing has come for %v", k.patience))
		return
	case c.wire.now().since(k.owedSince) < k.patience/2:
		c.setOwed(k.patience/2 - c.wire.now().since(k.owedSince)) // it began later than the one that owed was set for
	default:
		k.asked = true
		c.setOwed(k.patience / 2)
		k.mu.Unlock()
		c.ask()
		return
	}
	k.mu.Unlock()
}

func (c *Conn) beat() {
	k := &c.keeper
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	what := k.pulse.next(c.wire.now(), c.wire.received.Load(), c.wire.sent.Load())
	if what != beatDead {
		k.timer.Reset(untilBeat(time.Now(), k.pulse.interval))
	}
	k.mu.Unlock()
	switch what {
	case beatAsk:
		c.ask()
	case beatDead:
		c.fail(fmt.Errorf("no sign of life for %v", c.wire.silence().Round(time.Second)))
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
