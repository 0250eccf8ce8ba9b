package facts

import (
	"context"
	"fmt"
	"strings"

	"bolt/facts/factcache"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// A Keeping is an action whose results are facts, which are kept. Its own results
// say how many.
type Keeping struct {
	run.Action
	keep func(t *inventory.Target, facts *ordered.Map) error
}

// OnDevices and Here are those of the action.
func (k *Keeping) OnDevices() bool {
	d, ok := k.Action.(run.DeviceAction)
	return ok && d.OnDevices()
}

// Here see OnDevices.
func (k *Keeping) Here() bool {
	l, ok := k.Action.(run.LocalAction)
	return ok && l.Here()
}

// Do keeps what the action tells of a target. It is done beside the other
// targets, not after them.
func (k *Keeping) Do(ctx context.Context, site *run.Site) error {
	if err := k.Action.Do(ctx, site); err != nil || site.Result.Err != nil {
		return err
	}
	facts := &ordered.Map{}
	for name, v := range site.Result.Value.All() {
		if !strings.HasPrefix(name, "_") { // _output, _sensitive: a result's own
			facts.Set(name, v)
		}
	}
	if facts.Len() == 0 {
		return noFacts("The task %s told no facts", k.Object())
	}
	site.Result.Value = &ordered.Map{}
	if err := k.keep(site.Target, facts); err != nil {
		return err
	}
	site.Result.Value.Set("facts", facts.Len())
	return nil
}

// noFacts is the error of a target that has told no facts: it keeps those that
// it had.
func noFacts(format string, args ...any) error {
	return &fault.Error{Kind: factcache.Kind, Msg: fmt.Sprintf(format, args...) + ": those that were kept before stay as they are."}
}
