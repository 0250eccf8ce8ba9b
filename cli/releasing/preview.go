package releasing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/remote"
	"bolt/apply/remote/embedded"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/format/fault"
	"bolt/inventory"
	"bolt/output/layout"
	"bolt/output/listing"
	"bolt/release"
	"bolt/release/preview"
	"bolt/rollout"
	"bolt/rollout/reach"
	"bolt/run"
)

// PreviewOptions are those of release preview.
type PreviewOptions struct {
	StateOptions
	targets     acting.Targets
	concurrency string
	name        string
	most        cli.Optional
}

// Bind reads the flags and arguments.
func (o *PreviewOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	o.targets.Bind(b)
	b.Text("concurrency", &o.concurrency)
	b.Arg(&o.name)
	b.Optional("max-changes", &o.most)
}

// Check refuses options that contradict each other.
func (o *PreviewOptions) Check() error {
	if o.most.Given {
		if _, err := cli.ParseCount(o.most.Text); err != nil {
			return cli.Hinted(cli.Invalid("max-changes", o.most.Text), "give a number of resources (at least 0)")
		}
	}
	return o.targets.Check()
}

// Preview carries out release preview: it applies the catalogs of a release in noop mode, and prints the changes. It returns
// cli.ErrFailed if a node failed or has more changes than the limit.
func (v *Invocation) Preview(ctx context.Context, o *PreviewOptions) error {
	a, err := v.archive(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	r, err := v.admitted(ctx, a, o.name)
	if err != nil {
		return err
	}
	if o.targets.Ways() == 0 {
		o.targets.Names = r.Names()
	}
	targets, err := v.Targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	if err := inRelease(r, targets); err != nil {
		return err
	}
	helpers, err := embedded.Built()
	if err != nil {
		return err
	}
	p := &previewer{v: v, archive: a, release: r, delivery: v.Delivery}
	p.shown = listing.Preview{Preview: &preview.Preview{}, Release: r, Nodes: len(targets), Limited: o.most.Given}
	if o.most.Given {
		p.shown.Most, _ = cli.ParseCount(o.most.Text)
	}
	d := &p.delivery
	d.Helpers, d.Noop, d.Seq, d.Open, d.Puppet = helpers, true, int64(r.Sequence), a.Open(ctx), puppet(a, r)
	if err := v.Act(ctx, o.concurrency, targets, p, event.Func(p.Event)); err != nil {
		return err
	}
	p.shown.Sort()
	err = listing.PrintPreview(v.Out, v.How, &p.shown, v.How.Format == layout.NDJSON)
	return cli.Failed(len(p.shown.Failures) > 0 || p.shown.Beyond() != nil, err)
}

// admitted returns a release that can be rolled out; the last one without a name.
func (v *Invocation) admitted(ctx context.Context, a *release.Archive, name string) (*release.Release, error) {
	if name == "" {
		name = release.Last
	}
	e, err := a.Find(ctx, name)
	if err != nil {
		return nil, failed(err)
	}
	s, err := v.signers(ctx, "")
	if err != nil {
		return nil, err
	}
	r, _, err := a.Admit(ctx, e, s, time.Now())
	return r, failed(err)
}

// inRelease checks that a release has catalogs for targets.
func inRelease(r *release.Release, targets []*inventory.Target) error {
	const most = 5 // names in the message
	var missing []string
	for _, t := range targets {
		if _, has := r.Nodes[t.Name]; !has {
			missing = append(missing, t.SafeName())
		}
	}
	if missing == nil {
		return nil
	}
	names := strings.Join(missing[:min(most, len(missing))], ", ")
	if more := len(missing) - most; more > 0 {
		names += fmt.Sprintf(" and %d more nodes", more)
	}
	e := fault.New(release.Kind, "The release %s has no catalog for %s", release.Short(r.ID), names)
	e.Hint = "'bolt release create -t TARGETS' makes a release with these nodes"
	return e
}

// A previewer is the action of a preview, and takes its events.
type previewer struct {
	v        *Invocation
	archive  *release.Archive
	release  *release.Release
	delivery fleet.Delivery
	shown    listing.Preview
	// ended has the outcome of the work on each target, *previewed, until its last event.
	ended sync.Map
}

// A previewed is what a run in noop mode has found on a target.
type previewed struct {
	changes []preview.Resource
	// failures are the resources that failed, and refused is why the target refused the run. Unlike the error of the result, they do not name the
	// target, so they are equal on many targets.
	failures []string
	refused  []string
}

// Name implements run.Action.
func (p *previewer) Name() string { return event.Apply }

// Object returns the object for the audit log.
func (p *previewer) Object() string { return "preview of release " + release.Short(p.release.ID) }

// Do applies the catalog of one target in noop mode.
func (p *previewer) Do(ctx context.Context, site *run.Site) error {
	c, err := p.archive.Catalog(ctx, p.release.Nodes[site.Target.Name], p.v.Vault)
	if err != nil {
		return failed(err)
	}
	found := &previewed{}
	action := fleet.Fixed(c, &p.delivery, p.v.Version)
	action.Deliver = func(ctx context.Context, site *run.Site, c *catalog.Catalog, each func(*report.Result)) (*report.Run, error) {
		done, err := p.delivery.Deliver(ctx, site, c, each)
		if refused, is := errors.AsType[*remote.RefusedError](err); is {
			found.refused = refused.Messages
		}
		return done, err
	}
	action.Report = append(action.Report, func(_ context.Context, _ *inventory.Target, _ *catalog.Catalog, r *report.Run) error {
		found.changes = preview.Of(r, p.v.Redact)
		for _, one := range r.Results {
			if text := one.Failure(); text != "" {
				found.failures = append(found.failures, fmt.Sprintf("%s: %s", one.Ref, text))
			}
		}
		return nil
	})
	p.ended.Store(site.Target, found)
	return action.Do(ctx, site)
}

// Event takes the results of targets, one at a time.
func (p *previewer) Event(_ context.Context, e event.Event) error {
	end, is := e.(event.TargetEnd)
	if !is {
		return nil
	}
	res := end.Result
	found := &previewed{}
	if kept, has := p.ended.LoadAndDelete(res.Target); has {
		found = kept.(*previewed)
	}
	node, lines := res.Target.SafeName(), p.v.How.Format == layout.NDJSON
	if res.OK() {
		p.shown.Add(node, found.changes)
		if lines {
			return listing.PrintPreviewed(p.v.Out, node, found.changes)
		}
		return nil
	}
	f := preview.Failure{Node: node, Outcome: string(reach.OutcomeOf(res)), Reason: res.Err.Msg}
	switch {
	case found.refused != nil:
		f.Outcome, f.Reason = string(rollout.OutcomeRefused), strings.Join(found.refused, "\n")
	case found.failures != nil && res.Err.Kind == fleet.KindResource:
		slices.Sort(found.failures)
		f.Reason = strings.Join(found.failures, "\n")
	}
	f.Reason = p.v.Redact(f.Reason)
	p.shown.Fail(f)
	if lines {
		return listing.PrintUnknown(p.v.Out, f)
	}
	return nil
}
