// Package timer applies resources of the type timer, which stands for the kind timer of mgmt. While a catalog is watched, a
// timer gives an event each time its interval has passed. In a run that ends, a timer has nothing to do: it is
// passed at once, and refreshes nothing.
package timer

import (
	"context"
	"math"
	"time"

	"bolt/apply/resource"
)

// Type returns the type timer.
func Type() resource.Type { return timerType{} }

type timerType struct{}

// An Item is one timer.
type Item struct{ interval time.Duration }

func (timerType) New(r *resource.Resource) (resource.Item, error) {
	if _, given := r.Params.Get("interval"); !given {
		return nil, &resource.ParamError{Param: "interval", Problem: "must be given"}
	}
	n, err := r.Int("interval", 0)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > math.MaxUint32 {
		return nil, &resource.ParamError{Param: "interval", Problem: "must be a number of seconds from 1 to 4294967295"}
	}
	return Item{time.Duration(n) * time.Second}, nil
}

// Interval returns the time between two events.
func (t Item) Interval() time.Duration { return t.interval }

// Parallel reports that a timer does not wait for other items.
func (Item) Parallel() {}

// Watch returns no sources of events but the interval.
func (Item) Watch(*resource.Host) []resource.Watch { return nil }

// Read finds nothing, because a timer has no state on the host.
func (Item) Read(context.Context, *resource.Host) error { return nil }

// Plan returns no changes.
func (Item) Plan() ([]resource.Change, error) { return nil, nil }

// Do is not called.
func (Item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }
