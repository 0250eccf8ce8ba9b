package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bolt/transport"
)

// A lease is a transport.Conn and transport.Archiver on any connection of its peer.
// A sink of a command that runs on the lease must not call Close.
type lease struct {
	p       *Pool
	owner   *owner
	route   transport.Route
	host    string
	timeout time.Duration // for a dial

	running sync.WaitGroup

	// The other fields are guarded by Pool.mu.
	peer   *peer
	link   *link // the pinned link, or nil
	closed bool
	gone   bool   // dismissed
	uses   []*use // requests in flight
}

// A use is one request of a lease.
type use struct {
	cancel  context.CancelCauseFunc
	entered bool
	index   int       // in lease.uses
	since   time.Time // when it was made
	alone   int       // refusals in a row on a link without other requests
}

func (l *lease) Run(ctx context.Context, c *transport.Cmd) (st transport.Status, err error) {
	var in *usedInput
	if c.Input != nil {
		in = &usedInput{Reader: c.Input}
		copied := *c
		copied.Input = in
		c = &copied
	}
	err = l.do(ctx, c.Label, func(ctx context.Context, conn transport.Conn) error {
		st, err = conn.Run(ctx, c)
		if in != nil && in.used.Load() && repeatable(err) {
			return inputSpent(l.host, err)
		}
		return err
	})
	return st, err
}

// repeatable reports whether an error can mean that a command did not begin.
func repeatable(err error) bool {
	if errors.Is(err, transport.ErrSessionsTaken) {
		return true
	}
	class := transport.ClassOf(err)
	return err != nil && (class == transport.ClassConnect || class == transport.ClassThrottled)
}

// A usedInput records whether anything was read. Then the command cannot run again.
type usedInput struct {
	io.Reader
	used atomic.Bool
}

func (r *usedInput) Read(p []byte) (int, error) {
	r.used.Store(true)
	return r.Reader.Read(p)
}

// inputSpent returns the error for a command that did not begin because of why, and that
// cannot run again. It does not wrap why, because do would then try again.
func inputSpent(host string, why error) *transport.Error {
	return &transport.Error{Class: transport.ClassLost,
		Msg: fmt.Sprintf("The connection to %s ended before the command began, and part of its input was already read: %v", host, why)}
}

func (l *lease) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	return l.do(ctx, o.Label, func(ctx context.Context, conn transport.Conn) error {
		return conn.Put(ctx, src, dst, o)
	})
}

func (l *lease) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	return l.do(ctx, o.Label, func(ctx context.Context, conn transport.Conn) error {
		return conn.Get(ctx, src, dst, o)
	})
}

// Archive implements transport.Archiver.
func (l *lease) Archive(ctx context.Context, src string, to io.Writer, o transport.FileOptions) error {
	return l.do(ctx, o.Label, func(ctx context.Context, conn transport.Conn) error {
		a, ok := conn.(transport.Archiver)
		if !ok {
			return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("The connection to %s does not support archives", l.host)}
		}
		return a.Archive(ctx, src, to, o)
	})
}

// Close gives the connection back. It cancels the running requests of the lease and
// waits for them.
func (l *lease) Close() error {
	p := l.p
	p.mu.Lock()
	l.closed = true
	if len(l.uses) == 0 {
		p.dismiss(l)
		p.mu.Unlock()
		return nil
	}
	cancels := make([]context.CancelCauseFunc, len(l.uses))
	for i, u := range l.uses {
		cancels[i] = u.cancel
	}
	p.mu.Unlock()
	for _, cancel := range cancels {
		cancel(errGivenBack)
	}
	l.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismiss(l)
	return nil
}

// maxAgain is the number of retries of a request that provably did not begin, because
// the connection ended first. If all connections of a server end at once, the retries
// cause this number of further logins.
const maxAgain = 4

// do runs a request when a session is free. It makes the request again, up to
// maxAgain times, if the connection was of no use before the request began. It also
// makes the request again as often as the server refuses it a session: each refusal
// lowers the number of requests on that link. If a link has no session for its only
// request, do retires the link and takes another one.
func (l *lease) do(ctx context.Context, label string, f func(context.Context, transport.Conn) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u := &use{cancel: cancel}
	for useless := 0; ; {
		k, err := l.acquire(ctx, u, cmp.Or(label, l.host))
		if err != nil {
			return err
		}
		err = f(ctx, k.conn)
		switch l.release(k, u, err, useless < maxAgain && ctx.Err() == nil) {
		case requestEnds:
			return err
		case requestAgain:
			useless++
		}
	}
}

