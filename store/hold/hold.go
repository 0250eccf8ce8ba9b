// Package hold does work under a lease of a store.
package hold

import (
	"context"
	"errors"
	"time"

	"bolt/store"
)

// Times of a lease. It is renewed three times before it ends.
const (
	leaseTime = 30 * time.Second
	renewal   = leaseTime / 3
	pause     = 100 * time.Millisecond // between two tries to get it
)

// While calls f with a lease of a name, and renews the lease until f returns. If the lease is lost, the
// context of f ends with the error of its renewal. Events that f appends with the fence are then
// refused, too. holder is for people.
//
// If another process has the lease, While calls held. If that returns nil, While tries again
// until ctx ends, and does not call held a second time. If it returns an error, this is the error of
// While.
func While(ctx context.Context, s store.Logs, name, holder string, held func(*store.HeldError) error, f func(context.Context, store.Fence) error) error {
	l, err := take(ctx, s, name, holder, held)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		renew(work, l, cancel)
	}()
	err = f(work, l.Fence())
	cancel(nil)
	<-done
	release, end := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer end()
	if rerr := l.Release(release); err == nil {
		err = rerr
	}
	return err
}

func take(ctx context.Context, s store.Logs, name, holder string, held func(*store.HeldError) error) (store.Lease, error) {
	for asked := false; ; asked = true {
		l, err := s.Lease(ctx, name, holder, leaseTime)
		other, is := errors.AsType[*store.HeldError](err)
		if !is {
			return l, err
		}
		if !asked {
			if err := held(other); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// renew renews a lease until ctx ends. If it cannot, it calls lost.
func renew(ctx context.Context, l store.Lease, lost func(error)) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.Renew(ctx, leaseTime); err != nil {
				lost(err)
				return
			}
		}
	}
}
