package apply

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/catalog/types"
)

// A step is a resource that is applied, or a point at which a container is entered or left. Only the
// scheduler's goroutine reads and writes it, except that apply uses it while the step runs.
type step struct {
	ref      catalog.Ref
	resource *resource.Resource // nil for containers and passive resources
	typ      resource.Type
	item     resource.Item
	meta     meta
	hidden   *strings.Replacer // removes secrets from texts; nil if there are none
	parallel bool
	free     bool   // relations are its only order: a graph declares it
	group    *group // with which it is applied; nil for none
	gate     bool   // it stands before the members of a group; it does not pass failures on
	tries    tries
	// parent is set for a generated resource.
	parent *step

	index int // among the items, in the order of application; a generated resource has its parent's
	seq   int // among those with the same index
	after []link
	waits int // the number of steps before this one that are not done

	// broken is the resource before this one that failed; cause is set with it.
	broken bool
	cause  catalog.Ref
	// refreshes and wouldRefresh count the changes, and the changes that noop prevented, that refresh this step.
	refreshes, wouldRefresh int
	owed                    bool // Options.Owe has had it, or Options.Refreshes
	handled                 bool // the step was applied, so that the refreshes were carried out, or dropped for good

	receipts []receipt // the parameters that it receives
	received bool      // the item has their values
	woken    bool      // one of these values is new
	// receivers are the steps that receive from this step. The fields below are set when the step has ended.
	receivers []*step
	status    report.Status
	sent      Sent
	wouldSend bool // a refresh that noop prevents can change the values that it sends
}

type link struct {
	to      *step
	refresh bool
}

// meta are the metaparameters that the engine obeys.
type meta struct {
	noop     *bool
	schedule string
	loud     bool     // show_diff is not false
	audit    []string // properties; auditAll is set if they are all of the type
	auditAll bool
	types.Meta
}

func (s *step) adopt(typ resource.Type, item resource.Item) {
	s.typ, s.item = typ, item
	if _, s.parallel = item.(resource.Parallel); s.free && !s.parallel {
		_, s.parallel = item.(resource.Independent)
	}
}

func (s *step) readMeta() (err error) {
	r := s.resource
	if _, given := r.Params.Get("noop"); given {
		noop, err := r.Bool("noop", false)
		if err != nil {
			return err
		}
		s.meta.noop = &noop
	}
	if s.meta.schedule, _, err = r.Text("schedule"); err != nil {
		return err
	}
	show, _, err := r.Text("show_diff")
	s.meta.loud = show != "false" && show != "no" // the types check other words
	if err != nil {
		return err
	}
	return s.readAudit()
}

func (s *step) noop(o *Options) bool {
	if s.meta.noop != nil {
		return *s.meta.noop
	}
	return o.Noop
}

func (s *step) tagged(wanted []string) bool { return Tagged(s.ref, s.resource.Tags, wanted) }

// Tagged reports whether a resource has one of the wanted tags. Its type and its title are tags, too.
func Tagged(ref catalog.Ref, tags, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(t string) bool {
		t = strings.ToLower(t)
		return slices.Contains(tags, t) || strings.EqualFold(ref.Title, t) || strings.EqualFold(ref.Type, t)
	})
}

// An attempt is the work on one step, away from the scheduler.
type attempt struct {
	run       *Run
	host      *resource.Host // of run; with a timeout, its Run ends programs
	s         *step
	held      []types.Semaphore // by the batch whose first attempt this is
	refresh   bool              // the step is to be refreshed
	owes      []*step           // are refreshed if it changes
	owed      bool              // Options.Owe has them
	planned   []resource.Change
	made      []resource.Change
	children  []*resource.Resource
	refreshed bool
	found     map[string]string // of audited properties; nil if none are audited
	recorded  map[string]string // of the last run
	result    report.Result
}

func newAttempt(run *Run, s *step) *attempt {
	a := &attempt{run: run, host: run.host, s: s}
	a.result = report.Result{Ref: s.ref, Status: report.Unchanged, Start: run.host.Now()}
	if s.parent != nil {
		a.result.Generated, a.result.Parent = true, s.parent.ref
	}
	return a
}

// guard makes a panic in an item the failure of its resource.
func (a *attempt) guard() {
	if p := recover(); p != nil {
		a.fail("", fmt.Errorf("internal error: %v\n%s", p, debug.Stack()))
	}
}

func (a *attempt) fail(property string, err error) {
	a.event(report.Event{Property: property, Outcome: report.Failure, Message: err.Error()})
	a.result.Status = report.Failed
}

func (a *attempt) event(e report.Event) {
	e.Time = a.run.host.Now()
	a.s.hide(&e)
	a.result.Events = append(a.result.Events, e)
}

// generate asks the item for resources that the catalog does not have.
func (a *attempt) generate(ctx context.Context) {
	defer a.guard()
	if g, is := a.s.item.(resource.Generator); is {
		var err error
		if a.children, err = g.Generate(ctx, a.host); err != nil {
			a.fail("", err)
		}
	}
}

// read finds the state of the item.
func (a *attempt) read(ctx context.Context) {
	defer a.guard()
	if err := a.s.item.Read(ctx, a.host); err != nil {
		a.fail("", err)
	}
}

func (a *attempt) failed() bool { return a.result.Status == report.Failed }

