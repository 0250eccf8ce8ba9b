package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"bolt/store"
	"bolt/store/hold"
)

// CollectOptions are the options of Collect.
type CollectOptions struct {
	Holder string // for people
	Keep   int    // the number of the last rollouts that stay in any case
	Noop   bool   // only list
}

// Collected lists rollouts by their IDs, the oldest first.
type Collected struct {
	Removed []string
	InUse   []string // old ones that have ended and stay: they have the last known release of a node, or are in work
}

// Collect removes the logs of old rollouts that have ended. A rollout and its rollbacks count as one and go together. A rollout stays if it is
// the last one on a node, because its log has the release of this node. A rollout whose log is damaged stays,
// unless it is known to have ended. Collect waits while another process makes a rollout.
func (l *Ledger) Collect(ctx context.Context, o CollectOptions) (*Collected, error) {
	c := &Collected{}
	wait := func(*store.HeldError) error { return nil }
	err := hold.While(ctx, l.logs, creating, o.Holder, wait, func(ctx context.Context, _ store.Fence) error {
		families, needed, err := l.families(ctx)
		if err != nil {
			return err
		}
		for _, f := range families[:max(0, len(families)-o.Keep)] {
			if slices.ContainsFunc(f, func(e *Entry) bool { return !e.Ended() }) {
				continue
			}
			use := slices.ContainsFunc(f, func(e *Entry) bool { return needed[e.ID] })
			// The rollbacks go first: a rollback is not left behind without its rollout.
			for _, e := range slices.Backward(f) {
				removed := !use
				if removed && !o.Noop {
					if removed, err = l.remove(ctx, e, o.Holder); err != nil {
						return err
					}
				}
				if removed {
					c.Removed = append(c.Removed, e.ID)
				} else {
					use = true
					c.InUse = append(c.InUse, e.ID)
				}
			}
		}
		return nil
	})
	slices.Sort(c.Removed)
	slices.Sort(c.InUse)
	return c, err
}

// families returns all rollouts, each with its rollbacks, the oldest first. needed has the rollouts that were the last ones on a node.
func (l *Ledger) families(ctx context.Context) (families [][]*Entry, needed map[string]bool, err error) {
	ids, err := l.IDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	needed = make(map[string]bool)
	ran, left := make(map[string]bool), make(map[string]bool)
	slices.Reverse(ids)
	for e, err := range l.Entries(ctx, ids) {
		if err != nil {
			return nil, nil, err
		}
		if e.Damaged != nil && l.Warn != nil {
			l.Warn(e.ID, e.Damaged)
		}
		if e.Leaves && e.Damaged == nil {
			names, err := e.names(ctx)
			if err != nil {
				return nil, nil, err
			}
			f, err := e.fates(ctx)
			if err != nil {
				return nil, nil, err
			}
			for i, is := range f.Nodes {
				if is.Left && !left[names[i]] || is.Ran && !ran[names[i]] {
					needed[e.ID] = true
				}
				left[names[i]] = left[names[i]] || is.Left
				ran[names[i]] = ran[names[i]] || is.Ran
			}
		}
		e.state = nil // a project can have more rollouts than fit into the memory
		if last := len(families) - 1; last >= 0 && Origin(families[last][0].ID) == Origin(e.ID) {
			families[last] = append(families[last], e)
		} else {
			families = append(families, []*Entry{e})
		}
	}
	slices.Reverse(families)
	for _, f := range families {
		slices.Reverse(f)
	}
	return families, needed, nil
}

// remove removes a rollout that has ended. It returns false if a process drives it, or if it has other events by now.
func (l *Ledger) remove(ctx context.Context, e *Entry, holder string) (bool, error) {
	const ttl = time.Minute
	lease, err := l.logs.Lease(ctx, Log(e.ID), holder, ttl)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = l.logs.Drop(ctx, Log(e.ID), store.Revision(e.Revision))
	if rerr := lease.Release(context.WithoutCancel(ctx)); err == nil {
		err = rerr
	}
	if _, grown := errors.AsType[*store.ConflictError](err); grown {
		return false, nil
	}
	return err == nil, err
}
