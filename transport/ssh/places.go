package ssh

import (
	"bolt/internal/safetext"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"bolt/transport"
	"golang.org/x/crypto/ssh"
)

const (
	firstSessionDelay = 20 * time.Millisecond
	maxSessionDelay   = time.Second

	// sessionBudget limits the time for which a server can refuse a session on
	// a connection that has no other sessions. If the connection has other
	// sessions, the request waits for one of them without limit.
	sessionBudget = 10 * time.Second

	// relearnAfter is the number of sessions that must open before the limit is
	// raised by one again.
	relearnAfter = 32

	// roomToHold is the number of places that must stay free when a place is
	// taken for a waiting session.
	roomToHold = 2
)

// places limits the number of sessions on a connection, below the server's
// MaxSessions.
type places struct {
	mu      sync.Mutex
	limit   int // the present limit
	most    int // the highest limit
	taken   int
	working int  // part of taken: places of requests, without spare sessions and shells
	opened  int  // sessions opened since the limit last changed
	taught  bool // the server has refused a session
	waiting []*turn

	// noQueue ends a request at once if the server has no free session and other
	// requests use sessions. Otherwise the request waits for one of these sessions.
	noQueue bool

	// left are sessions that bolt has closed and the server has not. Their
	// processes may never end, and they occupy places on the server until then.
	left map[*session]time.Time
}

// A turn is a request that waits for a place.
type turn struct {
	over    chan struct{} // closed when it has a place, or must not wait any longer
	crowded bool          // it has no place; set before over is closed
}

// lostAfter is the time after which the place of a closed session counts as
// lost. It is far longer than a server needs to close a channel whose process
// has ended.
const lostAfter = time.Second

// leave records that bolt has closed a session.
func (p *places) leave(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.vacated {
		return
	}
	p.rested(s)
	if p.left == nil {
		p.left = make(map[*session]time.Time)
	}
	p.left[s] = time.Now()
}

// closed records that the server has closed a session; s is nil if nothing has run in
// it. Its place is still taken. taught reports whether the server is known to allow
// fewer sessions than bolt would open.
func (p *places) closed(s *session) (taught bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s != nil {
		s.vacated = true
		delete(p.left, s)
		p.rested(s)
	}
	return p.taught
}

// rest records that no request uses a session any more. It is called before the
// request itself can see that the session has ended, because the next request
// may come at that moment.
func (p *places) rest(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rested(s)
}

// rested is rest for callers that hold the lock.
func (p *places) rested(s *session) {
	if !s.rested {
		s.rested = true
		p.working--
	}
}

// claim records that a request uses a place that was taken in advance.
func (p *places) claim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working++
	p.give()
}

// giveBack releases the place of a request that has opened no session.
func (p *places) giveBack() {
	p.mu.Lock()
	p.working--
	p.mu.Unlock()
	p.release()
}

// crowded reports whether a request must fail at once instead of waiting.
func (p *places) crowded() bool {
	return p.noQueue && p.taught && p.working >= p.limit
}

// vacate releases the place of a session that the server has closed. sshd frees
// its own place only after it has read our close message and everything that
// came with it: it refuses a request for a session in the same packet. So if
// the server has shown its limit, the place is free only after its next answer.
func (c *Conn) vacate(s *session) {
	if c.places.closed(s) {
		c.awaitAnswer()
	}
	c.places.release()
}

// questions coordinates the requests of awaitAnswer: one at a time, so that a
// server that does not answer does not cost a goroutine for each session.
type questions struct {
	mu     sync.Mutex
	asking bool
	next   chan struct{} // closed with the answer to the next request; nil if nothing waits for it
}

// awaitAnswer sends a request after all messages sent so far. It returns when the
// server has answered, after answerTakes, or when the connection ends.
func (c *Conn) awaitAnswer() {
	q := &c.questions
	q.mu.Lock()
	if q.next == nil {
		q.next = make(chan struct{})
	}
	answered := q.next
	if !q.asking {
		q.asking = c.work.start(c.askAll)
	}
	asking := q.asking
	q.mu.Unlock()
	if !asking {
		return // the connection ends
	}
	late := time.NewTimer(answerTakes)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	case <-c.ended:
	}
}

