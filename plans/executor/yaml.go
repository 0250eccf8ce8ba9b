package executor

import (
	"context"
	"errors"

	"bolt/plans/yamlplan"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Messages to users contain the position in the YAML plan. Error values follow Puppet
// Bolt: the position of a step is the position where the plan was called, and every
// error in code of the plan is an evaluation error.
//
// Source: Puppet Bolt, lib/bolt/pal/yaml_plan/evaluator.rb.

// unknownFile is the file name for code in a YAML plan in the errors of results.
const unknownFile = "unknown"

// place returns the position of a call for the errors of results.
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

// ofYAML converts an error of a YAML plan for the plan that called the YAML plan.
func (x *Executor) ofYAML(ctx context.Context, p *yamlplan.Plan, err error) error {
	e, ok := errors.AsType[*eval.Error](err)
	if !ok || x.final(err) || ctx.Err() != nil {
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
	if before.unplaced && before.Kind == palError {
		return before
	}
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
