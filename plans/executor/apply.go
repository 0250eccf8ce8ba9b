package executor

import (
	"context"
	"slices"
	"strings"

	"bolt/apply/fleet"
	"bolt/catalog/site"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/plans/journal"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/run"
)

// Catalogs has the functions and code that apply, apply_prep and get_resources of plans need.
type Catalogs struct {
	// Site has the modules and the data of apply blocks. Its language is Language.Declarative.
	Site *site.Site
	// Apply returns the action of applying the catalogs that m makes. d has the options of the plan.
	Apply func(m *fleet.Manifest, d *fleet.Delivery) (*fleet.Apply, error)
	// Facts returns the action whose results have the facts of targets as their values.
	Facts func(ctx context.Context) (run.Action, error)
	// States returns the action whose results have the states of the resources of s as their values.
	States func(s *fleet.States) (run.Action, error)
}

// catalogName is the object of a failure of apply, as in Puppet Bolt.
const catalogName = "catalog"

// apply implements apply(targets, options) { … }.
func (x *Executor) apply(c *eval.Call, f *syntax.File, a *syntax.Apply) (value.Value, error) {
	if len(c.Args) == 0 || len(c.Args) > 2 {
		return nil, eval.Errorf("argument-count", "apply expects targets and options, got %s", count(len(c.Args), "argument"))
	}
	if len(a.Body.Exprs) == 0 {
		return nil, eval.Errorf("argument-count", "apply expects at least one statement in its block")
	}
	targets, err := x.targetsOf(c, c.Args[0])
	if err != nil {
		return nil, err
	}
	var given *value.Hash
	if len(c.Args) == 2 {
		h, ok := c.Args[1].(*value.Hash)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "the options of apply expect a Hash, got %s", value.DescribeValue(c.Args[1]))
		}
		given = underscored(h)
	}
	o, err := x.parseOptions(c, given)
	if err != nil {
		return nil, err
	}
	vars := visible(c.Scope)
	main := mainProgram(f, a)
	var code strings.Builder
	if err := syntax.Print(&code, main); err != nil {
		return nil, err
	}
	m := &fleet.Manifest{
		Site: x.o.Catalogs.Site.Of(main),
		Plan: vars, Loose: true,
		Host: func() any { return x.declarative(o.puppetdb) },
		Log: func(ctx context.Context, t *inventory.Target, l eval.Log) {
			l.Msg = t.SafeName() + ": " + l.Msg
			x.log(ctx, l)
		},
	}
	var step *journal.Step
	d := &fleet.Delivery{Noop: o.noop, Run: func(t *inventory.Target) string { return step.Name(t) }}
	action, err := x.o.Catalogs.Apply(m, d)
	if err != nil {
		return nil, err
	}
	return x.do(c, &act{function: "apply", object: catalogName, action: event.Apply, about: "apply catalog", targets: targets, do: action, harmless: o.noop,
		ask:   func(s *journal.Step) run.Action { step = s; return action.Inquiry() },
		marks: []any{code.String(), markOf(vars)}, failure: x.applyFailed}, nil, o)
}

// targetsOf resolves an argument that no signature has checked.
func (x *Executor) targetsOf(c *eval.Call, spec value.Value) ([]*inventory.Target, error) {
	t, err := c.ParseType("TargetSpec")
	if err != nil {
		return nil, err
	}
	if !value.Instance(t, spec) {
		return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch("the targets of "+c.Name, t, spec))
	}
	return x.resolve(&c.Site, spec)
}

// underscored returns options of apply with an underscore before each name, which Puppet Bolt does not require.
func underscored(h *value.Hash) *value.Hash {
	var b value.HashBuilder
	for k, v := range h.All() {
		if s, ok := k.(value.String); ok {
			k = "_" + value.String(strings.TrimPrefix(string(s), "_"))
		}
		b.Put(k, v)
	}
	return b.Build()
}

// mainProgram returns an apply block as a program. It can have node definitions, at its top. Other definitions cannot be
// in plans.
func mainProgram(f *syntax.File, a *syntax.Apply) *syntax.Program {
	p := &syntax.Program{File: f, Body: a.Body}
	for _, e := range a.Body.Exprs {
		if n, ok := e.(*syntax.NodeDef); ok {
			p.Definitions = append(p.Definitions, n)
		}
	}
	return p
}

// visible returns the variables of a plan that a block can read. They do not change while the plan
// continues.
func visible(s *eval.Scope) *value.Hash {
	var b value.HashBuilder
	for name, v := range s.All() {
		b.Put(value.String(name), settled(v))
	}
	return b.Build()
}

// settled returns a value that another goroutine can use: iterators become lists of their elements, and resources and
// futures stay as they are now.
func settled(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Array:
		list := make([]value.Value, v.Len())
		for i, e := range v.All() {
			list[i] = settled(e)
		}
		return value.NewArray(list...)
	case *value.Hash:
		var b value.HashBuilder
		for k, e := range v.All() {
			b.Put(settled(k), settled(e))
		}
		return b.Build()
	case *value.Sensitive:
		return value.NewSensitive(settled(v.Unwrap()))
	case *value.Iterator:
		return settled(value.NewArray(slices.Collect(v.All())...))
	case *value.Object:
		switch p := v.Payload().(type) {
		case *resource:
			now := *p
			return v.Type().Wrap(&now)
		case *future:
			return value.String(p.String())
		}
	}
	return v
}

// markOf returns variables for the digest of a step. It leaves out objects, which follow from earlier steps.
func markOf(vars *value.Hash) any {
	m := &ordered.Map{}
	for k, v := range vars.All() {
		if hasObject(v) {
			continue
		}
		m.Set(value.ToString(k), shown([]value.Value{v})[0])
	}
	return m
}

func hasObject(v value.Value) bool {
	switch v := v.(type) {
	case *value.Object:
		return true
	case *value.Array:
		for _, e := range v.All() {
			if hasObject(e) {
				return true
			}
		}
	case *value.Hash:
		for k, e := range v.All() {
			if hasObject(k) || hasObject(e) {
				return true
			}
		}
	}
	return false
}

// applyFailed returns the failure of an apply. Its message has the messages of all targets.
func (x *Executor) applyFailed(results []value.Value) (*Failure, *value.Object) {
	var lines []string
	for _, v := range results {
		if r := runResult(v); !r.OK() {
			lines = append(lines, r.Err.Msg)
		}
	}
	return failf("bolt/apply-failure", "%s", strings.Join(lines, "\n")), x.set(results)
}

// prepFailed returns the failure of apply_prep. As in Puppet Bolt, it has only the results of the targets that failed.
func (x *Executor) prepFailed(results []value.Value) (*Failure, *value.Object) {
	failed := slices.DeleteFunc(slices.Clone(results), func(v value.Value) bool { return runResult(v).OK() })
	return failf("bolt/run-failure", "apply_prep failed on %s", count(len(failed), "target")), x.set(failed)
}

// factsTask is the object of the results of apply_prep, as in Puppet Bolt.
const factsTask = "apply_helpers::custom_facts"

// applyPrep implements apply_prep: it adds the facts of targets to the inventory. Nothing is
// installed.
func applyPrep(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	given, _ := c.Arg(1).(*value.Hash)
	o, err := x.parseOptions(c, given)
	if err != nil {
		return nil, err
	}
	targets, err := x.resolve(&c.Site, c.Args[0])
	if err != nil {
		return nil, err
	}
	collect, err := x.o.Catalogs.Facts(c.Context())
	if err != nil {
		return nil, err
	}
	v, err := x.do(c, &act{function: c.Name, action: "task", about: "install puppet and gather facts", targets: targets,
		do: &collecting{collect}, brief: true, harmless: true, failure: x.prepFailed}, nil, o)
	if err != nil {
		return nil, err
	}
	results, _ := resultsOf(v)
	for _, r := range results {
		if !r.OK() {
			continue
		}
		facts, err := r.Members()
		if err != nil {
			return nil, err
		}
		if err := r.Target.AddFacts(c.Context(), facts); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// collecting is the action that collects facts, with the same object as in Puppet Bolt.
type collecting struct{ run.Action }

func (*collecting) Object() string { return factsTask }

func (f *collecting) OnDevices() bool {
	a, ok := f.Action.(run.DeviceAction)
	return ok && a.OnDevices()
}

func (f *collecting) Here() bool {
	a, ok := f.Action.(run.LocalAction)
	return ok && a.Here()
}
