package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"bolt/internal/readfile"
	"bolt/transport"
)

// An owner is one caller of the Pool, with its own way to make routes.
type owner struct {
	p    *Pool
	next transport.Router
}

// Dial leases a connection: one that is there and may be used, or a new one.
func (o *owner) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	route, err := o.next.Route(ctx, to)
	if err != nil {
		return nil, err
	}
	l := &lease{p: o.p, owner: o, route: route, host: to.Host, timeout: to.ConnectTimeout}
	o.p.enrol(l, to)
	if err := o.p.connect(ctx, l); err != nil {
		o.p.mu.Lock()
		defer o.p.mu.Unlock()
		l.closed = true
		o.p.dismiss(l)
		return nil, err
	}
	return l, nil
}

// A dial is one under way. It belongs to no caller: it ends when its result is
// there, when nobody waits for it any more, or with the Pool.
type dial struct {
	peer    *peer
	owner   *owner // whose route it takes
	timeout time.Duration
	extra   bool // nobody's request depends on it
	began   time.Time
	cancel  context.CancelCauseFunc
}

// errUnwanted is the cause of the end of a dial that nobody waits for.
var errUnwanted = errors.New("nobody waits for it")

// maxShared is how often one Dial lets its result depend on dials that others
// began, when those fail for reasons of their own.
const maxShared = 2

// connect pins a link for a lease.
func (p *Pool) connect(ctx context.Context, l *lease) error {
	for shared := 0; ; {
		warm, joined, err := p.take(ctx, l)
		switch {
		case err == nil && len(warm) == 0:
			return nil
		case err == nil:
			fit, err := p.check(ctx, warm)
			if err != nil || fit {
				return err
			}
		case joined != nil && ctx.Err() == nil && shared < maxShared && joined.others(l, err):
			shared++
		default:
			return err
		}
	}
}

// check asks the links of a peer whether they may be used, all of them: a
// request runs on whichever has a free session. The first is pinned; fit is
// whether it may be. The error is ctx's.
func (p *Pool) check(ctx context.Context, links []*link) (fit bool, err error) {
	fit = true
	for i, k := range links {
		err := k.link.Check(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return false, err
		}
		if i == 0 {
			fit = false
			p.unsave(k)
		}
		p.refuse(k, err)
	}
	return fit, nil
}

// take pins the first of the links that are there (warm: they have to be
// checked), or one from the dial under way (joined), or from one of its own.
func (p *Pool) take(ctx context.Context, l *lease) (warm []*link, joined *dial, err error) {
	if ctx.Err() != nil {
		return nil, nil, dialEnded(ctx, l.host, "looking for a connection")
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, closedError(l.host)
	}
	pe := l.peer
	p.sweep(pe)
	if len(pe.links) > 0 {
		p.pin(l, pe.links[0])
		pe.saved++
		p.counts.DialsSaved++
		warm = slices.Clone(pe.links)
		p.mu.Unlock()
		return warm, nil, nil
	}
	w := newWaiter(l, time.Now())
	w.begin = func(extra bool) { p.begin(ctx, l, extra) }
	joined = pe.dial
	w.joined = joined != nil
	pe.arrivals.push(w)
	p.ensure(pe)
	p.mu.Unlock()

	var late <-chan time.Time
	if joined != nil && l.timeout > 0 && (joined.timeout == 0 || joined.timeout > l.timeout) {
		t := time.NewTimer(l.timeout)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-w.ready:
		return nil, joined, w.err
	case <-ctx.Done():
		err = dialEnded(ctx, l.host, "waiting for a connection")
	case <-late:
		joined = nil
		err = &transport.Error{Class: transport.ClassTimeout, Code: codeConnect,
			Msg:  fmt.Sprintf("Timeout after %g seconds connecting to %s", l.timeout.Seconds(), l.host),
			Hint: "Another request with more patience is still connecting. If the machine is only slow, raise connect-timeout."}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.answered() {
		pe.arrivals.remove(w)
		p.abandon(pe)
	}
	return nil, joined, err
}

// others reports whether an error of a dial that another caller began need not
// be l's: it had less time, could ask nobody for a passphrase, or has gone.
func (d *dial) others(l *lease, err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case !ok:
		return false
	case e.Class == transport.ClassTimeout:
		return d.timeout > 0 && (l.timeout == 0 || l.timeout > d.timeout)
	case e.Class == transport.ClassCancelled, e.Ask != "":
		return d.owner != l.owner
	}
	return false
}

// unsave takes back that a link has saved a dial.
func (p *Pool) unsave(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.peer.saved--
	p.counts.DialsSaved--
}

