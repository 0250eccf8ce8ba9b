package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/internal/fault"
	"bolt/internal/output"
	"bolt/internal/readfile"
	"bolt/puppet/check"
	"bolt/puppet/syntax"
	"bolt/run"
)

// A source is a program of the Puppet language as it was given.
type source struct {
	name, text string
	template   bool
	plans      bool // the rules of plans hold
}

// standardInput is what programs from there are called.
const standardInput = "standard input"

// given reads the program of --execute, or those of files. Only one of these
// is there.
func (a *app) given(ctx context.Context, args []string) ([]source, error) {
	switch given := a.values.has("execute"); {
	case given && len(args) > 0:
		return nil, usagef("Only one of --execute and a file can be given")
	case given:
		return []source{{text: a.values.last("execute"), plans: a.values.on("tasks", false)}}, nil
	case len(args) == 0:
		return nil, hinted(usagef("Must specify a file"), "give a file, - for standard input, or a program with --execute (-e)")
	}
	var list []source
	for _, name := range args {
		s, err := a.readSource(ctx, name)
		if _, usage := errors.AsType[*usageError](err); usage {
			return nil, err
		}
		if errors.Is(err, run.ErrStopped) {
			return nil, errPrinted // who stopped it knows
		}
		if err != nil {
			return nil, fault.File(name, err, "The file '%s' could not be read: %v", s.name, fault.WithoutPath(err))
		}
		list = append(list, s)
	}
	return list, nil
}

// readSource reads a file, or for the name "-" standard input.
func (a *app) readSource(ctx context.Context, name string) (source, error) {
	s := source{name: name, template: filepath.Ext(name) == ".epp", plans: a.values.on("tasks", false) || inPlans(name)}
	if name != "-" {
		text, err := readfile.Read(ctx, name, readfile.Language)
		s.text = string(text)
		return s, err
	}
	text, err := a.readInput(ctx, readfile.Language)
	s.name = standardInput
	s.text = string(text)
	return s, err
}

// inPlans reports whether a file is in a folder for plans, where other rules
// hold than in manifests.
func inPlans(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(path)), "/"), "plans")
}

// namespace is what the names in a file must begin with, as it is for files of
// modules on the module path; "" without a rule.
func (a *app) namespace(name string) string {
	m, rel, ok := a.modules.Of(name)
	if !ok || filepath.Ext(name) != ".pp" {
		return ""
	}
	namespace, _ := check.Namespace(m.Name, filepath.ToSlash(rel))
	return namespace
}

// parse reads a program. Problems are what it is refused for, and what it is
// warned of.
func (s source) parse() (p *syntax.Program, problems []output.Finding) {
	parse := syntax.Parse
	if s.template {
		parse = syntax.ParseTemplate
	}
	p, err := parse(syntax.NewFile(s.name, s.text), syntax.Options{Tasks: s.plans})
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

// check is parse, and finds what else is wrong before anything is evaluated.
func (s source) check(namespace string) (p *syntax.Program, problems []output.Finding) {
	p, problems = s.parse()
	if p == nil {
		return nil, problems
	}
	found := check.Program(p, check.Options{Tasks: s.plans, Namespace: namespace})
	for _, e := range found {
		problems = append(problems, findingOf(e.Severity.String(), e.Error))
	}
	if found.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// findingOf is a problem of a text as it is printed.
func findingOf(level string, e *syntax.Error) output.Finding {
	pos := e.Position()
	return output.Finding{Level: level, Kind: e.Kind, Msg: e.Msg, File: pos.File, Line: pos.Line, Column: pos.Column, Excerpt: e.Excerpt()}
}

// unreadable is a file that could not be read, as a finding.
func unreadable(name string, err error) output.Finding {
	return output.Finding{Level: "error", Kind: "unreadable-file", Msg: "the file could not be read: " + fault.WithoutPath(err).Error(), File: name}
}

// programs gives each file that args name to one of two functions: its name,
// or what is wrong with it. Of a directory these are all manifests, plans and
// templates below it, by their names, without those in hidden directories.
func programs(ctx context.Context, args []string, file func(name string), bad func(output.Finding)) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			file(arg)
			continue
		}
		t := tree{ctx: ctx, seen: map[place]bool{}, file: file, bad: bad}
		t.walk(arg, info)
		if !t.found && ctx.Err() == nil {
			bad(output.Finding{Level: "warning", Kind: "no-files", Msg: "no file below this directory ends in .pp or .epp", File: arg})
		}
	}
}

// A tree is the walk through a directory. Each directory is read once, by the
// first name that leads to it: links can make loops.
type tree struct {
	ctx   context.Context
	seen  map[place]bool
	links []link // to directories, which come after what has names of its own
	file  func(name string)
	bad   func(output.Finding)
	found bool
}

// A place is what tells directories apart, whatever they are called.
type place struct{ dev, ino uint64 }

type link struct {
	name string
	to   fs.FileInfo
}

func (t *tree) walk(root string, info fs.FileInfo) {
	t.dir(root, info)
	for len(t.links) > 0 {
		l := t.links[0]
		t.links = t.links[1:]
		t.dir(l.name, l.to)
	}
}

func (t *tree) dir(name string, info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		at := place{uint64(sys.Dev), sys.Ino}
		if t.seen[at] {
			return
		}
		t.seen[at] = true
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		t.bad(unreadable(name, err))
	}
	for _, e := range entries {
		if t.ctx.Err() != nil {
			return
		}
		t.entry(filepath.Join(name, e.Name()), e)
	}
}

func (t *tree) entry(name string, e fs.DirEntry) {
	ext := filepath.Ext(name)
	program := ext == ".pp" || ext == ".epp"
	linked := e.Type()&fs.ModeSymlink != 0
	if !program && !linked && !e.IsDir() {
		return
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case linked:
			t.links = append(t.links, link{name, info})
		default:
			t.dir(name, info)
		}
	case !program || err == nil && !info.Mode().IsRegular():
	default: // also one that leads nowhere: reading it will say so
		t.found = true
		t.file(name)
	}
}
