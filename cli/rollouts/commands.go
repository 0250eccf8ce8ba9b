package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/release"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
)

// command appends the event of a person, and prints it.
func (v *Invocation) command(ctx context.Context, o *CommandOptions, make func(*rollout.State) (rollout.Event, error)) error {
	b, id, _, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	var event rollout.Event
	s, err := b.ledger.Command(ctx, id, func(s *rollout.State) (e rollout.Event, err error) {
		event, err = make(s)
		return event, err
	})
	if err != nil {
		return failed(err)
	}
	if v.Format.Data {
		return layout.WriteDocument(v.Out, s.Status())
	}
	if err := v.say("%s: %s", id, safetext.OneLine(tellerOf(s).describe(event))); err != nil {
		return err
	}
	if s.Ended() {
		return nil
	}
	if by, err := b.driver(ctx, id); by != "" || err != nil {
		return err
	}
	_, err = fmt.Fprintf(v.Console, "No process drives this rollout now. It goes on with: %s\n", goesOn(s))
	return err
}

// Pause carries out rollout pause.
func (v *Invocation) Pause(ctx context.Context, o *CommandOptions) error {
	return v.command(ctx, o, func(*rollout.State) (rollout.Event, error) { return &rollout.Paused{By: v.User, Reason: o.reason}, nil })
}

// Approve carries out rollout approve. The approval is bound to the release and the strategy that the rollout has now.
func (v *Invocation) Approve(ctx context.Context, o *CommandOptions) error {
	next := 0
	return v.command(ctx, o, func(s *rollout.State) (rollout.Event, error) {
		c := s.Created()
		// Another person can have approved the wave at the same time, and it has started.
		if next = cmp.Or(next, s.Wave()+1); next != s.Wave()+1 {
			return nil, fault.New(ledger.Kind, "Wave %d has started meanwhile, so its approval was not recorded", next)
		}
		return &rollout.Approved{By: v.User, Wave: next, Release: c.Release, Strategy: c.StrategyDigest, Reason: o.reason}, nil
	})
}

// Reject carries out rollout reject.
func (v *Invocation) Reject(ctx context.Context, o *CommandOptions) error {
	return v.command(ctx, o, func(s *rollout.State) (rollout.Event, error) {
		return &rollout.Rejected{By: v.User, Wave: s.Wave() + 1, Reason: o.reason}, nil
	})
}

// Promote carries out rollout promote.
func (v *Invocation) Promote(ctx context.Context, o *CommandOptions) error {
	return v.command(ctx, o, func(*rollout.State) (rollout.Event, error) {
		return &rollout.Promoted{By: v.User, Reason: o.reason}, nil
	})
}

// EditOptions are those of rollout edit.
type EditOptions struct {
	CommandOptions
	strategy string
}

// Bind reads the flags and arguments.
func (o *EditOptions) Bind(b *cli.Binder) {
	o.CommandOptions.Bind(b)
	b.Text("strategy", &o.strategy)
}

// Check requires a strategy.
func (o *EditOptions) Check() error {
	if o.strategy == "" {
		return cli.Errorf("Must specify the new strategy with --strategy")
	}
	return nil
}

