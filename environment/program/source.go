// Package program reads, checks and evaluates programs of the Puppet language that
// are files of their own: it is for validating files, for trying expressions and
// for rendering templates.
//
// A Source is the text; Walk finds the files below directories; a Placer knows
// what the place of a file in a module says of it; an Evaluator runs programs,
// each on its own. A Finding is what is wrong with a text, and an Evaluation what
// became of it.
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

// StandardInput is what programs from there are called.
const StandardInput = "standard input"

// Named returns a Source without its text: what the name of a file says of it.
func Named(name string) Source {
	return Source{Name: name, Template: filepath.Ext(name) == ".epp", Plans: inPlans(name)}
}

// inPlans reports whether a file is in a folder for plans, where other rules
// hold than in manifests.
func inPlans(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(path)), "/"), "plans")
}

// Parse reads a program. Problems are what it is refused for, and what it is
// warned of.
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

// Check is Parse, and finds what else is wrong before anything is evaluated.
func (s Source) Check(at Location) (p *syntax.Program, problems []Finding) {
	p, problems = s.Parse()
	if p == nil {
		if s.foreign() {
			is := Finding{Level: "warning", Kind: "other-file", Msg: "this is no Puppet file by its name: those end in .pp or .epp", File: s.Name}
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

// foreign reports whether a program was given by the name of a file that does
// not look like one.
func (s Source) foreign() bool {
	ext := filepath.Ext(s.Name)
	return s.Name != "" && s.Name != StandardInput && ext != ".pp" && ext != ".epp"
}