// acquire waits for a session on one of the peer's links. During the wait and
// afterwards, Close cancels the request. Unless acquire returns an error, the
// caller must call release.
func (l *lease) acquire(ctx context.Context, u *use, name string) (*link, error) {
	p, pe := l.p, l.peer
	p.mu.Lock()
	switch {
	case p.closed:
		l.drop(u)
		p.mu.Unlock()
		return nil, closedError(name)
	case u.entered:
	case l.closed:
		p.mu.Unlock()
		return nil, &transport.Error{Class: transport.ClassCancelled, Err: errGivenBack, Msg: fmt.Sprintf("The connection to %s is closed", name)}
	default:
		u.entered, u.index, u.since = true, len(l.uses), time.Now()
		l.uses = append(l.uses, u)
		l.running.Add(1)
	}
	if k := l.link; k != nil && k.link == nil && !k.leaving {
		p.start(l, k) // only this lease and leases that shared the dial use it
		p.mu.Unlock()
		return k, nil
	}
	p.sweep(pe)
	if k := pe.free(); k != nil && pe.queue.n == 0 {
		p.start(l, k)
		p.mu.Unlock()
		return k, nil
	}
	w := newWaiter(l, u.since)
	w.begin = func(extra bool) { p.begin(ctx, l, extra) }
	pe.queue.push(w)
	p.ensure(pe)
	p.await(pe)
	p.mu.Unlock()

	var err error
	select {
	case <-w.ready:
		err = w.err
	case <-ctx.Done():
		err = notBegun(ctx, name)
	}
	if err == nil {
		return w.link, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !w.answered():
		pe.queue.remove(w)
		p.abandon(pe)
		p.await(pe)
	case w.link != nil:
		p.stop(w.link) // it was served at the moment when ctx ended
	}
	l.drop(u)
	return nil, err
}

// A sequel is the next step after a link has answered a request.
type sequel int

const (
	requestEnds  sequel = iota
	requestAgain        // it did not begin because the connection is of no use any more
	requestWaits        // it did not begin because the server allowed it no session
)

// release gives a session back and returns the next step. The step is requestAgain
// only if mayRepeat is set and the error proves that the request did not begin.
func (l *lease) release(k *link, u *use, err error, mayRepeat bool) sequel {
	p := l.p
	gone, sessions := k.hasEnded(), unlimited
	if k.link != nil && !gone {
		sessions = max(1, k.link.Stats().Sessions)
	}
	begun, then := true, requestEnds
	refused := errors.Is(err, transport.ErrSessionsTaken)
	if refused {
		begun, then = false, requestWaits
	} else if err != nil {
		switch transport.ClassOf(err) {
		case transport.ClassConnect:
			begun = false
		case transport.ClassThrottled:
			begun = !gone
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !refused || k.active > 1:
		u.alone = 0
	case u.alone == 0:
		u.alone++ // another request may have ended since the refusal
	default:
		u.alone, then = 0, requestEnds // no request will make room
	}
	if mayRepeat && !begun && then == requestEnds {
		then = requestAgain
	}
	k.learn(sessions, then == requestWaits)
	switch {
	case then == requestWaits:
	case begun:
		k.runs++
		p.counts.Runs++
	default:
		p.retire(k, "it did not begin a request")
	}
	if gone {
		p.drop(k, hasEnded)
	}
	p.stop(k)
	if then == requestEnds {
		l.drop(u)
	}
	return then
}

// drop ends the request for Close. It must be called with Pool.mu held.
func (l *lease) drop(u *use) {
	if !u.entered {
		return
	}
	last := l.uses[len(l.uses)-1]
	l.uses[u.index], last.index = last, u.index
	l.uses[len(l.uses)-1] = nil
	l.uses = l.uses[:len(l.uses)-1]
	l.running.Done()
}

// stop removes a request from a link. It must be called with Pool.mu held.
func (p *Pool) stop(k *link) {
	k.active--
	p.dispatch(k.peer)
	p.settle(k)
}

// enrol adds a lease to its peer.
func (p *Pool) enrol(l *lease, to transport.Dest) {
	key := l.route.Key()
	p.mu.Lock()
	defer p.mu.Unlock()
	pe := p.peers[key]
	if pe == nil {
		pe = &peer{key: key, name: destName(to)}
		p.peers[key] = pe
	}
	pe.leases++
	p.counts.leases++
	l.peer = pe
}

// dismiss undoes enrol; a second call does nothing. It must be called with Pool.mu
// held.
func (p *Pool) dismiss(l *lease) {
	if l.gone {
		return
	}
	l.gone = true
	p.pin(l, nil)
	l.peer.leases--
	p.counts.leases--
	p.counts.lastUse = time.Now()
	p.tidy(l.peer)
}

// destName returns the name of a destination for people.
func destName(to transport.Dest) string {
	name := to.Host
	if to.Port != 0 {
		name = net.JoinHostPort(to.Host, strconv.Itoa(to.Port))
	}
	if to.User != "" {
		name = to.User + "@" + name
	}
	return name
}