// Edit carries out rollout edit: a rollout whose first wave has not started gets another strategy. It keeps its nodes, its release and
// its action. Approvals are bound to the digest of the strategy, so the earlier ones are void.
func (v *Invocation) Edit(ctx context.Context, o *EditOptions) error {
	st, text, err := readStrategy(ctx, o.strategy)
	if err != nil {
		return err
	}
	st.Action = strategy.Action{} // the rollout keeps its own
	if err := v.checkUses(ctx, o.strategy, text, st, false); err != nil {
		return err
	}
	b, _, s, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	c := s.Created()
	st.Action = c.Strategy.Action
	spec := rollout.Spec{Rollout: c.Rollout, Release: c.Release, Sequence: c.Sequence, Strategy: *st}
	var of *release.Release
	if c.Release != "" {
		if of, err = v.admitted(ctx, b, c.Release, ""); err != nil {
			return err
		}
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	targets, err := inv.Targets(ctx, names)
	if err == nil {
		err = inv.Prepare(ctx, targets)
	}
	if err != nil {
		return err
	}
	if spec.Nodes, err = v.nodes(ctx, b, targets, st, of); err != nil {
		return err
	}
	n, err := rollout.New(spec)
	if err != nil {
		return failed(err)
	}
	return v.command(ctx, &o.CommandOptions, func(*rollout.State) (rollout.Event, error) {
		return &rollout.Edited{Strategy: n.Strategy, StrategyDigest: n.StrategyDigest, Nodes: n.Nodes, Waves: n.Waves, By: v.User, Reason: o.reason}, nil
	})
}

// SkipOptions are those of rollout skip.
type SkipOptions struct {
	CommandOptions
	node string
}

// Bind reads the flags and arguments.
func (o *SkipOptions) Bind(b *cli.Binder) {
	o.CommandOptions.Bind(b)
	o.rollout = ""
	b.Arg(&o.node)
	b.Second(&o.rollout)
}

// SkipArguments is the Check of rollout skip.
func SkipArguments(args []string) error {
	if len(args) == 0 {
		return cli.Errorf("Must specify a node to skip")
	}
	if len(args) > 2 {
		return cli.Errorf("Unknown argument '%s'", args[2])
	}
	return nil
}

// Skip carries out rollout skip.
func (v *Invocation) Skip(ctx context.Context, o *SkipOptions) error {
	return v.command(ctx, &o.CommandOptions, func(*rollout.State) (rollout.Event, error) {
		return &rollout.Skipped{Node: o.node, By: v.User, Reason: o.reason}, nil
	})
}

// RetryOptions are those of rollout retry.
type RetryOptions struct {
	CommandOptions
	nodes []string
}

// Bind reads the flags and arguments.
func (o *RetryOptions) Bind(b *cli.Binder) {
	o.CommandOptions.Bind(b)
	b.Rest(1, &o.nodes)
}

// Retry carries out rollout retry.
func (v *Invocation) Retry(ctx context.Context, o *RetryOptions) error {
	return v.command(ctx, &o.CommandOptions, func(*rollout.State) (rollout.Event, error) {
		return &rollout.Retried{Nodes: o.nodes, By: v.User, Reason: o.reason}, nil
	})
}

// AbortOptions are those of rollout abort.
type AbortOptions struct {
	CommandOptions
	cancel bool
}

// Bind reads the flags and arguments.
func (o *AbortOptions) Bind(b *cli.Binder) {
	o.CommandOptions.Bind(b)
	b.Switch("cancel", &o.cancel)
}

// Abort carries out rollout abort. If no process drives the rollout, it brings the rollout to its end.
func (v *Invocation) Abort(ctx context.Context, o *AbortOptions) error {
	return v.steer(ctx, &o.CommandOptions, func(*rollout.State) (rollout.Event, error) {
		mode := rollout.Drain
		if o.cancel {
			mode = rollout.Cancel
		}
		return &rollout.AbortRequested{Mode: mode, By: v.User, Reason: o.reason}, nil
	}, rollout.Aborted)
}

// Rollback carries out rollout rollback: also of a rollout that has ended. If no process drives the rollout, it drives
// the rollback.
func (v *Invocation) Rollback(ctx context.Context, o *CommandOptions) error {
	b, id, s, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	later, node, err := b.ledger.Since(ctx, s)
	if err != nil {
		return failed(err)
	}
	if later != "" {
		e := fault.New(ledger.Kind, "The later rollout %s has the node %s, so the rollout %s cannot be rolled back", later, node, id)
		e.Hint = fmt.Sprintf("roll back the later rollout first (bolt rollout rollback %s), or abort it if it has not started (bolt rollout abort %[1]s)", later)
		return e
	}
	return v.steer(ctx, o, func(s *rollout.State) (rollout.Event, error) {
		if s.Ended() { // a rollout that has succeeded must not become one that has failed
			if why := s.Stays(); why != "" {
				return nil, fault.New(ledger.Kind, "No node of the rollout %s has to be rolled back (%s)", id, why)
			}
		}
		return &rollout.RollbackRequested{By: v.User, Reason: o.reason}, nil
	}, rollout.RolledBack)
}

// steer appends the event of a person, and drives the rollout unless another process does. The command
// succeeds if the rollout ends as wanted.
func (v *Invocation) steer(ctx context.Context, o *CommandOptions, make func(*rollout.State) (rollout.Event, error), wanted rollout.Phase) error {
	b, id, _, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	if _, err := b.ledger.Command(ctx, id, make); err != nil {
		return failed(err)
	}
	defer v.deliverAnyhow(ctx, b)()
	err = v.drive(ctx, b, id, func(d *driver.Options) { d.Pause = true })
	if _, held := errors.AsType[*store.HeldError](err); held {
		if v.Format.Data {
			s, err := b.ledger.Load(ctx, id)
			if err != nil {
				return failed(err)
			}
			return layout.WriteDocument(v.Out, s.Status())
		}
		return v.say("%s: the process that drives the rollout carries it out.", id)
	}
	if err != nil && !errors.Is(err, cli.ErrFailed) && !errors.Is(err, cli.ErrWaits) {
		return err
	}
	s, lerr := b.ledger.Load(context.WithoutCancel(ctx), id)
	if lerr != nil {
		return failed(lerr)
	}
	if phase, _ := s.Phase(); phase == wanted {
		return nil
	}
	return err
}
