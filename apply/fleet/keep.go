package fleet

import (
	"cmp"
	"context"

	"bolt/apply/frame"
	"bolt/apply/history"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/internal/safetext"
	"bolt/inventory"
)

// A Keeper keeps the reports of runs. A report that cannot be kept does not fail the target.
type Keeper struct {
	Dir *history.Dir
	By  string // the user for whom bolt runs
	// Redact removes the secrets from a text that are secrets for this machine only. The texts of Sensitive parameters were
	// removed on the target. nil removes nothing.
	Redact func(text string) string
	// Lost takes the error of a report that was not kept. It is called from several goroutines.
	Lost func(t *inventory.Target, err error)
}

// An Origin is the release of a run and the rollout that it belongs to; "" for none.
type Origin struct{ Release, Rollout string }

// Keep returns the function for Apply.Report that keeps the reports of runs.
func (k *Keeper) Keep(of Origin) ReportFunc {
	return func(_ context.Context, t *inventory.Target, c *catalog.Catalog, done *report.Run) error {
		k.add(t, k.report(t, c, done, of))
		return nil
	}
}

// KeepFate keeps the report of a run that has ended, with the outcomes that the machine has recorded, unless the report is there.
// The machine does not record messages. A nil Keeper keeps nothing. catalog returns the catalog of the run.
func (k *Keeper) KeepFate(t *inventory.Target, run string, noop bool, f *frame.Fate, of Origin, catalog func() (*catalog.Catalog, error)) {
	broken := f.State == frame.StateBroken
	if k == nil || !broken && (f.State != frame.StateEnded || f.Done == nil || f.Done.Refused != nil) || f.Begin.IsZero() || k.Dir.Has(t.SafeName(), run) {
		return
	}
	c, err := catalog()
	if err != nil {
		k.Lost(t, err)
		return
	}
	done := &report.Run{ID: run, Noop: noop, Start: f.Begin}
	fill(c, done, f)
	if broken {
		done.Stopped, done.Why = true, "The run was interrupted there"
	} else {
		done.Took = f.End.Sub(f.Begin)
		done.Stopped = f.Done.Stopped != "" && f.Done.Counts.Skipped > 0
		if f.Done.Error != "" {
			done.Stopped, done.Why = true, f.Done.Error
		}
	}
	k.add(t, k.report(t, c, done, of))
}

// KeepPart keeps the report of a run whose end is not known, unless a report of the run is there.
func (k *Keeper) KeepPart(t *inventory.Target, c *catalog.Catalog, done *report.Run, of Origin) {
	if !k.Dir.Has(t.SafeName(), done.ID) {
		k.add(t, k.report(t, c, done, of))
	}
}

func (k *Keeper) add(t *inventory.Target, r *history.Report) {
	if err := k.Dir.Add(r); err != nil {
		k.Lost(t, err)
	}
}

// report returns the report of a run.
func (k *Keeper) report(t *inventory.Target, c *catalog.Catalog, done *report.Run, of Origin) *history.Report {
	clean := k.Redact
	if clean == nil {
		clean = func(text string) string { return text }
	}
	r := history.Of(done)
	r.Node, r.Release, r.Rollout, r.By = t.SafeName(), of.Release, of.Rollout, k.By
	if done.Stopped {
		r.Error = safetext.Message(clean(cmp.Or(done.Why, "The run was stopped before it reached all resources")))
	}
	var list []*report.Result
	for _, res := range done.Results {
		if !res.Silent() {
			list = append(list, res)
		}
	}
	inOrder(c, list, func(r *report.Result) string { return r.Ref.String() })
	for _, res := range list {
		kept := history.Resource{Ref: clean(res.Ref.String()), Status: res.Status, Refreshed: res.Refreshed, Attempts: res.Attempts, Reason: clean(res.Reason), Place: place(c, res), Took: res.Took.Seconds()}
		for _, e := range res.Events {
			kept.Events = append(kept.Events, history.Event{Property: e.Property, Name: e.Name, Status: e.Outcome,
				Is: clean(e.Is), Should: clean(e.Should), Was: clean(e.Was), Message: clean(e.Message), Diff: clean(e.Diff)})
		}
		r.Resources = append(r.Resources, kept)
	}
	for _, l := range done.Logs {
		if l.Level == report.Debug || l.Level == report.Info { // bolt apply does not print them either
			continue
		}
		l.Ref, l.Message = clean(l.Ref), clean(l.Message)
		r.Logs = append(r.Logs, l)
	}
	return r
}
