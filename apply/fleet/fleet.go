// Package fleet applies catalogs on targets, as a run.Action: it finds the facts of a target, compiles the
// catalog, applies it through the helper, and makes the result in Puppet Bolt's form.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/value"
	"bolt/run"
)

// The kinds of errors, with Puppet Bolt's names.
const (
	kindCompile  = "bolt/apply-error"
	KindResource = "bolt/resource-failure"
)

// An Apply is the action of applying catalogs, for run.Runner. New and Fixed return one. Its fields are not changed while it runs.
type Apply struct {
	// Facts returns the facts of a target that are known without asking it.
	Facts func(ctx context.Context, site *run.Site) (*ordered.Map, error)
	// Collect returns these facts together with the facts that the target collects. It is called only if a
	// compilation needs them. If it is nil, facts are not collected.
	Collect func(ctx context.Context, site *run.Site) (*ordered.Map, error)
	// Compile makes the catalog of a target. An error concerns this target only. partial is set if facts are from
	// Facts, and Collect would return more. The error is then ErrMoreFacts if the compilation reads a missing fact.
	Compile func(ctx context.Context, t *inventory.Target, facts *ordered.Map, partial bool) (*catalog.Catalog, error)
	// Deliver applies a catalog on the target. It calls each for every resource as soon as its result is
	// known, one at a time. It returns an error if the catalog could not be applied, but not for failed resources.
	Deliver func(ctx context.Context, site *run.Site, c *catalog.Catalog, each func(*report.Result)) (*report.Run, error)
	// Compiled take the catalog of a target before it is applied. If one returns an error, the target fails with that error,
	// and is not changed. They are called from several goroutines.
	Compiled []CatalogFunc
	// Ask returns the fate of an earlier run on the target, for an Inquiry.
	Ask func(ctx context.Context, site *run.Site) (*frame.Fate, error)
	// Report take the finished run of a target. They are called from several goroutines.
	Report []ReportFunc
	// Version is the version of Puppet that reports in Puppet's format contain.
	Version string
	Noop    bool

	slots chan struct{}
	eager atomic.Bool // the manifest needs facts, so they are collected before it is compiled
}

// New returns the action of compiling catalogs with m and applying them with d. The facts of a target come from the inventory;
// facts are not collected. version is the version of the program, for reports. As many catalogs are compiled at a time as there are processors.
func New(m *Manifest, d *Delivery, version string) *Apply {
	a := &Apply{
		Facts:   func(ctx context.Context, s *run.Site) (*ordered.Map, error) { return Known(ctx, s.Target) },
		Compile: m.Compile, Deliver: d.Deliver, Ask: d.Asked, Version: version, Noop: d.Noop,
	}
	a.Compiles(0)
	return a
}

// ErrMoreFacts is the error of Apply.Compile if facts must be collected first.
var ErrMoreFacts = errors.New("the manifest reads unknown facts")

// A CatalogFunc takes the catalog of a target.
type CatalogFunc func(ctx context.Context, t *inventory.Target, c *catalog.Catalog) error

// A ReportFunc takes the finished run of a target. If it returns an error, the target fails with that error.
type ReportFunc func(ctx context.Context, t *inventory.Target, c *catalog.Catalog, r *report.Run) error

// Compiles sets how many catalogs are compiled at a time; 0 is the number of processors.
func (a *Apply) Compiles(n int) {
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	a.slots = make(chan struct{}, n)
}

// Name implements run.Action.
func (a *Apply) Name() string { return event.Apply }

// Object returns "". Puppet Bolt has null.
func (a *Apply) Object() string { return "" }

// Do applies the catalog of one target.
func (a *Apply) Do(ctx context.Context, site *run.Site) error {
	t := site.Target
	c, err := a.catalog(ctx, site, a.Compile)
	if err != nil {
		return a.uncompiled(ctx, site, err)
	}
	for _, take := range a.Compiled {
		if err := take(ctx, t, c); err != nil {
			return err
		}
	}
	done, err := a.Deliver(ctx, site, c, func(r *report.Result) {
		if !r.Silent() {
			shown := resourceOf(c, r)
			site.Resource(ctx, &shown)
		}
	})
	if done != nil {
		a.result(site, c, done)
		for _, report := range a.Report {
			if rerr := report(ctx, t, c, done); err == nil {
				err = rerr
			}
		}
	}
	return err
}

// uncompiled makes the result of a target without a catalog. It returns an error of facts, and err if ctx has ended.
func (a *Apply) uncompiled(ctx context.Context, site *run.Site, err error) error {
	if e, is := errors.AsType[*factsError](err); is {
		return e.error
	}
	if ctx.Err() != nil {
		return err
	}
	site.Result.Err = &event.Error{Kind: kindCompile, Msg: fmt.Sprintf("Apply failed to compile for %s: %s", site.Target.SafeName(), err), Class: event.ClassFailed, Details: &ordered.Map{}}
	return nil
}

// A factsError is the error for facts that cannot be found.
type factsError struct{ error }

