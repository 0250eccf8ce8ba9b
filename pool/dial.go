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

// Dial leases an existing connection that may be used, or a new one.
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

// A dial is a dial in progress. It belongs to no caller: it ends when its result
// is there, when no caller waits for it any more, or with the Pool.
type dial struct {
	peer    *peer
	owner   *owner // whose route the dial takes
	timeout time.Duration
	extra   bool // no request depends on it
	began   time.Time
	cancel  context.CancelCauseFunc
}

// errUnwanted is the cause if a dial ends because no caller waits for it.
var errUnwanted = errors.New("no request waits for it")

// maxShared is how often one Dial tries again after a dial of another caller has
// failed for reasons of that caller.
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

// check checks all links of a peer, because a request runs on any link that has
// a free session. The first link is pinned; fit reports whether it may be used.
// The error is ctx's.
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

// take pins the first of the existing links (warm: they must be checked), the
// link of the dial in progress (joined), or a link that it dials itself.
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
			Hint: "Another request with a longer connect-timeout is still connecting. If the machine is only slow, raise connect-timeout."}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.answered() {
		pe.arrivals.remove(w)
		p.abandon(pe)
	}
	return nil, joined, err
}

// others reports whether an error of a dial may concern only the caller that
// began it. That caller may have had less time or no user to ask for a
// passphrase, or it has gone.
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

// unsave undoes the count of a saved dial.
func (p *Pool) unsave(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.peer.saved--
	p.counts.DialsSaved--
}

// refuse retires a link that failed its Check. If its peer's host key has
// changed, the link is closed even if it is in use. Otherwise it is closed after
// its last use or when it ends, because a key is also unknown for a moment while
// known_hosts is being rewritten.
func (p *Pool) refuse(k *link, err error) {
	p.log.Info("connection failed its check and is not used again", "peer", k.peer.name, "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	const why = "it did not pass its check"
	if transport.ClassOf(err) == transport.ClassHostKeyChanged {
		p.drop(k, why)
	} else {
		p.retire(k, why)
	}
}

// begin starts a dial with the route of a lease. It must be called with Pool.mu
// held.
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

// abandon cancels the dial in progress if no caller waits for it. If the dial
// succeeds all the same, its connection is kept. abandon must be called with
// Pool.mu held.
func (p *Pool) abandon(pe *peer) {
	if d := pe.dial; d != nil && pe.arrivals.n == 0 && pe.queue.n == 0 {
		pe.dial = nil
		d.cancel(errUnwanted)
	}
}

// dial makes a connection and gives it, or the error, to the waiting callers.
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

// dialFailed gives the error to the waiting callers. It must be called with
// Pool.mu held.
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
		// A request in the queue that the error does not concern waits for a
		// dial of its own.
		pe.queue.fail(err, func(w *waiter) bool { return !d.others(w.lease, err) })
		p.ensure(pe)
	}
}

// add adds a link and gives it to the waiting callers. It must be called with
// Pool.mu held.
func (p *Pool) add(k *link) {
	pe := k.peer
	p.all[k] = struct{}{}
	if k.link != nil && !p.closed {
		k.extra = len(pe.links) > 0
		pe.instruct(k)
		pe.links = append(pe.links, k)
		k.at.age = p.idle.ages.PushBack(k)
	} else {
		k.retired, k.why = true, "it cannot be kept"
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
	// fileTries is how many times in all a dial that finds no free descriptor is
	// made. filesFreed is how many idle connections are closed before the next
	// try: other dials use descriptors at the same time.
	fileTries  = 4
	filesFreed = 4

	// leavingTakes is about how long connections take to close.
	leavingTakes = 50 * time.Millisecond
)

// open dials as soon as there is room, and returns how long the other Dialer
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

// freeFiles closes some idle connections, or waits for connections that are
// being closed. It returns false if there are none.
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

// filesError adds a hint about file descriptors to a dial's error.
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