// plan compares the states. It reports whether there is something to do.
func (a *attempt) plan() bool {
	defer a.guard()
	if a.failed() {
		return false
	}
	var err error
	if a.planned, err = a.s.item.Plan(); err != nil {
		a.fail("", err)
		return false
	}
	if len(a.planned) == 0 {
		return false
	}
	if a.s.noop(&a.run.o) {
		for i := range a.planned {
			a.event(a.describe(&a.planned[i], report.NoopOut, a.diff(&a.planned[i])))
		}
		a.result.Status = report.Noop
		return false
	}
	if a.run.o.Owe != nil && len(a.owes) > 0 && !a.owed {
		refs := make([]catalog.Ref, len(a.owes))
		for i, to := range a.owes {
			refs[i] = to.ref
		}
		if err := a.run.o.Owe(refs); err != nil {
			a.fail("", fmt.Errorf("the refreshes that this change needs cannot be recorded, so nothing was changed: %w", err))
			return false
		}
		a.owed = true
	}
	a.changing()
	return true
}

// changing records that the change or refresh of the resource begins.
func (a *attempt) changing() {
	if a.run.o.Changing != nil {
		a.run.o.Changing(a.s.ref)
	}
}

// do makes the planned changes. After a failure of ensure nothing else is done; other
// properties do not depend on each other.
func (a *attempt) do(ctx context.Context) {
	for i := range a.planned {
		c := &a.planned[i]
		diff, err := a.change(ctx, c)
		if err != nil {
			e := a.describe(c, report.Failure, "")
			e.Message = fmt.Sprintf("%s failed: %s", a.attempted(c), err)
			a.event(e)
			a.result.Status = report.Failed
			if c.Property == "ensure" {
				break
			}
			continue
		}
		a.made = append(a.made, *c)
		a.event(a.describe(c, report.Success, diff))
		if !a.failed() {
			a.result.Status = report.Changed
		}
	}
}

// change makes one change, and returns its diff, which is made before it.
func (a *attempt) change(ctx context.Context, c *resource.Change) (diff string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
		}
	}()
	diff = a.diff(c)
	return diff, a.s.item.Do(ctx, a.host, c)
}

// did records changes that were made together with those of other resources.
func (a *attempt) did(err error) {
	for i := range a.planned {
		c := &a.planned[i]
		if err != nil {
			e := a.describe(c, report.Failure, "")
			e.Message = fmt.Sprintf("%s failed: %s", a.attempted(c), err)
			a.event(e)
			a.result.Status = report.Failed
			return
		}
		a.made = append(a.made, *c)
		a.event(a.describe(c, report.Success, ""))
		a.result.Status = report.Changed
	}
}

// finish carries out the refresh.
func (a *attempt) finish(ctx context.Context) {
	defer func() { a.result.Took = a.run.host.Now().Sub(a.result.Start) }()
	defer a.guard()
	r, is := a.s.item.(resource.Refresher)
	if !is || !a.refresh || a.s.noop(&a.run.o) {
		return
	}
	if slices.ContainsFunc(a.made, func(c resource.Change) bool { return c.NoRefresh }) {
		return
	}
	if len(a.planned) == 0 {
		a.changing()
	}
	if err := r.Refresh(ctx, a.host, a.made); err != nil {
		a.event(report.Event{Name: "refresh", Outcome: report.Failure, Message: fmt.Sprintf("the refresh failed: %s", err)})
		a.result.Status = report.Failed
		return
	}
	a.refreshed = true
	a.result.Refreshed = true
	a.event(report.Event{Name: "refresh", Outcome: report.Success, Message: "refreshed, because a resource that notifies it has changed"})
	if !a.failed() {
		a.result.Status = report.Changed
	}
}

func (a *attempt) describe(c *resource.Change, o report.Outcome, diff string) report.Event {
	e := report.Event{Property: c.Property, Name: c.Name, Outcome: o, Is: c.Is, Should: c.Should, Message: c.Message, Diff: diff}
	if e.Name == "" {
		e.Name = c.Property + "_changed"
	}
	if a.s.resource.Secret(c.Property) {
		e.Is, e.Should = report.Redacted, report.Redacted
	}
	if e.Message == "" {
		e.Message = a.summary(c)
	}
	if was, differs := a.was(c.Property); differs {
		e.Was = was
		e.Message += fmt.Sprintf(" (previously recorded value was %s)", was)
	}
	return e
}

// summary names a change that was made, or that noop prevents.
func (a *attempt) summary(c *resource.Change) string {
	if a.s.resource.Secret(c.Property) {
		return c.Property + " changed"
	}
	return fmt.Sprintf("%s changed from %s to %s", c.Property, orNothing(c.Is), orNothing(c.Should))
}

// attempted names a change that failed.
func (a *attempt) attempted(c *resource.Change) string {
	if a.s.resource.Secret(c.Property) {
		return "change of " + c.Property
	}
	return fmt.Sprintf("change of %s from %s to %s", c.Property, orNothing(c.Is), orNothing(c.Should))
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

func (a *attempt) diff(c *resource.Change) string {
	if c.Diff == nil || !a.run.host.Diffs || !a.s.meta.loud || a.s.resource.Secret(c.Property) {
		return ""
	}
	return c.Diff()
}

// skipped returns the result of a step that is not looked at.
func skipped(run *Run, s *step, reason string) *report.Result {
	a := newAttempt(run, s)
	a.result.Status, a.result.Reason = report.Skipped, reason
	return &a.result
}

// due reports whether the schedule of a step lets it be applied now.
func (s *step) due(run *Run) bool {
	if s.meta.schedule == "" {
		return true
	}
	var last time.Time
	if run.o.Checked != nil {
		last = run.o.Checked(s.ref)
	}
	return run.schedules[s.meta.schedule].due(run.host.Now(), last)
}
