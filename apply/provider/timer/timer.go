// Package timer applies resources of the type timer, which stands for the kind timer of mgmt. While a catalog is watched, the
// resources directly after a timer are checked again each time that its interval has passed. In a run that ends, a
// timer has nothing to do: it is passed at once, and refreshes nothing.
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

type item struct{ interval time.Duration }

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
	return item{time.Duration(n) * time.Second}, nil
}

func (item) Parallel() {}

// Watch returns the interval.
func (t item) Watch(context.Context, *resource.Host) []resource.Watch {
	return []resource.Watch{{Every: t.interval}}
}

func (item) Read(context.Context, *resource.Host) error { return nil }

func (item) Plan() ([]resource.Change, error) { return nil, nil }

func (item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }
