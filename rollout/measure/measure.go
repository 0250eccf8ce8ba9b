// Package measure performs measurements of the gates of rollouts, and runs hooks.
//
// A measurement returns a value, which the conditions of the gate judge, or the reason why there is none. A
// value that could not be measured has the outcome error: a node was not reached, a request timed out, a
// query was refused. Such an outcome is no judgement of the release. The outcome failed means that the release is bad.
//
// The value of a command or script is its standard output. The value of a task is its result, and
// the value of a plan is its return value. The value of a request is the body, as data if it is JSON. The
// value of a query is its rows. If a query returns one row with one column, such as a count, the value is
// that of the column.
//
// Commands, tasks, plans and queries come in as functions (Means), so the package imports none of these.
package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bolt/inventory/match"
	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// An Action is a command, a script or a task.
type Action struct {
	Command string
	Script  string // a file of the project
	Task    string
	Params  map[string]any
}

// An Output is the end of an action on a machine.
type Output struct {
	Machine string
	Ran     bool // false if the machine was not reached
	OK      bool
	Value   any
	Reason  string // if it is not OK
}

// Means are the functions that act. They return when their context ends.
type Means struct {
	// Run runs an action on nodes, or on the controller if nodes is nil.
	Run func(ctx context.Context, a *Action, nodes []string) ([]Output, error)
	// Plan returns the value of a plan.
	Plan func(ctx context.Context, name string, params map[string]any) (any, error)
	// Query returns the rows of a query to PuppetDB.
	Query func(ctx context.Context, pql string) ([]any, error)
	// Host returns the host of a node.
	Host func(node string) string
	// Posix reports whether a POSIX shell reads the commands on a machine, "" being the controller. If Posix is nil, one does.
	Posix func(node string) bool
}

// A Subject is the part of a rollout that is measured.
type Subject struct {
	Place gate.Place
	Nodes []string
	Start time.Time // of the rollout
}

// A Value is the result of a measurement.
type Value struct {
	Outcome gate.Outcome
	Value   any
	Reason  string
}

// Gate measures a gate once: once for each node if it names {{node}} or {{host}}.
func (m *Means) Gate(ctx context.Context, g *gate.Spec, s *Subject) Value {
	c, err := conditionsOf(g)
	if err != nil {
		return failure(err)
	}
	w := words{start: s.Start, host: m.Host}
	if !perNode(g) {
		return m.once(ctx, g, c, w, s.Nodes)
	}
	if len(s.Nodes) == 0 {
		return noNode()
	}
	// After a failure, the other responses do not matter. Commands, tasks and plans are not stopped.
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	all := make([]Value, len(s.Nodes))
	slots := make(chan struct{}, maxAtOnce)
	var wg sync.WaitGroup
	for i, node := range s.Nodes {
		slots <- struct{}{}
		own := w
		own.node = node
		wg.Go(func() {
			defer func() { <-slots }()
			v := m.once(ctx, g, c, own, []string{node})
			if remote := g.HTTP != nil || g.PQL != "" || g.Plan != "" || g.On == gate.OnController; remote {
				v = v.of(node)
			}
			if all[i] = v; g.HTTP != nil && v.Outcome == gate.Failed {
				enough()
			}
		})
	}
	wg.Wait()
	return worst(all)
}

// noNode is the value of a gate that has nothing to measure.
func noNode() Value { return Value{Outcome: gate.Successful, Reason: "no node to measure yet"} }

// maxAtOnce is the number of nodes that a gate measures at the same time. A node that does not answer must not keep the
// others from being measured.
const maxAtOnce = 50

func (m *Means) once(ctx context.Context, g *gate.Spec, c conditions, w words, nodes []string) Value {
	switch {
	case g.HTTP != nil:
		return request(ctx, g.HTTP, c, w)
	case g.PQL != "":
		pql, err := w.replace(g.PQL, inPQL)
		if err != nil {
			return failure(err)
		}
		rows, err := m.Query(ctx, pql)
		if err != nil {
			return failure(err)
		}
		return c.judge(ctx, scalar(rows))
	case g.Plan != "":
		v, err := m.Plan(ctx, g.Plan, w.params(g.Params))
		switch {
		case err != nil && ctx.Err() != nil:
			return failure(context.Cause(ctx))
		case err != nil:
			return Value{Outcome: gate.Failed, Reason: err.Error()}
		}
		return c.judge(ctx, v)
	}
	if g.On == gate.OnController {
		nodes = nil
	} else if len(nodes) == 0 {
		return noNode()
	}
	outputs, err := m.run(ctx, &Action{Command: g.Command, Script: g.Script, Task: g.Task, Params: g.Params}, w, nodes)
	if err != nil {
		return failure(err)
	}
	var all []Value
	for _, o := range outputs {
		all = append(all, c.output(ctx, &o).of(o.Machine))
	}
	return worst(all)
}

// run runs an action with its words replaced, on nodes, or on the controller if nodes is nil.
func (m *Means) run(ctx context.Context, a *Action, w words, nodes []string) ([]Output, error) {
	machine := ""
	if nodes != nil {
		machine = w.node
	}
	line, err := w.replace(a.Command, inCommand(func() bool { return m.Posix == nil || m.Posix(machine) }))
	if err != nil {
		return nil, err
	}
	a.Command, a.Params = line, w.params(a.Params)
	return m.Run(ctx, a, nodes)
}

// Hook runs a hook of a node, in a rollout that began at start. The error is the reason of its failure.
func (m *Means) Hook(ctx context.Context, h *strategy.Hook, node string, start time.Time) error {
	nodes := []string{node}
	if h.On == gate.OnController {
		nodes = nil
	}
	outputs, err := m.run(ctx, &Action{Command: h.Command, Task: h.Task, Params: h.Params}, words{node: node, start: start, host: m.Host}, nodes)
	if err != nil {
		return err
	}
	for _, o := range outputs {
		if !o.OK {
			return fmt.Errorf("%s: %s", o.Machine, o.Reason)
		}
	}
	return nil
}

// failure is the value of a measurement that was not possible.
func failure(err error) Value { return Value{Outcome: gate.Error, Reason: err.Error()} }

// of adds the name of a machine to the reason.
func (v Value) of(machine string) Value {
	if v.Reason != "" {
		v.Reason = machine + ": " + v.Reason
	}
	return v
}

// worst returns the worst of some values. A failure is worse than a value that is missing.
func worst(all []Value) Value {
	var out Value
	for _, o := range []gate.Outcome{gate.Failed, gate.Error, gate.Inconclusive} {
		for _, v := range all {
			if v.Outcome != o {
				continue
			}
			if out.Outcome == "" {
				out = v
			}
		}
	}
	switch {
	case out.Outcome != "":
		return out
	case len(all) == 1:
		return all[0]
	}
	return Value{Outcome: gate.Successful, Value: len(all)}
}

// conditions are those of a gate.
type conditions struct{ ok, bad *match.Expr }

// nameOfValue is the name of the value in conditions.
const nameOfValue = "result"

// CheckCondition refuses a condition that cannot be read.
func CheckCondition(text string) error {
	_, err := match.ParseOf(text, nameOfValue)
	return err
}

func conditionsOf(g *gate.Spec) (c conditions, err error) {
	if g.OK != "" {
		if c.ok, err = match.ParseOf(g.OK, nameOfValue); err != nil {
			return c, fmt.Errorf("ok: %w", err)
		}
	}
	if g.Bad != "" {
		if c.bad, err = match.ParseOf(g.Bad, nameOfValue); err != nil {
			return c, fmt.Errorf("bad: %w", err)
		}
	}
	return c, nil
}

func (c conditions) none() bool { return c.ok == nil && c.bad == nil }

// output judges the end of an action. If there are conditions, an action that fails has no value.
func (c conditions) output(ctx context.Context, o *Output) Value {
	switch {
	case !o.Ran:
		return Value{Outcome: gate.Error, Reason: o.Reason}
	case o.OK:
		return c.judge(ctx, o.Value)
	case c.none():
		return Value{Outcome: gate.Failed, Value: short(o.Value), Reason: o.Reason}
	}
	return Value{Outcome: gate.Error, Reason: o.Reason}
}

// judge judges a value.
func (c conditions) judge(ctx context.Context, v any) Value {
	out := Value{Outcome: gate.Successful, Value: short(v)}
	if c.none() {
		return out
	}
	about := subject{convert(v)}
	holds := func(e *match.Expr) (bool, bool) {
		if e == nil {
			return false, true
		}
		a, err := e.Match(ctx, about)
		if err != nil {
			out = failure(err)
			return false, false
		}
		return a == match.Yes, true
	}
	good, fine := holds(c.ok)
	if !fine {
		return out
	}
	bad, fine := holds(c.bad)
	switch {
	case !fine:
	case bad:
		out.Outcome, out.Reason = gate.Failed, fmt.Sprintf("the value is %s, and %s is true", brief(v), c.bad)
	case good, c.ok == nil:
	case c.bad == nil:
		out.Outcome, out.Reason = gate.Failed, fmt.Sprintf("the value is %s, and %s is not true", brief(v), c.ok)
	default:
		out.Outcome, out.Reason = gate.Inconclusive, fmt.Sprintf("the value is %s: neither %s nor %s is true", brief(v), c.ok, c.bad)
	}
	return out
}
