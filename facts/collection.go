package facts

import (
	"context"
	"errors"

	"bolt/format/ordered"
	"bolt/run"
	"bolt/transport"
)

// A Collection is an action that collects facts through the helper of bolt, and stores them. On targets where
// the helper cannot run, it runs the task instead, whose name and object it has.
type Collection struct {
	*Keeping // the task
	helper   *Keeping
}

// NewCollection returns a Collection that does not store the facts: they are the values of its results. task and helper
// are as for Collect; if helper is nil, the task runs on all targets.
func NewCollection(task run.Action, helper func(context.Context, *run.Site) (*ordered.Map, error)) *Collection {
	c := &Collection{Keeping: &Keeping{task, nil}}
	if helper != nil {
		c.helper = &Keeping{through{task, helper}, nil}
	}
	return c
}

// Collect returns a Collection. helper returns the facts of a target through the helper; it is not called for
// targets that cannot have one. version is the version of this program.
func (s *Store) Collect(task run.Action, helper func(context.Context, *run.Site) (*ordered.Map, error), version string) *Collection {
	return &Collection{s.Keep(task, FromTask, version), s.Keep(through{task, helper}, FromHelper, version)}
}

// Do collects and stores the facts of a target.
func (c *Collection) Do(ctx context.Context, site *run.Site) error {
	// The helper is a program for Linux, and needs a shell; a device is not the machine that is connected to.
	if c.helper == nil || site.Via != site.Target || site.Settings.PowerShell {
		return c.Keeping.Do(ctx, site)
	}
	err := c.helper.Do(ctx, site)
	if e, is := errors.AsType[*transport.Error](err); is && e.Class == transport.ClassBootstrap {
		return c.Keeping.Do(ctx, site)
	}
	return err
}

// through is the action of collecting facts through the helper.
type through struct {
	run.Action
	facts func(context.Context, *run.Site) (*ordered.Map, error)
}

// Do sets the value of the result to the facts.
func (a through) Do(ctx context.Context, site *run.Site) error {
	facts, err := a.facts(ctx, site)
	if err == nil {
		site.Result.Value = facts
	}
	return err
}
