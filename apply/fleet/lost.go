package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/apply"
	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/run"
	"bolt/transport"
)

const (
	// askLimit is the time in which bolt tries to find the fate of a run after the connection was lost.
	askLimit = 30 * time.Second
	// askPause is the pause between two queries to a helper that still runs.
	askPause = time.Second
)

// resume finds the fate of a run whose connection was lost: it connects again and queries the helper. If the run
// has ended, done gets the results that had not arrived. The error is then nil if the run came to its end.
func (d *Delivery) resume(ctx context.Context, site *run.Site, c *catalog.Catalog, id string, done *report.Run, lost error) error {
	if e, is := errors.AsType[*transport.Error](lost); !is || e.Class != transport.ClassLost {
		return lost
	}
	fate, err := d.ask(ctx, site, id)
	if err != nil {
		return noted(site, lost, fmt.Sprintf("The outcome of the run is not known, because the target does not answer: %v", err))
	}
	switch fate.State {
	case frame.StateRunning:
		return noted(site, lost, "The run continues there. Wait until it has ended before you start a new run.")
	case frame.StateBroken:
		return noted(site, lost, "The run was interrupted there. Apply the manifest again: each run starts from the real state.")
	case frame.StateUnknown:
		return noted(site, lost, "Nothing was changed there.")
	}
	fill(c, done, fate)
	if fate.Done == nil || fate.Done.Stopped != "" || fate.Done.Error != "" {
		return noted(site, lost, "The resource that was being applied was finished there, and the rest was skipped.")
	}
	return nil
}

// ask queries the helper until the run has ended.
func (d *Delivery) ask(ctx context.Context, site *run.Site, id string) (*frame.Fate, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	conn, err := site.Reconnect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return d.ended(ctx, site, conn, id)
}

// Asked is the function for Apply.Ask.
func (d *Delivery) Asked(ctx context.Context, site *run.Site) (*frame.Fate, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return d.ended(ctx, site, site.Conn, d.run(site.Target))
}

// ended waits until a run has ended or ctx ends, and returns the fate of the run.
func (d *Delivery) ended(ctx context.Context, site *run.Site, conn transport.Conn, id string) (*frame.Fate, error) {
	for {
		fate, err := remote.Asked(ctx, conn, d.Target(site), id)
		if err != nil || fate.State != frame.StateRunning {
			return fate, err
		}
		select {
		case <-time.After(askPause):
		case <-ctx.Done():
			return fate, nil
		}
	}
}

// fill adds the results that are known from the journal of the helper.
func fill(c *catalog.Catalog, done *report.Run, fate *frame.Fate) {
	known := make(map[catalog.Ref]bool, len(done.Results))
	for _, r := range done.Results {
		known[r.Ref] = true
	}
	add := func(ref catalog.Ref, status report.Status, refreshed bool) {
		if !known[ref] {
			known[ref] = true
			done.Results = append(done.Results, &report.Result{Ref: ref, Status: status, Refreshed: refreshed, Start: done.Start, Events: eventsOf(status, fate.End), Generated: c.Find(ref) == nil})
		}
	}
	for _, e := range fate.Ended {
		if ref, err := catalog.ParseRef(e.Ref); err == nil {
			add(ref, e.Status, e.Refreshed)
		}
	}
	rest := report.Unchanged
	if fate.Done == nil || fate.Done.Stopped != "" && fate.Done.Counts.Skipped > 0 {
		rest = report.Skipped
	}
	for _, r := range c.Resources() {
		if apply.Reported(r) {
			add(r.Ref, rest, false)
		}
	}
}

// noted returns the error of a lost connection, with a text about the fate of the run.
func noted(site *run.Site, err error, text string) error {
	e, is := errors.AsType[*transport.Error](err)
	if !is {
		return err
	}
	out := *e
	out.Msg = fmt.Sprintf("The connection to %s was lost. %s", site.Target.SafeName(), text)
	return &out
}
