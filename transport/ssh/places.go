package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

const (
	firstSessionDelay = 20 * time.Millisecond
	maxSessionDelay   = time.Second

	// sessionBudget is how long a connection without any session of ours may
	// refuse one. While others of ours run, waiting is queueing and has no end.
	sessionBudget = 10 * time.Second

	// relearnAfter is how many sessions must open before one more at a time
	// is tried again.
	relearnAfter = 32

	// roomToHold is how many places must be left when a session is held.
	roomToHold = 2
)

// places limits the sessions of a connection, below the server's MaxSessions.
type places struct {
	mu      sync.Mutex
	limit   int // now
	most    int // ever
	taken   int
	opened  int             // since the limit last changed
	taught  bool            // the server has refused a session
	waiting []chan struct{} // closed with a place given

	// left are sessions that we have given up and the server has not closed:
	// what runs there may never end, and keeps its place till then.
	left map[*session]time.Time
}

// lostAfter is how long after it was given up a session's place counts as lost:
// far more than the server needs to close a channel whose process has ended.
const lostAfter = time.Second

// leave notes that a session has been given up.
func (p *places) leave(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-s.done:
		return
	default:
	}
	if p.left == nil {
		p.left = make(map[*session]time.Time)
	}
	p.left[s] = time.Now()
}

// end gives the place of a session back that the server has closed.
func (p *places) end(s *session) {
	p.mu.Lock()
	delete(p.left, s)
	p.mu.Unlock()
	p.release()
}

// free is how many sessions may run as long as those that are lost do not end.
func (p *places) free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.limit
	for _, at := range p.left {
		if time.Since(at) >= lostAfter {
			n--
		}
	}
	return max(0, n)
}

// try takes a place if one is free and nobody waits.
func (p *places) try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 || p.taken >= p.limit {
		return false
	}
	p.taken++
	return true
}

// hold takes a place for a session that waits for work, if requests have
// enough besides and the server's limit, which they might meet, is not near.
func (p *places) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taught || len(p.waiting) > 0 || p.taken+roomToHold >= p.limit {
		return false
	}
	p.taken++
	return true
}

// short reports whether somebody waits for a place.
func (p *places) short() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0
}

// take waits for a place; queued is called when it has to. It returns false if
// ctx or the connection ends first, or when all places are lost.
func (p *places) take(ctx context.Context, ended <-chan struct{}, queued func()) bool {
	if p.try() {
		return true
	}
	p.mu.Lock()
	turn := make(chan struct{})
	p.waiting = append(p.waiting, turn)
	p.give()
	p.mu.Unlock()
	queued()
	if p.await(ctx, turn, ended) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return false
		}
	}
	p.taken-- // given at the same moment
	p.give()
	return false
}

// await is the wait of take.
func (p *places) await(ctx context.Context, turn, ended <-chan struct{}) bool {
	look := time.NewTicker(lostAfter)
	defer look.Stop()
	for p.free() > 0 {
		select {
		case <-turn:
			return true
		case <-ctx.Done():
			return false
		case <-ended:
			return false
		case <-look.C:
		}
	}
	return false
}

func (p *places) give() {
	for len(p.waiting) > 0 && p.taken < p.limit {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.taken++
	}
}

func (p *places) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.give()
}

// refused gives a place back that the server did not have: the limit falls
// to what is open. It returns how many others are.
func (p *places) refused() (others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.taught = true
	p.limit = max(1, min(p.limit, p.taken))
	p.opened = 0
	p.give()
	return p.taken
}

// used counts a session that was opened.
func (p *places) used() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened++; p.opened >= relearnAfter && p.limit < p.most {
		p.opened = 0
		p.limit++
		p.give()
	}
}

// opened is a channel with its requests, or why there is none.
type opened struct {
	ch   ssh.Channel
	reqs *requests
	err  error
}

// openChannel opens a channel. When ctx or the connection ends first, the
// channel is closed as soon as it is there.
func (c *Conn) openChannel(ctx context.Context, kind string, extra []byte) (opened, error) {
	results := make(chan opened)
	asked := c.work.start(func() {
		ch, reqs, err := c.mux.OpenChannel(kind, extra)
		o := opened{ch, &requests{in: reqs}, err}
		select {
		case results <- o:
			return
		case <-ctx.Done():
		case <-c.ended:
		}
		if err == nil {
			c.abandon(o)
		}
	})
	if !asked {
		return opened{}, c.lostError("")
	}
	select {
	case o := <-results:
		if _, refused := errors.AsType[*ssh.OpenChannelError](o.err); o.err != nil && !refused {
			return o, c.lostError("")
		}
		return o, o.err
	case <-ctx.Done():
		return opened{}, ctx.Err()
	case <-c.ended:
		return opened{}, c.lostError("")
	}
}

// newSession opens a session. One that the server has no room for is tried
// again: when another of ours ends, or after a while.
func (c *Conn) newSession(ctx context.Context) (opened, error) {
	delay := firstSessionDelay
	var refusedFrom time.Time
	for {
		if !c.places.take(ctx, c.ended, c.warm.yield) {
			if ctx.Err() != nil {
				return opened{}, c.interrupted(ctx, "waiting for a free session")
			}
			if !c.isOver() {
				return opened{}, &transport.Error{Class: transport.ClassConnect, Code: codeConnect,
					Msg: fmt.Sprintf("The connection to %s has no session left: commands that were given up have not ended there", c.e.to.Host)}
			}
			return opened{}, c.lostError("")
		}
		o, err := c.openChannel(ctx, "session", nil)
		if err == nil {
			c.places.used()
			return o, nil
		}
		refusal, refused := errors.AsType[*ssh.OpenChannelError](err)
		if !refused {
			c.places.release()
			if ctx.Err() != nil {
				return opened{}, c.interrupted(ctx, "opening a session")
			}
			return opened{}, err
		}
		if refusal.Reason != ssh.ConnectionFailed && refusal.Reason != ssh.ResourceShortage {
			c.places.release()
			return opened{}, &transport.Error{Class: transport.ClassUnsupported, Code: codeConnect, Err: err,
				Msg: fmt.Sprintf("%s opens no sessions: %s", c.e.to.Host, cmp.Or(farText(refusal.Message), refusal.Reason.String()))}
		}
		others := c.places.refused()
		c.warm.yield()
		if others > 0 {
			refusedFrom = time.Time{}
		} else if refusedFrom.IsZero() {
			refusedFrom = time.Now()
		} else if time.Since(refusedFrom) > sessionBudget {
			return opened{}, &transport.Error{Class: transport.ClassThrottled, Code: codeConnect, Err: err,
				Msg:  fmt.Sprintf("%s has had no free session for %v: %s", c.e.to.Host, sessionBudget, cmp.Or(farText(refusal.Message), refusal.Reason.String())),
				Hint: "Raise MaxSessions in its sshd_config; processes that outlive their session keep its place."}
		}
		c.log.Debug("session refused, trying again", "target", c.e.to.Host, "delay", delay)
		if err := pause(ctx, delay/2+rand.N(delay)); err != nil {
			return opened{}, c.interrupted(ctx, "waiting for a free session")
		}
		delay = min(delay*2, maxSessionDelay)
	}
}
