package executor

import (
	"errors"

	"bolt/plans/yamlplan"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// YAML plans have places of their own for people. For Puppet Bolt, what a step does
// is done where the plan was called, and an error in code of the plan is one of
// evaluation, whatever it was.
//
// Source: Puppet Bolt, lib/bolt/pal/yaml_plan/evaluator.rb.

// unknownFile is the file of code in a YAML plan, as errors of results have it.
const unknownFile = "unknown"

// place is where a plan asks for something, as errors of results have it.
func (x *Executor) place(c *eval.Call) syntax.Position {
	f, at := flowOf(&c.Site), c.Position()
	if f.yaml == nil || at.File != f.yaml.File {
		return at
	}
	if line, ok := f.yaml.InCode(at.Line, at.Column); ok {
		return syntax.Position{File: unknownFile, Line: line}
	}
	return f.from
}

// ofYAML is an error of a YAML plan as the plan that has called it gets it.
func (x *Executor) ofYAML(p *yamlplan.Plan, err error) error {
	e, ok := errors.AsType[*eval.Error](err)
	if !ok || x.final(err) || x.ctx.Err() != nil {
		return err
	}
	at := e.Pos
	for _, frame := range e.Stack {
		if at.File == p.File {
			break
		}
		at = syntax.Position{File: frame.File, Line: frame.Line}
	}
	if at.File != p.File {
		return err
	}
	before := x.failure(err)
	f := &Failure{Kind: before.Kind, Msg: before.Msg, Code: before.Code, Details: before.Details, Hint: before.Hint,
		Branches: before.Branches, Before: before, step: before.step, acted: before.acted}
	own, catchable := caught(err)
	if _, inCode := p.InCode(at.Line, at.Column); !inCode {
		if catchable {
			f.Details = own.Details
		} else {
			f.Kind = palError
		}
		return f
	}
	f.Kind, f.Code, f.Details, f.acted = "bolt/evaluation-error", "", value.NewHash(), false
	f.File, f.Line = p.File, at.Line
	f.Before, f.Calls = before.Before, before.Calls
	if catchable {
		f.Msg, f.Before = "Evaluation Error: Error while evaluating a Function Call, "+before.Msg, before
	}
	return f
}
