package check

import (
	"fmt"
	"strconv"

	"bolt/puppet/syntax"
)

// A Severity is the severity of a problem.
type Severity uint8

// The zero Severity is an error.
const (
	Error Severity = iota
	Warning
	Deprecation
	Ignore // not reported
)

var severityNames = [...]string{"error", "warning", "deprecation", "ignore"}

// String returns the severity in lower case.
func (s Severity) String() string { return severityNames[s] }

// A Problem is a problem at one position.
type Problem struct {
	*syntax.Error
	Severity Severity
}

// Problems are the problems in the order in which they were found. They contain
// the first ones of each severity, and one of the kind "more-problems" with the
// number of the others.
type Problems []Problem

// Err returns the errors among the problems as syntax.Errors, or nil.
func (l Problems) Err() error {
	var errs syntax.Errors
	for _, p := range l {
		if p.Severity == Error {
			errs = append(errs, p.Error)
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// maxProblems is the largest number of problems of a severity that are
// reported. The parser has the same limit. Reporting a problem takes as long as
// reading its line.
const maxProblems = 20

// A tally counts the problems of a severity.
type tally struct {
	count int
	next  syntax.Span // of the first that is not reported
}

func (c *checker) errorf(n syntax.Node, kind, format string, args ...any) {
	c.problem(Error, n, kind, format, args...)
}

func (c *checker) problem(s Severity, n syntax.Node, kind, format string, args ...any) {
	if s == Ignore {
		return
	}
	t := &c.tallies[s]
	if t.count++; t.count > maxProblems {
		if t.count == maxProblems+1 {
			t.next = n.At()
		}
		return
	}
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = syntax.Shortened(text)
		}
	}
	c.tell(s, n.At(), kind, fmt.Sprintf(format, args...))
}

func (c *checker) tell(s Severity, at syntax.Span, kind, msg string) {
	c.found = append(c.found, Problem{&syntax.Error{File: c.file, Span: at, Kind: kind, Msg: msg}, s})
}

// others reports the number of problems that were not reported.
func (c *checker) others() {
	for s, t := range c.tallies {
		if more := t.count - maxProblems; more > 0 {
			c.tell(Severity(s), t.next, "more-problems", fmt.Sprintf("from here on, %vs are only counted: there are %d", Severity(s), more))
		}
	}
}

// article describes the kind of a node for messages, with its article.
func article(n syntax.Node) string {
	switch n := n.(type) {
	case nil:
		return "nothing"
	case *syntax.Undef:
		return "undef"
	case *syntax.Default:
		return "default"
	case *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Concat, *syntax.Heredoc, *syntax.Regexp:
		return "a literal value"
	case *syntax.Name:
		return "the word " + n.Value
	case *syntax.TypeName:
		return "the type " + n.Value
	case *syntax.Var:
		return "the variable $" + n.Name
	case *syntax.List:
		return "an array"
	case *syntax.Hash:
		return "a hash"
	case *syntax.Not, *syntax.Neg, *syntax.Splat, *syntax.Paren:
		return "an expression"
	case *syntax.Binary:
		return "an expression with " + n.Op.String()
	case *syntax.Assign:
		return "an assignment"
	case *syntax.Relation:
		return "a relation (" + n.Op.String() + ")"
	case *syntax.Index:
		return "an access with []"
	case *syntax.Call, *syntax.Method:
		return "a call"
	case *syntax.Lambda:
		return "a block"
	case *syntax.If, *syntax.Unless, *syntax.Case:
		return "a condition"
	case *syntax.Selector:
		return "a selector"
	case *syntax.Resource:
		return "a resource"
	case *syntax.Defaults:
		return "a set of defaults for resources"
	case *syntax.Override:
		return "a change of resources"
	case *syntax.Collect:
		return "a collector"
	case *syntax.Class:
		return "a class"
	case *syntax.Define:
		return "a define"
	case *syntax.NodeDef:
		return "a node"
	case *syntax.Function:
		return "a function"
	case *syntax.Plan:
		return "a plan"
	case *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
		return "a type"
	case *syntax.Apply:
		return "an apply block"
	}
	return "an expression"
}

// printed returns an expression in the syntax of the language.
func printed(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Str:
		return "'" + x.Value + "'"
	case *syntax.Name:
		return x.Value
	case *syntax.Int:
		return strconv.FormatInt(x.Value, 10)
	}
	return article(x)
}
