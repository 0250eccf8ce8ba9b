package release

import (
	"context"
	"fmt"

	"bolt/internal/lazyregexp"
	"bolt/store"
)

// CollectOptions are the options of Collect.
type CollectOptions struct {
	Author  string // a user, for people
	Keep    int    // remove all releases but the last of this number; 0: remove no release
	Noop    bool   // only count
	Waiting func(author string)
}

// Collected lists the releases and contents that Collect has removed.
type Collected struct {
	Releases []Entry // the oldest first
	InUse    []Entry // old releases that stay, because another log names them
	Contents int
}

var digests = lazyregexp.New(`\b[0-9a-f]{64}\b`)

// Collect removes old releases, and all contents that no release needs and no log names. It keeps
// each content whose digest is in an event of another log, such as the log of a rollout. If a
// release cannot be read, nothing is removed.
func (a *Archive) Collect(ctx context.Context, o CollectOptions) (*Collected, error) {
	c := &Collected{}
	err := a.hold(ctx, o.Author, o.Waiting, func(ctx context.Context, fence store.Fence) error {
		needed, err := a.named(ctx)
		if err != nil {
			return err
		}
		s, err := a.load(ctx)
		if err != nil {
			return err
		}
		old := 0
		if o.Keep > 0 {
			old = max(0, len(s.entries)-o.Keep)
		}
		var events []event
		for i, e := range s.entries {
			switch {
			case i >= old:
			case needed[e.ID]:
				c.InUse = append(c.InUse, *e)
			default:
				c.Releases = append(c.Releases, *e)
				events = append(events, event{Type: removed, Release: e.ID})
				continue
			}
			r, err := a.Get(ctx, e.ID)
			if err != nil {
				return fmt.Errorf("the release %s: %w", e.ID, err)
			}
			needed[e.ID] = true
			for _, d := range r.needs() {
				needed[d] = true
			}
		}
		if len(events) > 0 && !o.Noop {
			if err := a.append(ctx, s, fence, events...); err != nil {
				return err
			}
		}
		return a.sweep(ctx, needed, o.Noop, c)
	})
	return c, err
}

// named returns the digests in the events of all logs except the log of releases.
func (a *Archive) named(ctx context.Context) (map[store.Digest]bool, error) {
	logs, err := a.store.Names(ctx, "")
	if err != nil {
		return nil, err
	}
	found := make(map[store.Digest]bool)
	for _, log := range logs {
		if log == logName {
			continue
		}
		for e, err := range a.store.Events(ctx, log, 0) {
			if err != nil {
				return nil, err
			}
			for _, d := range digests().FindAll(e.Data, -1) {
				found[store.Digest(d)] = true
			}
		}
	}
	return found, nil
}

// sweep removes the contents that are not needed.
func (a *Archive) sweep(ctx context.Context, needed map[store.Digest]bool, noop bool, c *Collected) error {
	for d, err := range a.store.List(ctx) {
		if err != nil {
			return err
		}
		if needed[d] {
			continue
		}
		c.Contents++
		if noop {
			continue
		}
		if err := a.store.Remove(ctx, d); err != nil {
			return err
		}
	}
	return nil
}
