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
	"maps"
	"strings"
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

// Gate measures a gate once.
func (m *Means) Gate(ctx context.Context, g *gate.Spec, s *Subject) Value {
	c, err := conditionsOf(g)
	if err != nil {
		return failure(err)
	}
	w := words{start: s.Start, host: m.Host}
	if s.Place == gate.Node && len(s.Nodes) == 1 {
		w.node = s.Nodes[0]
	}
	switch {
	case g.HTTP != nil:
		return m.requests(ctx, g.HTTP, c, w, s)
	case g.PQL != "":
		rows, err := m.Query(ctx, w.replace(g.PQL, quoted))
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
	a := &Action{Command: w.replace(g.Command, shell), Script: g.Script, Task: g.Task, Params: w.params(g.Params)}
	var nodes []string
	if g.On != gate.OnController {
		if nodes = s.Nodes; len(nodes) == 0 {
			return Value{Outcome: gate.Successful, Reason: "no node to measure yet"}
		}
	}
	outputs, err := m.Run(ctx, a, nodes)
	if err != nil {
		return failure(err)
	}
	var all []Value
	for _, o := range outputs {
		all = append(all, c.output(ctx, &o).of(o.Machine))
	}
	return worst(all)
}

// Hook runs a hook of a node. The error is the reason of its failure.
func (m *Means) Hook(ctx context.Context, h *strategy.Hook, node string) error {
	w := words{node: node, host: m.Host}
	nodes := []string{node}
	if h.On == gate.OnController {
		nodes = nil
	}
	outputs, err := m.Run(ctx, &Action{Command: w.replace(h.Command, shell), Task: h.Task, Params: w.params(h.Params)}, nodes)
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

// words replaces the words in braces that gates and hooks can have.
type words struct {
	node  string // "" if there is not exactly one
	start time.Time
	host  func(node string) string
}

// replace replaces the words in a text. quote makes a value safe in the text.
func (w words) replace(text string, quote func(string) string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	pairs := []string{"{{start}}", quote(w.start.UTC().Format(time.RFC3339))}
	if w.node != "" {
		pairs = append(pairs, "{{node}}", quote(w.node))
		if w.host != nil {
			pairs = append(pairs, "{{host}}", quote(w.host(w.node)))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// params replaces the words in parameters that are texts.
func (w words) params(params map[string]any) map[string]any {
	out := maps.Clone(params)
	for name, v := range out {
		if text, is := v.(string); is {
			out[name] = w.replace(text, plain)
		}
	}
	return out
}

// HasWords reports whether parameters have words in braces, so that their values are not known before a measurement.
func HasWords(params map[string]any) bool {
	for _, v := range params {
		if text, is := v.(string); is && strings.Contains(text, "{{") {
			return true
		}
	}
	return false
}

func plain(text string) string { return text }

// quoted makes a text safe within the quotes of a query.
func quoted(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`).Replace(text)
}

// shell makes a text one word of a command line.
func shell(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
