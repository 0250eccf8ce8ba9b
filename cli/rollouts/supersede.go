package rollouts

import (
	"context"
	"errors"
	"fmt"

	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/ledger"
	"bolt/store"
)

// supersede brings another rollout to its end in favour of a new one.
func (v *Invocation) supersede(ctx context.Context, b *book, c *rollout.Created, o ledger.Other) error {
	fmt.Fprintf(v.Console, "Superseding rollout %s, which has the node %s.\n", o.Rollout, o.Node)
	_, err := b.ledger.Command(ctx, o.Rollout, func(*rollout.State) (rollout.Event, error) {
		return &rollout.Superseded{Rollout: c.Rollout, By: v.User}, nil
	})
	if err != nil {
		return failed(err)
	}
	_, err = v.driveOne(ctx, b, o.Rollout, func(o *driver.Options) { o.Events = nil })
	if _, held := errors.AsType[*store.HeldError](err); held { // its own driver ends it
		err = v.ended(ctx, b, o.Rollout)
	}
	return failed(err)
}

// supersedeChecks supersedes the checks among other rollouts that change no node and that no process drives: an interrupted check must not
// keep its nodes from the next check of a schedule, or from a rollout. some is set if there was one.
func (v *Invocation) supersedeChecks(ctx context.Context, b *book, c *rollout.Created, busy *ledger.BusyError) (some bool, err error) {
	for _, o := range busy.Others {
		s, err := b.ledger.Load(ctx, o.Rollout)
		if err != nil {
			return some, failed(err)
		}
		if !s.Created().Strategy.Passive() {
			continue
		}
		by, err := b.driver(ctx, o.Rollout)
		if err != nil {
			return some, err
		}
		if by != "" {
			continue
		}
		if err := v.supersede(ctx, b, c, o); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}
