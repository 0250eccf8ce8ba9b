package rollouts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/inventory/match"
	"bolt/release"
	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/rollout/measure"
	"bolt/rollout/strategy"
)

// PlanOptions are those of rollout plan.
type PlanOptions struct {
	StateOptions
	targets  acting.Targets
	release  string
	strategy string
	plan     string
	task     string
	params   cli.Optional
	noop     bool
	urgent   bool
	drift    bool // is ignored
}

// Bind reads the flags and arguments.
func (o *PlanOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	o.targets.Bind(b)
	b.Arg(&o.release)
	b.Text("strategy", &o.strategy)
	b.Text("plan", &o.plan)
	b.Text("task", &o.task)
	b.Optional("params", &o.params)
	b.Switch("noop", &o.noop)
	b.Switch("emergency", &o.urgent)
}

// Check refuses options that contradict each other.
func (o *PlanOptions) Check() error {
	if o.plan != "" && o.task != "" {
		return cli.Errorf("Options '--plan' and '--task' contradict each other")
	}
	if o.params.Given && o.plan == "" && o.task == "" {
		return cli.Errorf("Option '--params' can only be specified with '--task' or '--plan'")
	}
	if (o.plan != "" || o.task != "") && o.release != "" {
		return cli.Errorf("A rollout of a plan or task has no release")
	}
	if o.plan != "" && o.noop {
		return cli.Errorf("Option '--noop' is not for plans")
	}
	return o.targets.Check()
}

// draft makes the first event of a rollout. Nothing is stored.
func (v *Invocation) draft(ctx context.Context, b *book, o *PlanOptions) (*rollout.Created, error) {
	st, text, err := readStrategy(ctx, o.strategy)
	if err != nil {
		return nil, err
	}
	inFile := *st
	if o.plan != "" || o.task != "" {
		st.Action.Plan, st.Action.Task = o.plan, o.task
		if o.params.Given {
			if st.Action.Params, err = v.params(ctx, o.params.Text); err != nil {
				return nil, err
			}
		}
		if problems := st.Check(); len(problems) > 0 {
			return nil, fault.New(ledger.Kind, "The strategy does not fit the options --plan and --task: %s: %s", problems[0].Path, problems[0].Text)
		}
		inFile.Action = strategy.Action{}
		if err := v.checkAction(ctx, st.Action, o.noop); err != nil {
			return nil, err
		}
	}
	if err := v.checkUses(ctx, o.strategy, text, &inFile, o.noop); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	spec := rollout.Spec{Strategy: *st, Author: v.User, Noop: o.noop, Emergency: o.urgent, IgnoreDrift: o.drift}
	var of *release.Release
	var targets []*inventory.Target
	own := st.Kind == strategy.Check && o.release == "" && st.Release == ""
	switch {
	case own:
		targets, of, err = v.owned(ctx, b, &o.targets, st)
	case st.Action.IsZero():
		of, err = v.admitted(ctx, b, o.release, st.Release)
	}
	if err != nil {
		return nil, err
	}
	if of != nil {
		spec.Release, spec.Sequence = string(of.ID), of.Sequence
	}
	switch {
	case st.Rollout != "":
		spec.Rollout = ledger.NewID(st.Rollout, now)
	case of != nil:
		spec.Rollout = ledger.NewID("release-"+strconv.FormatUint(of.Sequence, 10), now)
	case own:
		spec.Rollout = ledger.NewID("check", now)
	default:
		spec.Rollout = ledger.NewID(st.Action.Task+st.Action.Plan, now)
	}
	if !own {
		if targets, err = v.targets(ctx, &o.targets, st, of); err != nil {
			return nil, err
		}
	}
	if spec.Nodes, err = v.nodes(ctx, b, targets, st, of); err != nil {
		return nil, err
	}
	created, err := rollout.New(spec)
	return created, failed(err)
}

// admitted returns a release that can be rolled out.
func (v *Invocation) admitted(ctx context.Context, b *book, given, ofStrategy string) (*release.Release, error) {
	name := given
	if name == "" {
		name = ofStrategy
	}
	if name == "" {
		name = release.Last
	}
	entry, err := b.releases.Find(ctx, name)
	if err != nil {
		return nil, failed(err)
	}
	signers, err := v.signers(ctx)
	if err != nil {
		return nil, err
	}
	r, _, err := b.releases.Admit(ctx, entry, signers, time.Now())
	return r, failed(err)
}

