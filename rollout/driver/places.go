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
	leases map[int]store.Lease // by place, from 1
}

// governorRetry is the time after which a driver tries again to get the places that it lacks.
const governorRetry = 2 * time.Second

func (p *places) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
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
		l, err := p.logs.Lease(ctx, fmt.Sprintf("governors/%s/%d", governor, i), p.holder, leaseTime)
		if _, held := errors.AsType[*store.HeldError](err); held {
			continue
		}
		if err != nil {
			return len(p.leases), fmt.Errorf("governor %s: %w", governor, err)
		}
		p.leases[i] = l
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
		_ = p.leases[i].Release(ctx)
		delete(p.leases, i)
	}
}

// renew keeps the leases, and forgets those that another driver has got.
func (p *places) renew(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.leases {
		if _, held := errors.AsType[*store.HeldError](l.Renew(ctx, leaseTime)); held {
			delete(p.leases, i)
		}
	}
}

// lostPlaces reports places that were lost, before nodes start in them.
func (d *driver) lostPlaces() {
	if n := d.places.held(); d.state.Session() == d.o.Session && n < d.state.Places() {
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