// askAll sends requests as long as any goroutine waits for an answer.
func (c *Conn) askAll() {
	q := &c.questions
	for {
		q.mu.Lock()
		answered := q.next
		q.next = nil
		q.asking = answered != nil
		q.mu.Unlock()
		if answered == nil {
			return
		}
		c.mux.SendRequest("keepalive@openssh.com", true, nil) // a refusal is an answer, too
		close(answered)
	}
}

var _ transport.Unqueued = (*Conn)(nil)

// NoQueue makes a Conn a transport.Unqueued. By default, requests for which the
// server has no session wait for a session of this connection.
func (c *Conn) NoQueue() {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	c.places.noQueue = true
}

// free returns the number of sessions that can run while lost sessions do not
// end.
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

// try takes a place if one is free and no request waits.
func (p *places) try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 || p.taken >= p.limit {
		return false
	}
	p.taken++
	return true
}

// hold takes a place for a session that waits for work. It fails if requests
// have too few places left, or if the server has shown a limit.
func (p *places) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taught || len(p.waiting) > 0 || p.taken+roomToHold >= p.limit {
		return false
	}
	p.taken++
	return true
}

// single reports whether the server is known to allow one session only.
func (p *places) single() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taught && p.limit < 2
}

// probe raises a limit of one session to two, so that the next request asks the
// server. It reports whether it did.
func (p *places) probe() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.taught || p.limit >= 2 {
		return false
	}
	p.limit, p.opened = 2, 0
	p.give()
	return true
}

// short reports whether any request waits for a place.
func (p *places) short() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0
}

// errCrowded is the error of a request that must not wait for a place.
var errCrowded = errors.New("other requests use all sessions")

// errNoPlace is the error of a request that got no place for any other reason.
var errNoPlace = errors.New("no free session")

// take waits for a place. It calls queued if it has to wait. It returns errCrowded if
// the request must not wait, or not any longer. It returns errNoPlace if ctx or the connection ends first, or if all places are lost.
func (p *places) take(ctx context.Context, ended <-chan struct{}, queued func()) error {
	p.mu.Lock()
	if len(p.waiting) == 0 && p.taken < p.limit {
		p.taken++
		p.working++
		p.mu.Unlock()
		return nil
	}
	if p.crowded() {
		p.mu.Unlock()
		return errCrowded
	}
	t := &turn{over: make(chan struct{})}
	p.waiting = append(p.waiting, t)
	p.give()
	p.mu.Unlock()
	queued()
	if p.await(ctx, t.over, ended) {
		if t.crowded {
			return errCrowded
		}
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w == t {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return errNoPlace
		}
	}
	if t.crowded {
		return errCrowded
	}
	p.taken-- // the place was given at the same moment
	p.working--
	p.give()
	return errNoPlace
}

// await waits for take.
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

// give gives the free places to the waiting requests. The others end if they must not wait any longer, because the
// limit has fallen or a request has taken the place of a spare session.
func (p *places) give() {
	for len(p.waiting) > 0 && p.taken < p.limit {
		close(p.waiting[0].over)
		p.waiting = p.waiting[1:]
		p.taken++
		p.working++
	}
	if p.crowded() {
		for _, t := range p.waiting {
			t.crowded = true
			close(t.over)
		}
		p.waiting = nil
	}
}

func (p *places) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.give()
}

// refused releases a place for which the server had no session. The limit
// becomes the number of open sessions.
func (p *places) refused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fall()
}

// refusedRequest calls refused for the place of a request. It returns the number of
// other places that are taken, and whether the request must not wait for one of them.
func (p *places) refusedRequest() (others int, crowded bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
	p.fall()
	return p.taken, p.crowded()
}

// fall is refused for callers that hold the lock.
func (p *places) fall() {
	p.taken--
	p.taught = true
	p.limit = max(1, min(p.limit, p.taken))
	p.opened = 0
	p.give()
}