// targets returns the targets of a rollout: those of the command line, of the strategy, or all
// nodes of the release.
func (v *Invocation) targets(ctx context.Context, o *acting.Targets, st *strategy.Strategy, of *release.Release) ([]*inventory.Target, error) {
	if o.Named() {
		return v.Running.Sources.Targets(ctx, o)
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	t := &st.Targets
	names := t.Names
	switch {
	case t.Query != "":
		if names, err = v.Running.Sources.PuppetDB().Certnames(ctx, t.Query, ""); err != nil {
			return nil, err
		}
	case names == nil && of != nil:
		names = of.Names()
	case names == nil:
		names = []string{"all"}
	}
	targets, err := inv.Targets(ctx, names)
	if err != nil {
		return nil, err
	}
	if t.Where != "" {
		x, err := match.Parse(t.Where)
		if err != nil {
			return nil, err
		}
		if targets, err = v.where(ctx, inv, x, targets); err != nil {
			return nil, err
		}
	}
	return targets, inv.Prepare(ctx, targets)
}

// where returns the targets about which an expression is true. It warns about targets whose facts are not known.
func (v *Invocation) where(ctx context.Context, inv *inventory.Inventory, x *match.Expr, targets []*inventory.Target) ([]*inventory.Target, error) {
	found, unknown, err := inv.Where(ctx, x, targets)
	if len(unknown) > 0 {
		v.Logs.Warn("no_facts", fmt.Sprintf("The facts of %d of %d nodes are not known, so a condition of the strategy does not choose them. 'bolt facts collect' collects facts.", len(unknown), len(targets)))
	}
	return found, err
}

// nodes returns the nodes of a rollout with all that its strategy reads.
func (v *Invocation) nodes(ctx context.Context, b *book, targets []*inventory.Target, st *strategy.Strategy, of *release.Release) ([]rollout.Node, error) {
	names := make([]string, len(targets))
	var missing []string
	for i, t := range targets {
		names[i] = t.Name
		if of != nil {
			if _, has := of.Nodes[t.Name]; !has {
				missing = append(missing, t.SafeName())
			}
		}
	}
	if missing != nil {
		e := fault.New(ledger.Kind, "The release %s has no catalog for %s", release.Short(of.ID), shortList(missing))
		e.Hint = "'bolt release create -t TARGETS' makes a release with these nodes"
		return nil, e
	}
	last, err := b.ledger.Last(ctx, names)
	if err != nil {
		return nil, failed(err)
	}
	steps, err := v.steps(ctx, targets, st)
	if err != nil {
		return nil, err
	}
	list := make([]rollout.Node, len(targets))
	for i, t := range targets {
		n := rollout.Node{Name: t.Name, Steps: steps[t.Name]}
		if of != nil {
			n.Release, n.Catalog = string(of.ID), string(of.Nodes[t.Name].Applied())
		}
		if l, known := last[t.Name]; known {
			l.Note(&n)
		}
		if n.Facts, err = v.facts(ctx, t, st.Facts()); err != nil {
			return nil, err
		}
		if l := last[t.Name]; of == nil && st.Action.IsZero() { // a check of nodes with several releases
			n.Release, n.Catalog = l.Release, l.Catalog
		}
		list[i] = n
	}
	return list, nil
}

// shortList names some of many.
func shortList(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more nodes", strings.Join(names[:most], ", "), len(names)-most)
}

// steps returns the entries of the waves, from 1, whose group or condition nodes match.
func (v *Invocation) steps(ctx context.Context, targets []*inventory.Target, st *strategy.Strategy) (map[string][]int, error) {
	steps := make(map[string][]int)
	for i, w := range st.Rules.Waves {
		var found []*inventory.Target
		inv, err := v.Running.Sources.Inventory(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case w.Group != "":
			// The name of another target would make a wave without nodes, which is left out: a typing error would
			// leave out the canary.
			if groups := inv.Groups(); !slices.Contains(groups, w.Group) {
				return nil, noGroup(i, w.Group, groups)
			}
			found, err = inv.Targets(ctx, []string{w.Group})
		case w.Where != "":
			var x *match.Expr
			if x, err = match.Parse(w.Where); err == nil {
				found, err = v.where(ctx, inv, x, targets)
			}
		}
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			steps[t.Name] = append(steps[t.Name], i+1)
		}
	}
	return steps, nil
}

// noGroup is the error for a wave, from 0, whose group the inventory does not have.
func noGroup(wave int, name string, groups []string) error {
	e := fault.New(ledger.Kind, "strategy.waves[%d].group: the inventory has no group %q", wave, name)
	if near := spelling.Near(name, groups); near != "" {
		e.Hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return e
}

// facts returns the facts of a node that a strategy reads.
func (v *Invocation) facts(ctx context.Context, t *inventory.Target, paths []strategy.Fact) (map[strategy.Fact]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	data, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	cached, err := v.Running.Sources.CachedFacts(ctx, t.Name, nil)
	if err != nil {
		return nil, err
	}
	all := data.FactsOver(cached)
	found := make(map[strategy.Fact]string)
	for _, path := range paths {
		var at any = all
		for part := range strings.SplitSeq(strings.TrimPrefix(string(path), "facts."), ".") {
			m, _ := at.(*ordered.Map)
			at = m.Value(part)
		}
		switch value := at.(type) {
		case nil, *ordered.Map, []any:
		case string:
			found[path] = value
		default:
			found[path] = fmt.Sprint(value)
		}
	}
	return found, nil
}

// checkConditions reads the expressions of a strategy, which package strategy does not read.
func checkConditions(path string, text []byte, st *strategy.Strategy) error {
	var wrong []string
	for _, c := range st.Conditions() {
		var err error
		if strings.HasPrefix(c.Path, "gates") {
			err = measure.CheckCondition(c.Text)
		} else {
			_, err = match.Parse(c.Text)
		}
		if err != nil {
			line, column := strategy.Locate(text, c.Path)
			wrong = append(wrong, fmt.Sprintf("%s:%d:%d: %s: %v", path, line, column, c.Path, err))
		}
	}
	if wrong == nil {
		return nil
	}
	slices.Sort(wrong)
	return fault.New(ledger.Kind, "The strategy file '%s' has mistakes:\n%s", path, strings.Join(wrong, "\n"))
}

// params reads the parameters of a command line.
func (v *Invocation) params(ctx context.Context, text string) (params map[string]any, err error) {
	m, err := v.Running.Object(ctx, "params", text)
	if err != nil {
		return nil, err
	}
	data, err := m.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &params)
	}
	return params, err
}

// rows returns the rows of a query to PuppetDB.
func (v *Invocation) rows(ctx context.Context, pql string) ([]any, error) {
	return v.Running.Sources.PuppetDB().Query(ctx, pql, "")
}
