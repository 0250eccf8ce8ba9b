package executor

import (
	"fmt"
	"strings"

	"bolt/plans"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// foresee returns an error if a plan calls what does not exist, whatever it is given:
// a function that no module has, or a catalog, which this version does not make. The
// error names all places where it does, and comes before the first step. A plan
// that can avoid all such calls, by a condition or an early return, is run.
//
// Differs from Puppet Bolt: there such a call fails when the plan comes to it.
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
	syntax.Walk(d.Node, func(n syntax.Node) bool {
		if n == nil {
			r.leave()
			return false
		}
		switch n := n.(type) {
		case *syntax.Apply:
			note(n, noCatalogs())
			return false
		case *syntax.Call:
			name, ok := n.Func.(*syntax.Name)
			if !ok {
				break
			}
			key := strings.TrimPrefix(name.Value, "::")
			r.call(key, n.Lambda)
			if key == "apply_prep" {
				note(n, noCatalogs())
			} else if found, err := s.Find(eval.KindFunction, key); err == nil && found == nil {
				e := eval.Errorf("unknown-function", "unknown function %s", name.Value)
				e.Name = name.Value
				f := failf(palError, "%s", e.Msg)
				f.Err = e
				note(n, f)
			}
		}
		r.enter(n)
		return true
	})
	if !certain {
		return nil
	}
	if first.Kind == palError || len(lines) > 1 {
		first.Msg = strings.Join(lines, "\n")
	}
	if len(lines) > 1 {
		first.Hint = fmt.Sprintf("the plan %s cannot do %s; nothing was begun", p.Name, count(len(lines), "call"))
	}
	return first
}

// A reach says of places of a plan, in their order, whether the plan comes there for
// certain.
type reach struct {
	always map[*syntax.Lambda]bool // blocks that are called once
	maybe  []bool                  // of the nodes around the place
	left   bool                    // the plan may have returned before
}

func (r *reach) certain() bool {
	return !r.left && (len(r.maybe) == 0 || !r.maybe[len(r.maybe)-1])
}

// call notes a call with its block, or nil.
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