// used counts an opened session.
func (p *places) used() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened++; p.opened >= relearnAfter && p.limit < p.most {
		p.opened = 0
		p.limit++
		p.give()
	}
}

// opened is a channel with its requests, or the error of opening it.
type opened struct {
	ch   ssh.Channel
	reqs *requests
	err  error
}

// openOn calls x/crypto's OpenChannel and returns when the connection ends. OpenChannel
// itself never returns if x/crypto ends the connection during the call because the
// server has violated the protocol.
func (c *Conn) openOn(kind string, extra []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	results := make(chan result, 1)
	go func() {
		ch, reqs, err := c.mux.OpenChannel(kind, extra)
		results <- result{ch, reqs, err}
	}()
	var r result
	select {
	case r = <-results:
	case <-c.ended:
		// A channel that was opened at that moment has ended with the connection.
		r.err = net.ErrClosed
	}
	return r.ch, r.reqs, r.err
}

// openChannel opens a channel. If ctx or the connection ends first, it closes
// the channel as soon as it is open.
func (c *Conn) openChannel(ctx context.Context, kind string, extra []byte) (opened, error) {
	results := make(chan opened)
	asked := c.work.start(func() {
		ch, reqs, err := c.openOn(kind, extra)
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

// sessionsTaken returns the error of a request that the server refuses a session.
func (c *Conn) sessionsTaken() *transport.Error {
	return &transport.Error{Class: transport.ClassThrottled, Code: codeConnect, Err: transport.ErrSessionsTaken,
		Msg:  fmt.Sprintf("%s allows no further session on this connection", c.e.to.Host),
		Hint: "Increase MaxSessions in the server's sshd_config."}
}

// newSession opens a session. If the server has no room for it, newSession
// tries again when another session of the connection ends, or after a delay.
func (c *Conn) newSession(ctx context.Context) (opened, error) {
	delay := firstSessionDelay
	var refusedFrom time.Time
	for {
		err := c.places.take(ctx, c.ended, c.warm.yield)
		if err == errCrowded {
			c.warm.yield()
			return opened{}, c.sessionsTaken()
		}
		if err != nil {
			if ctx.Err() != nil {
				return opened{}, c.interrupted(ctx, "waiting for a free session")
			}
			if !c.isOver() {
				return opened{}, &transport.Error{Class: transport.ClassConnect, Code: codeConnect,
					Msg: fmt.Sprintf("The connection to %s has no session left: cancelled commands have not ended on the machine", c.e.to.Host)}
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
			c.places.giveBack()
			if ctx.Err() != nil {
				return opened{}, c.interrupted(ctx, "opening a session")
			}
			return opened{}, err
		}
		if refusal.Reason != ssh.ConnectionFailed && refusal.Reason != ssh.ResourceShortage {
			c.places.giveBack()
			return opened{}, &transport.Error{Class: transport.ClassUnsupported, Code: codeConnect, Err: err,
				Msg: fmt.Sprintf("%s does not open sessions: %s", c.e.to.Host, cmp.Or(safetext.Message(refusal.Message), refusal.Reason.String()))}
		}
		others, crowded := c.places.refusedRequest()
		c.warm.yield()
		if crowded {
			return opened{}, c.sessionsTaken()
		}
		if others > 0 {
			refusedFrom = time.Time{}
		} else if refusedFrom.IsZero() {
			refusedFrom = time.Now()
		} else if time.Since(refusedFrom) > sessionBudget {
			return opened{}, &transport.Error{Class: transport.ClassThrottled, Code: codeConnect, Err: err,
				Msg:  fmt.Sprintf("%s has had no free session for %v: %s", c.e.to.Host, sessionBudget, cmp.Or(safetext.Message(refusal.Message), refusal.Reason.String())),
				Hint: "Raise MaxSessions in its sshd_config. Processes that outlive their session still count towards it."}
		}
		c.log.Debug("session refused, trying again", "target", c.e.to.Host, "delay", delay)
		if err := pause(ctx, delay/2+rand.N(delay)); err != nil {
			return opened{}, c.interrupted(ctx, "waiting for a free session")
		}
		delay = min(delay*2, maxSessionDelay)
	}
}
