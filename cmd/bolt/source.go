package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/output/listing"
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

// A location is what a file's place in a module says of what is in it. The zero
// location says nothing.
type location struct {
	namespace string // what names must begin with
	defines   string // see check.Defines
}

// A placer finds the locations of files. It looks at each folder around them
// once.
type placer struct {
	app    *app
	around map[string]modules.Module // by folders; the zero Module: there is none
	real   map[string]string         // folders without links, by their names
}

func newPlacer(a *app) *placer {
	return &placer{app: a, around: map[string]modules.Module{}, real: map[string]string{}}
}

// unlinked returns what a path leads to by links.
func (p *placer) unlinked(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	dir, base := filepath.Split(path)
	real, known := p.real[dir]
	if !known {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		p.real[dir] = real
	}
	return filepath.Join(real, base)
}

// place returns the location of a file: in a module of the module path, by the
// name it was given or the one that links lead to, or else in a module by
// itself, which is how a checkout of one is validated.
func (p *placer) place(ctx context.Context, name string) location {
	path, err := filepath.Abs(name)
	if err != nil || filepath.Ext(name) != ".pp" {
		return location{}
	}
	paths := []string{path}
	if real := p.unlinked(path); real != path {
		paths = append(paths, real)
	}
	for _, path := range paths {
		if m, rel, ok := p.app.modules.Of(path); ok {
			if m.Dir == p.app.project.Dir && entryManifest(rel) {
				continue
			}
			if at := locate(m, rel); at != (location{}) {
				return at
			}
		}
	}
	for _, path := range paths {
		if m := p.moduleAround(ctx, filepath.Dir(path)); m.Name != "" {
			rel, _ := filepath.Rel(m.Dir, path) // which is below it
			return locate(m, rel)
		}
	}
	return location{}
}

// entryManifest reports whether a file of the project is in the directory from which
// Puppet reads entry manifests (site.pp). path is relative to the project. Entry
// manifests can have code outside definitions, and definitions of any name.
func entryManifest(rel string) bool {
	dir, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return dir == "manifests"
}

// locate returns the location of a file by its path from a module's folder.
func locate(m modules.Module, rel string) location {
	rel = filepath.ToSlash(rel)
	namespace, ok := check.Namespace(m.Name, rel)
	if !ok {
		return location{}
	}
	return location{namespace, check.Defines(rel)}
}

// moduleAround returns the module that a folder, or the nearest one around it,
// is, by what that holds or by standing in the modules of another project; the
// zero Module if there is none.
func (p *placer) moduleAround(ctx context.Context, dir string) modules.Module {
	if dir == filepath.Dir(dir) {
		return modules.Module{}
	}
	m, known := p.around[dir]
	if known {
		return m
	}
	name, is := p.moduleName(ctx, dir)
	switch {
	case !is:
		m = p.moduleAround(ctx, filepath.Dir(dir))
	case modules.ValidName(name):
		m = modules.Module{Name: name, Dir: dir}
	}
	p.around[dir] = m
	return m
}

// moduleName tells whether a folder is a module by itself, and its name. A folder
// with environment.conf is an environment: many control repositories have a
// metadata.json too, and their site.pp is an entry manifest.
func (p *placer) moduleName(ctx context.Context, dir string) (name string, is bool) {
	base := filepath.Base(dir)
	metadata := filepath.Join(dir, "metadata.json")
	if exists(metadata) && holdsPrograms(dir) && !exists(filepath.Join(dir, "environment.conf")) {
		return cmp.Or(metadataName(ctx, metadata), base), true
	}
	if filepath.Base(filepath.Dir(dir)) != "modules" {
		return "", false
	}
	// What this project's modules are, the module path says.
	project := filepath.Dir(filepath.Dir(dir))
	return base, project != p.app.project.Dir && exists(filepath.Join(project, "bolt-project.yaml"))
}

// holdsPrograms reports whether a folder has one of those for programs that
// modules have.
func holdsPrograms(dir string) bool {
	return slices.ContainsFunc([]string{"manifests", "functions", "types", "plans"}, func(folder string) bool {
		info, err := os.Stat(filepath.Join(dir, folder))
		return err == nil && info.IsDir()
	})
}

// metadataName returns the name of a module from its metadata.json, without
// its author; "" if that does not say.
func metadataName(ctx context.Context, path string) string {
	text, err := readfile.Read(ctx, path, readfile.Language)
	if err != nil {
		return ""
	}
	var metadata struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(text, &metadata) != nil {
		return ""
	}
	return metadata.Name[strings.LastIndexAny(metadata.Name, "-/")+1:]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// parse reads a program. Problems are what it is refused for, and what it is
// warned of.
func (s source) parse() (p *syntax.Program, problems []listing.Finding) {
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
func (s source) check(at location) (p *syntax.Program, problems []listing.Finding) {
	p, problems = s.parse()
	if p == nil {
		if s.foreign() {
			is := listing.Finding{Level: "warning", Kind: "other-file", Msg: "this is no Puppet file by its name: those end in .pp or .epp", File: s.name}
			problems = slices.Insert(problems, 0, is)
		}
		return nil, problems
	}
	found := check.Program(p, check.Options{Tasks: s.plans, Namespace: at.namespace, Defines: at.defines})
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
func (s source) foreign() bool {
	ext := filepath.Ext(s.name)
	return s.name != "" && s.name != standardInput && ext != ".pp" && ext != ".epp"
}

// findingOf is a problem of a text as it is printed.
func findingOf(level string, e *syntax.Error) listing.Finding {
	pos := e.Position()
	return listing.Finding{Level: level, Kind: e.Kind, Msg: e.Msg, File: pos.File, Line: pos.Line, Column: pos.Column, Excerpt: e.Excerpt()}
}

// unreadable is a file that could not be read, as a finding.
func unreadable(name string, err error) listing.Finding {
	return listing.Finding{Level: "error", Kind: "unreadable-file", Msg: "the file could not be read: " + fault.WithoutPath(err).Error(), File: name}
}

// programs gives each file that args name to one of two functions: its name,
// or what is wrong with it. Of a directory these are all manifests, plans and
// templates below it, by their names, without those in hidden directories.
func programs(ctx context.Context, args []string, file func(name string), bad func(listing.Finding)) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			file(arg)
			continue
		}
		t := tree{ctx: ctx, seen: map[inode]bool{}, file: file, bad: bad}
		t.walk(arg, info)
		if !t.found && ctx.Err() == nil {
			bad(listing.Finding{Level: "warning", Kind: "no-files", Msg: "no file below this directory ends in .pp or .epp", File: arg})
		}
	}
}

// A tree is the walk through a directory. Each directory is read once, by the
// first name that leads to it: links can make loops.
type tree struct {
	ctx   context.Context
	seen  map[inode]bool
	links []link // to directories, which come after what has names of its own
	file  func(name string)
	bad   func(listing.Finding)
	found bool
}

// An inode is what tells directories apart, whatever they are called.
type inode struct{ dev, number uint64 }

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
		at := inode{uint64(sys.Dev), sys.Ino}
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
	if program && e.Type().IsRegular() {
		t.found = true
		t.file(name)
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
	default: // a link, also one that leads nowhere: reading it will say so
		t.found = true
		t.file(name)
	}
}
