package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bolt/rollout"
	"bolt/store"
)

// places are the places of a governor that a driver has. Each of them is a lease with a name of its own, so the places of
// a driver that was killed are free again when the leases end.
type places struct {
	logs   store.Logs
	holder string

	mu     sync.Mutex
	leases map[int]*place // by number, from 1
}

// A place is a lease, and the time at which it ends unless it is renewed. Another driver can have the place then, so no node can begin in it. The time is
// that of the wall clock, because the monotonic clock stands still while the machine is suspended.
type place struct {
	lease store.Lease
	until time.Time
}

// term is the end of a lease that is requested now.
func term() time.Time { return time.Now().Round(0).Add(leaseTime) }

// governorRetry is the time after which a driver tries again to get the places that it lacks.
const governorRetry = 2 * time.Second

// held returns the number of places. It gives back those that have ended because they could not be renewed.
func (p *places) held(ctx context.Context) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.leases {
		if !time.Now().Round(0).Before(l.until) {
			_ = l.lease.Release(ctx)
			delete(p.leases, i)
		}
	}
	return len(p.leases)
}

// grow leases free places until there are want, and returns how many there are.
func (p *places) grow(ctx context.Context, governor string, most, want int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 1; i <= most && len(p.leases) < want; i++ {
		if p.leases[i] != nil {
			continue
		}
		until := term()
		l, err := p.logs.Lease(ctx, fmt.Sprintf("governors/%s/%d", governor, i), p.holder, leaseTime)
		if _, held := errors.AsType[*store.HeldError](err); held {
			continue
		}
		if err != nil {
			return len(p.leases), fmt.Errorf("governor %s: %w", governor, err)
		}
		p.leases[i] = &place{l, until}
	}
	return len(p.leases), nil
}

// shrink gives places back until there are n. A lease that cannot be given back ends by itself.
func (p *places) shrink(ctx context.Context, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(p.leases))) {
		if len(p.leases) <= n {
			return
		}
		_ = p.leases[i].lease.Release(ctx)
		delete(p.leases, i)
	}
}

// renew keeps the leases, and forgets those that another driver has got.
func (p *places) renew(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.leases {
		until := term()
		err := l.lease.Renew(ctx, leaseTime)
		if err == nil {
			l.until = until
		} else if _, held := errors.AsType[*store.HeldError](err); held {
			delete(p.leases, i)
		}
	}
}

// lostPlaces reports places that were lost, before nodes start in them.
func (d *driver) lostPlaces(ctx context.Context) {
	if n := d.places.held(ctx); d.state.Session() == d.o.Session && n < d.state.Places() {
		d.pending = append(d.pending, &rollout.Governed{Session: d.o.Session, Places: n})
	}
}

// govern gets places of the governor for nodes that could start, or reports that it needs fewer. It gives them
// back when this is recorded. changed is set if there is something to record.
func (d *driver) govern(ctx context.Context) (changed bool, err error) {
	g := d.state.Created().Strategy.Rules.Parallel.Governor
	if g.Name == "" {
		return false, nil
	}
	want, have := d.state.Wants(), d.state.Places()
	if want > have {
		if d.stopped {
			return false, nil
		}
		if want, err = d.places.grow(ctx, g.Name, g.Max, want); err != nil {
			return false, err
		}
	}
	if want == have {
		return false, nil
	}
	d.pending = append(d.pending, &rollout.Governed{Session: d.o.Session, Places: want})
	return true, nil
}

// lacks reports whether the driver must try again to get places.
func (d *driver) lacks() bool { return !d.stopped && d.state.Wants() > d.state.Places() }