// refuse retires a link that Check has found unfit. If its peer has another key
// than it should it is closed under those who use it; else with its last use, or
// as soon as it has ended: a key is unknown for a moment, too, while somebody
// rewrites known_hosts.
func (p *Pool) refuse(k *link, err error) {
	p.log.Info("connection not used again", "peer", k.peer.name, "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	const why = "it did not pass its check"
	if transport.ClassOf(err) == transport.ClassHostKeyChanged {
		p.drop(k, why)
	} else {
		p.retire(k, why)
	}
}

// begin starts a dial with the route of a lease; locked.
func (p *Pool) begin(ctx context.Context, l *lease, extra bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d := &dial{peer: l.peer, owner: l.owner, timeout: l.timeout, extra: extra, began: time.Now(), cancel: cancel}
	if extra {
		l.peer.extras++
	} else {
		l.peer.dial = d
	}
	l.peer.dials++
	p.dials[d] = struct{}{}
	p.work.Go(func() { p.dial(ctx, d, l) })
}

// abandon ends the dial under way if nobody waits for it; locked. Should it
// succeed all the same, its connection is kept.
func (p *Pool) abandon(pe *peer) {
	if d := pe.dial; d != nil && pe.arrivals.n == 0 && pe.queue.n == 0 {
		pe.dial = nil
		d.cancel(errUnwanted)
	}
}

// dial makes a connection and hands it, or the error, to who waits.
func (p *Pool) dial(ctx context.Context, d *dial, l *lease) {
	defer d.cancel(nil)
	pe := d.peer
	k, took, err := p.open(ctx, d, l)
	p.mu.Lock()
	delete(p.dials, d)
	pe.dials--
	wanted := d.extra || pe.dial == d
	switch {
	case d.extra:
		pe.extras--
	case wanted:
		pe.dial = nil
	}
	p.counts.lastUse = time.Now()
	if err != nil {
		if wanted && !p.closed {
			p.dialFailed(d, err)
		}
		p.tidy(pe)
		p.mu.Unlock()
		p.log.Info("dial failed", "peer", pe.name, "err", err)
		return
	}
	pe.took = took
	p.counts.Dials++
	p.add(k)
	p.tidy(pe)
	p.mu.Unlock()
	p.log.Debug("connection opened", "peer", pe.name, "took", took)
	p.watch.add(k)
}

// dialFailed tells the error to who waits; locked.
func (p *Pool) dialFailed(d *dial, err error) {
	pe := d.peer
	if err != errNoRoom { // nothing was dialed
		p.counts.DialsFailed++
	}
	if d.extra {
		pe.notUntil = time.Now().Add(extraPause)
		p.await(pe)
		return
	}
	pe.arrivals.failAll(err)
	if len(pe.links) == 0 {
		// A request in the queue that the error does not concern waits on, for
		// a dial of its own.
		pe.queue.fail(err, func(w *waiter) bool { return !d.others(w.lease, err) })
		p.ensure(pe)
	}
}

// add takes in a link and gives it to who waits; locked.
func (p *Pool) add(k *link) {
	pe := k.peer
	p.all[k] = struct{}{}
	if k.link != nil && !p.closed {
		k.extra = len(pe.links) > 0
		pe.instruct(k)
		pe.links = append(pe.links, k)
		k.at.age = p.idle.ages.PushBack(k)
	} else {
		k.retired, k.why = true, "it is not to be kept"
	}
	for pe.arrivals.n > 0 {
		w := pe.arrivals.pop()
		p.pin(w.lease, k)
		if w.joined {
			pe.saved++
			p.counts.DialsSaved++
		}
		w.serve(k)
	}
	if k.link == nil && len(pe.links) == 0 {
		for pe.queue.n > 0 {
			w := pe.queue.pop()
			p.start(w.lease, k)
			w.serve(k)
		}
	}
	p.dispatch(pe)
	p.abandon(pe)
	p.settle(k)
	p.arm()
}

const (
	// fileTries is how often a dial that finds no free descriptor is made in
	// all, and filesFreed how many idle connections are closed before the next
	// try: others dial at the same time.
	fileTries  = 4
	filesFreed = 4

	// leavingTakes is about how long connections take to close.
	leavingTakes = 50 * time.Millisecond
)

// open dials as soon as there is room, and tells how long the other Dialer
// took.
func (p *Pool) open(ctx context.Context, d *dial, l *lease) (*link, time.Duration, error) {
	if err := p.enter(ctx, l, d.extra); err != nil {
		return nil, 0, err
	}
	for try := 1; ; try++ {
		began := time.Now()
		conn, err := p.dialRoute(ctx, l)
		if err == nil {
			now := time.Now()
			return newLink(d.peer, conn, now), now.Sub(began), nil
		}
		if readfile.OutOfFiles(err) && try < fileTries && !d.extra && p.freeFiles(ctx) {
			continue
		}
		p.mu.Lock()
		p.exit()
		p.mu.Unlock()
		if readfile.OutOfFiles(err) {
			err = p.filesError(err, l.host)
		}
		return nil, 0, err
	}
}

// dialRoute calls the route's Dial. If Dial panics, only this dial fails, because this
// process also has the connections of other callers.
func (p *Pool) dialRoute(ctx context.Context, l *lease) (conn transport.Conn, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("internal error", "target", l.host, "panic", v, "stack", string(debug.Stack()))
			conn, err = nil, &transport.Error{Class: transport.ClassProtocol, Code: codeConnect, Msg: fmt.Sprintf("Failed to connect to %s: internal error: %v", l.host, v)}
		}
	}()
	return l.route.Dial(ctx)
}

// freeFiles closes some idle connections, or waits for those that are being
// closed; false if there are none.
func (p *Pool) freeFiles(ctx context.Context) bool {
	if p.CloseIdle(filesFreed) > 0 {
		return true
	}
	p.mu.Lock()
	leaving := p.room.leaving
	p.mu.Unlock()
	if leaving == 0 {
		return false
	}
	t := time.NewTimer(leavingTakes)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// filesError is a dial's error with what to do about it.
func (p *Pool) filesError(err error, host string) error {
	p.mu.Lock()
	held := p.room.open
	p.mu.Unlock()
	e := transport.Error{Class: transport.ClassConnect, Code: codeConnect, Err: err, Msg: fmt.Sprintf("Failed to connect to %s: %v", host, err)}
	if known, ok := errors.AsType[*transport.Error](err); ok {
		e = *known
	}
	e.Hint = fmt.Sprintf("All file descriptors are in use and no connection is idle (%d are open or being opened): raise the limit (ulimit -n), or lower the concurrency or max-connections.", held)
	return &e
}
