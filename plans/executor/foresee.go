package executor

import (
	"fmt"
	"strings"

	"bolt/plans"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// foresee returns an error if a plan will certainly call a function that does not exist. The
// executor calls foresee before the first step. The error names the places of all such calls.
// If a condition or an early return can avoid every such call, foresee returns nil. Apply blocks
// are not checked: they have functions that plans do not have.
//
// In Puppet Bolt, such a call fails when the plan reaches it.
func (x *Executor) foresee(s *eval.Site, p *plans.Plan, d *eval.Definition) error {
	if d.Node == nil || x.foreseen[p.Name] {
		return nil
	}
	x.foreseen[p.Name] = true
	var first *Failure
	var lines []string
	certain := false
	r := reach{always: make(map[*syntax.Lambda]bool)}
	note := func(n syntax.Node, f *Failure) {
		certain = certain || r.certain()
		at := d.Program.File.Position(n.At().Off)
		f.File, f.Line, f.Column = at.File, at.Line, at.Column
		if p.YAML != nil {
			f.Column = 0
		}
		if first == nil {
			first = f
		}
		lines = append(lines, f.Msg+" "+f.Place())
	}
	var visit func(n syntax.Node) bool
	visit = func(n syntax.Node) bool {
		if n == nil {
			r.leave()
			return false
		}
		switch n := n.(type) {
		case *syntax.Apply:
			for _, arg := range n.Args {
				syntax.Walk(arg, visit)
			}
			return false
		case *syntax.Call:
			name, ok := n.Func.(*syntax.Name)
			if !ok {
				break
			}
			key := strings.TrimPrefix(name.Value, "::")
			r.call(key, n.Lambda)
			if found, err := s.Find(eval.KindFunction, key); err == nil && found == nil {
				e := eval.Errorf("unknown-function", "unknown function %s", name.Value)
				e.Name = name.Value
				f := failf(palError, "%s", e.Msg)
				f.Err = e
				note(n, f)
			}
		}
		r.enter(n)
		return true
	}
	syntax.Walk(d.Node, visit)
	if !certain {
		return nil
	}
	if first.Kind == palError || len(lines) > 1 {
		first.Msg = strings.Join(lines, "\n")
	}
	if len(lines) > 1 {
		first.Hint = fmt.Sprintf("Correct these %s in the plan %s. bolt has not started the plan.", count(len(lines), "call"), p.Name)
	}
	return first
}

// A reach reports during a walk through a plan whether the plan will certainly reach the
// current node.
type reach struct {
	always map[*syntax.Lambda]bool // blocks that are called once
	maybe  []bool                  // for each enclosing node: the plan may skip it
	left   bool                    // the plan may have returned before this node
}

func (r *reach) certain() bool {
	return !r.left && (len(r.maybe) == 0 || !r.maybe[len(r.maybe)-1])
}

// call records a call with its block, which can be nil.
func (r *reach) call(name string, block *syntax.Lambda) {
	switch name {
	case "return":
		r.left = true
	case "with", "catch_errors", "without_default_logging":
		r.always[block] = true
	}
}

func (r *reach) enter(n syntax.Node) {
	maybe := len(r.maybe) > 0 && r.maybe[len(r.maybe)-1]
	switch n := n.(type) {
	case *syntax.If, *syntax.Unless, *syntax.Case, *syntax.Selector, *syntax.Binary:
		maybe = true
	case *syntax.Lambda:
		maybe = maybe || !r.always[n]
	}
	r.maybe = append(r.maybe, maybe)
}

func (r *reach) leave() { r.maybe = r.maybe[:len(r.maybe)-1] }
