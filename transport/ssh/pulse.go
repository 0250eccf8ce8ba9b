package ssh

import (
	"fmt"
	"sync"
	"time"
)

// A moment is a time by two clocks. The monotonic clock stops while a laptop is
// suspended, and the wall clock can be set. The time between two moments is the
// longer of the two differences.
type moment struct{ mono, wall time.Duration }

func (m moment) since(before moment) time.Duration {
	return max(m.mono-before.mono, m.wall-before.wall)
}

// beat is the action that a beat of a pulse requires.
type beat uint8

const (
	beatQuiet beat = iota // data has arrived and was sent
	beatAsk               // send a keepalive
	beatDead              // too many keepalives have had no answer
)

// A pulse decides when a keepalive is sent to a peer and when the peer counts
// as dead. There is one beat per interval.
type pulse struct {
	interval time.Duration
	misses   int // keepalives that may stay unanswered; -1: any number

	received, sent uint64
	last           moment
	silent         int
}

// next is one beat. received and sent are the total numbers of bytes at the
// moment now. The peer may also watch for data from this side (sshd_config(5),
// ClientAliveInterval), so a keepalive is sent if nothing else was sent for an
// interval.
//
// If a beat comes far too late, this process was stopped or suspended. Data
// that the peer has sent meanwhile may not be read yet, so the count of misses
// starts again.
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

// A keeper sends keepalives on one connection. It has two timers and, while a
// keepalive is unanswered, a goroutine of the Conn's crew.
type keeper struct {
	patience time.Duration // time for which a peer may owe an answer; 0: no limit

	mu    sync.Mutex
	pulse pulse
	timer *time.Timer   // of the next beat
	open  chan struct{} // closed when the pending keepalive is answered; nil if none is pending
	over  bool

	// An answer is owed while a command has begun and nothing has arrived
	// since.
	owed              *time.Timer // nil until first needed
	owing             bool
	asked             bool   // a keepalive was sent and nothing has arrived yet
	owedFrom          uint64 // bytes received when it began
	owedSince, owedAt moment // when it began, and when owed was last set
}

// beatGrid is the multiple to which beats are rounded. So the beats of many
// connections fall together, and one wake-up of the process serves them and
// their answers.
const beatGrid = time.Second

// untilBeat returns the time from now to the next beat: the interval, changed
// by up to half a beatGrid.
func untilBeat(now time.Time, interval time.Duration) time.Duration {
	if interval < 2*beatGrid {
		return interval
	}
	due := now.Add(interval)
	return interval + due.Round(beatGrid).Sub(due)
}

// keep starts the keepalives.
func (c *Conn) keep() {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.patience = c.e.patience()
	k.pulse = pulse{interval: c.e.keepalive, misses: c.e.keepaliveMisses, received: c.wire.received.Load(), sent: c.wire.sent.Load(), last: c.wire.now()}
	k.timer = time.AfterFunc(untilBeat(time.Now(), c.e.keepalive), func() { c.work.run(c.beat) })
}

// unkeep stops the keepalives.
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

// expect is called when a command begins. If nothing at all arrives within the
// patience of the endpoint, the peer counts as dead. So a command on an open
// connection waits no longer for a dead peer than a new connection would.
func (c *Conn) expect() {
	k := &c.keeper
	if k.patience <= 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	received := c.wire.received.Load()
	if k.over || k.owing && k.owedFrom == received {
		return // the time of an earlier command is still running
	}
	k.owedFrom, k.owedSince, k.asked = received, c.wire.now(), false
	if !k.owing {
		k.owing = true
		c.setOwed(k.patience / 2)
	}
}

// setOwed sets the timer. The caller must hold the keeper's lock.
func (c *Conn) setOwed(after time.Duration) {
	k := &c.keeper
	k.owedAt = c.wire.now()
	if k.owed == nil {
		k.owed = time.AfterFunc(after, func() { c.work.run(c.overdue) })
	} else {
		k.owed.Reset(after)
	}
}

// overdue sends a keepalive in the middle of the time, and closes the
// connection at its end. It does not close the connection if this process was
// suspended.
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
		c.fail(fmt.Errorf("no data received for %v", k.patience))
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
		c.fail(fmt.Errorf("no data received for %v", c.wire.silence().Round(time.Second)))
	}
}

// ask sends a keepalive, unless one is pending. The channel is closed when the
// keepalive is answered or the connection has ended.
func (c *Conn) ask() <-chan struct{} {
	k := &c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open != nil {
		return k.open
	}
	answered := make(chan struct{})
	if !c.work.start(func() {
		// Any answer counts, including a refusal (OpenSSH's PROTOCOL). The wire
		// counts the received bytes.
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
