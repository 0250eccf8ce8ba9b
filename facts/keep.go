package facts

import (
	"context"
	"fmt"
	"strings"

	"bolt/event"
	"bolt/facts/factcache"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// A Keeping is an action that stores the facts in the results of another
// action. Its own results contain the number of facts.
type Keeping struct {
	run.Action
	keep func(t *inventory.Target, facts *ordered.Map) error // nil: the facts stay in the results
}

// OnDevices returns OnDevices of the wrapped action.
func (k *Keeping) OnDevices() bool {
	d, ok := k.Action.(run.DeviceAction)
	return ok && d.OnDevices()
}

// Here returns Here of the wrapped action.
func (k *Keeping) Here() bool {
	l, ok := k.Action.(run.LocalAction)
	return ok && l.Here()
}

// Do runs the wrapped action and stores the facts of the target at once, in
// parallel with other targets.
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
	if k.keep == nil {
		site.Result.Value = facts
		return nil
	}
	site.Result.Value = &ordered.Map{}
	if err := k.keep(site.Target, facts); err != nil {
		return err
	}
	site.Result.Value.Set("facts", facts.Len())
	return nil
}

// Recorded returns an action as the audit log records it; nil if it does nothing on
// targets.
func Recorded(action run.Action) event.Action {
	switch k := action.(type) {
	case *Collection:
		action = k.Action
	case *Keeping:
		action = k.Action
	}
	if _, ok := action.(*Query); ok {
		return nil
	}
	return action
}

// noFacts returns the error for a target whose result has no facts. Its stored
// facts stay.
func noFacts(format string, args ...any) error {
	return &fault.Error{Kind: factcache.Kind, Msg: fmt.Sprintf(format, args...) + ": its stored facts are unchanged."}
}