// catalog finds the facts of a target and compiles its catalog. Facts are collected if the manifest reads unknown facts. So a
// manifest that reads none costs no further command on the target.
func (a *Apply) catalog(ctx context.Context, site *run.Site, compile CompileFunc) (*catalog.Catalog, error) {
	if a.Collect == nil || !a.eager.Load() {
		facts, err := a.Facts(ctx, site)
		if err != nil {
			return nil, &factsError{err}
		}
		c, err := a.compile(ctx, compile, site.Target, facts, a.Collect != nil)
		if !errors.Is(err, ErrMoreFacts) {
			return c, err
		}
		a.eager.Store(true)
	}
	facts, err := a.Collect(ctx, site)
	if err != nil {
		return nil, &factsError{err}
	}
	return a.compile(ctx, compile, site.Target, facts, false)
}

func (a *Apply) compile(ctx context.Context, compile CompileFunc, t *inventory.Target, facts *ordered.Map, partial bool) (*catalog.Catalog, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return compile(ctx, t, facts, partial)
}

// result fills in the result of a target.
func (a *Apply) result(site *run.Site, c *catalog.Catalog, done *report.Run) {
	r := site.Result
	n := done.Count()
	applied := &event.Applied{Catalog: c, Changed: n.Changed, Failed: n.Failed, Unchanged: n.Unchanged, Skipped: n.Skipped, Noop: n.Noop}
	var failures []string
	for _, res := range done.Results {
		if !res.Silent() {
			applied.Resources = append(applied.Resources, resourceOf(c, res))
		}
		if msg := res.Failure(); msg != "" {
			text := fmt.Sprintf("  %s: %s", res.Ref, msg)
			if at := place(c, res); at != "" {
				text += " (" + at + ")"
			}
			failures = append(failures, text)
		}
	}
	for _, l := range done.Logs {
		applied.Logs = append(applied.Logs, event.ResourceLog{Ref: l.Ref, Level: string(l.Level), Message: l.Message})
	}
	inOrder(c, applied.Resources, func(r event.Resource) string { return r.Ref })
	r.Applied = applied
	r.Value = ordered.Of("report", puppetReport{done, c, a.Version}, "_output", applied.String(), "_sensitive", value.Redacted) // of the catalog
	switch {
	case len(failures) > 0:
		r.Err = &event.Error{Hint: rootHint(site, failures), Kind: KindResource, Class: event.ClassFailed, Msg: fmt.Sprintf("Resources failed to apply for %s\n%s", r.Target.SafeName(), strings.Join(failures, "\n")),
			Details: ordered.Of("failed_resources", ordered.Of(failed(done)...))}
	case done.Stopped:
		r.Err = &event.Error{Kind: kindCompile, Class: event.ClassCancelled, Details: &ordered.Map{},
			Msg: fmt.Sprintf("The apply on %s was stopped before it reached all resources", r.Target.SafeName())}
	}
}

// inOrder sorts results in the order of the catalog, because files end in any order. A generated resource stays
// behind the resource before it. ref returns the resource of a result.
func inOrder[R any](c *catalog.Catalog, list []R, ref func(R) string) {
	if len(list) < 2 {
		return
	}
	places := make(map[string]int)
	for i, r := range c.Resources() {
		places[r.Ref.String()] = i
	}
	last := 0
	at := make(map[string]int, len(list))
	for _, r := range list {
		name := ref(r)
		if i, is := places[name]; is {
			last = i
		}
		at[name] = last
	}
	slices.SortStableFunc(list, func(x, y R) int { return at[ref(x)] - at[ref(y)] })
}

func failed(done *report.Run) (pairs []any) {
	for _, res := range done.Results {
		if msg := res.Failure(); msg != "" {
			pairs = append(pairs, res.Ref.String(), msg)
		}
	}
	return pairs
}

// A puppetReport is made only when it is written, because it can be large and most formats do not print it.
type puppetReport struct {
	run     *report.Run
	catalog *catalog.Catalog
	version string
}

// Data implements safejson.Lazy.
func (p puppetReport) Data() (any, error) { return p.run.Puppet(p.catalog, p.version), nil }

// rootHint returns a hint if only root can change the failed resources; otherwise "".
func rootHint(site *run.Site, failures []string) string {
	if site.Settings.RunAs.User != "" {
		return ""
	}
	for _, f := range failures {
		l := strings.ToLower(f)
		if strings.Contains(l, "permission denied") || strings.Contains(l, "operation not permitted") {
			return "If the login user is not root, apply as root: --run-as root"
		}
	}
	return ""
}

// place returns the position at which a resource, or the resource that generated it, is declared; "" if the
// position is not known.
func place(c *catalog.Catalog, r *report.Result) string {
	ref := r.Ref
	if r.Generated {
		ref = r.Parent
	}
	d := c.Find(ref)
	switch {
	case d == nil || d.Line == 0:
		return ""
	case d.File == "":
		return fmt.Sprintf("line %d", d.Line)
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

func resourceOf(c *catalog.Catalog, r *report.Result) event.Resource {
	out := event.Resource{Ref: r.Ref.String(), Status: string(r.Status), Refreshed: r.Refreshed, Attempts: r.Attempts, Reason: r.Reason, Place: place(c, r)}
	for _, e := range r.Events {
		out.Changes = append(out.Changes, event.Change{Property: e.Property, Status: string(e.Outcome), Message: e.Message, Diff: e.Diff})
	}
	return out
}
