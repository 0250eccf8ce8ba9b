// Package program reads, checks and evaluates programs of the Puppet language that
// are files of their own: it is for validating files, for trying expressions and
// for rendering templates.
//
// A Source is the text of a program. Walk finds the files below directories. A
// Placer returns the rules for a file by its position in a module. An Evaluator
// runs programs, each on its own. A Finding is a problem of a text, and an
// Evaluation is the outcome of a run.
package program

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"bolt/puppet/check"
	"bolt/puppet/syntax"
)

// A Source is a program of the Puppet language as it was given.
type Source struct {
	Name, Text string // Name is "" for a text without a file
	Template   bool
	Plans      bool // the rules of plans hold
}

// StandardInput is the file name of programs from standard input.
const StandardInput = "standard input"

// Named returns a Source without its text, with the fields that follow from the
// name of the file.
func Named(name string) Source {
	return Source{Name: name, Template: filepath.Ext(name) == ".epp", Plans: inPlans(name)}
}

// inPlans reports whether a file is in a folder for plans, whose rules differ
// from those of manifests.
func inPlans(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(path)), "/"), "plans")
}

// Parse parses a program. problems are its errors and warnings.
func (s Source) Parse() (p *syntax.Program, problems []Finding) {
	parse := syntax.Parse
	if s.Template {
		parse = syntax.ParseTemplate
	}
	p, err := parse(syntax.NewFile(s.Name, s.Text), syntax.Options{Tasks: s.Plans})
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		for _, e := range errs {
			problems = append(problems, findingOf("error", e))
		}
		return nil, problems
	}
	for _, w := range p.Warnings {
		problems = append(problems, findingOf("warning", w))
	}
	return p, problems
}

// Check parses a program and also finds mistakes that do not need an
// evaluation.
func (s Source) Check(at Location) (p *syntax.Program, problems []Finding) {
	p, problems = s.Parse()
	if p == nil {
		if s.foreign() {
			is := Finding{Level: "warning", Kind: "other-file", Msg: "the name of a Puppet file ends in .pp or .epp", File: s.Name}
			problems = slices.Insert(problems, 0, is)
		}
		return nil, problems
	}
	found := check.Program(p, check.Options{Tasks: s.Plans, Namespace: at.namespace, Defines: at.defines})
	for _, e := range found {
		problems = append(problems, findingOf(e.Severity.String(), e.Error))
	}
	if found.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// foreign reports whether the file's name has no extension of a program or a
// template.
func (s Source) foreign() bool {
	ext := filepath.Ext(s.Name)
	return s.Name != "" && s.Name != StandardInput && ext != ".pp" && ext != ".epp"
}
