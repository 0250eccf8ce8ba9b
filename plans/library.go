package plans

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/internal/spelling"
	"bolt/modules"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options of a Library.
type Options struct {
	Modules *modules.Path
	// Type reads the type of a parameter as it is written; names that are not
	// of the language are types of modules.
	Type func(ctx context.Context, text string) (value.Type, error)
	// Warn takes a warning, its ID first; nil drops them. It may be called by
	// several goroutines at once.
	Warn func(id, text string)
}

// A Library finds plans. It keeps nothing, and is safe for concurrent use.
type Library struct{ o Options }

// NewLibrary returns a Library.
func NewLibrary(o Options) *Library {
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	return &Library{o}
}

// UnknownPlan is the kind of error for a plan that does not exist.
const UnknownPlan = "bolt/unknown-plan"

// palError is the kind of what is wrong with a plan as it is written.
const palError = "bolt/pal-error"

// Find returns a plan with its parameters. Errors are *fault.Error: of kind
// bolt/unknown-plan; bolt/pal-error or bolt/invalid-plan for a plan that cannot
// be used as it is written, with the file and the place; bolt/file-error for
// one that cannot be read.
func (l *Library) Find(ctx context.Context, name string) (*Plan, error) {
	name = strings.TrimPrefix(name, "::")
	s, ok := l.locate(name)
	if !ok {
		return nil, l.unknown(ctx, name)
	}
	w, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	return l.plan(ctx, w)
}

// locate finds the file of a plan.
func (l *Library) locate(name string) (Summary, bool) { return l.locateAs(name, puppetExt, yamlExt) }

// locateAs finds the file of a plan with one of the extensions, the first that
// there is.
func (l *Library) locateAs(name string, exts ...string) (Summary, bool) {
	module, rest, qualified := strings.Cut(name, "::")
	m, ok := l.o.Modules.Module(module)
	if !ok || !ValidName(name) || qualified && rest == initName {
		return Summary{}, false
	}
	if !qualified {
		rest = initName
	}
	for _, ext := range exts {
		rel := path.Join(dir, strings.ReplaceAll(rest, "::", "/")+ext)
		if info, err := m.Stat(rel); err == nil && !info.IsDir() || err != nil && !none(err) {
			return Summary{Name: name, Module: m, File: rel}, true
		}
	}
	return Summary{}, false
}

// At is Find for the path of a YAML plan's file, or its name, also where there is
// a file in the Puppet language beside it. A plan in that language alone is an error of kind bolt/convert-error; bolt/modulepath-error
// is one of a file that is in no directory plans of a module.
func (l *Library) At(ctx context.Context, what string) (*Plan, error) {
	file, err := filepath.Abs(what)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	var s Summary
	switch {
	case err == nil && !info.IsDir():
		if filepath.Ext(file) != yamlExt {
			return nil, notYAML(file)
		}
		if s, err = l.summaryOf(file); err != nil {
			return nil, err
		}
	case strings.ContainsRune(what, filepath.Separator) || filepath.Ext(what) == yamlExt:
		return nil, fault.File(file, err, "There is no plan file %s.", file)
	default:
		var ok bool
		// The other one may be what is to be written: a shell makes it first.
		if s, ok = l.locateAs(strings.TrimPrefix(what, "::"), yamlExt, puppetExt); !ok {
			return nil, l.unknown(ctx, what)
		}
		if path.Ext(s.File) != yamlExt {
			return nil, notYAML(s.Path())
		}
	}
	w, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	return l.plan(ctx, w)
}

func notYAML(file string) error {
	e := fault.New("bolt/convert-error", "You can only convert plans written in yaml")
	e.Hint = fmt.Sprintf("the name of %s does not end in %s", file, yamlExt)
	return e
}

// summaryOf is of the plan in a file: the innermost directory called plans that
// is in a module tells its name.
func (l *Library) summaryOf(file string) (Summary, error) {
	all := l.o.Modules.All()
	var found Summary
	for at := file; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if filepath.Base(at) != dir || at == file {
			continue
		}
		m := modules.Module{Name: filepath.Base(filepath.Dir(at)), Dir: filepath.Dir(at)}
		i := slices.IndexFunc(all, func(known modules.Module) bool { return !known.BuiltIn() && same(known.Dir, m.Dir) })
		if i >= 0 {
			m.Name = all[i].Name
		}
		rel, err := filepath.Rel(m.Dir, file)
		if err != nil {
			return Summary{}, err
		}
		rel = filepath.ToSlash(rel)
		s := Summary{Name: nameOf(m, strings.TrimSuffix(rel, path.Ext(rel))), Module: m, File: rel}
		if i >= 0 {
			return s, nil
		}
		if found.Name == "" && ValidName(s.Name) {
			found = s
		}
	}
	if found.Name == "" {
		return found, fault.New("bolt/modulepath-error", "The file %s is not in the directory plans of a module, so that it is not known what the plan is called: "+
			"it has to be MODULE/%s/NAME%s, and all names have small letters, digits and underscores.", file, dir, yamlExt)
	}
	return found, nil
}

// same reports whether two paths lead to one directory.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// unknown is the error for a plan that does not exist.
func (l *Library) unknown(ctx context.Context, name string) error {
	msg := fmt.Sprintf("Could not find a plan named '%s'. For a list of available plans, run 'bolt plan show'.", name)
	var names []string
	for _, m := range l.o.Modules.All() {
		for _, p := range places(ctx, m) {
			names = append(names, p.name)
		}
	}
	near := spelling.Near(name, names)
	for _, n := range names { // the module's name was left out
		if near == "" && strings.HasSuffix(n, "::"+name) {
			near = n
		}
	}
	if near != "" {
		msg += " Did you mean " + near + "?"
	}
	return fault.New(UnknownPlan, "%s", msg)
}

// List returns all plans, sorted by name. One that cannot be used as it is
// written is a warning: the others are there. The error is that ctx is done.
func (l *Library) List(ctx context.Context) ([]Summary, error) {
	return l.list(ctx, l.o.Modules.All())
}

// Of returns the plans of one module, as List does.
func (l *Library) Of(ctx context.Context, m modules.Module) ([]Summary, error) {
	return l.list(ctx, []modules.Module{m})
}

func (l *Library) list(ctx context.Context, all []modules.Module) ([]Summary, error) {
	list, err := modules.Gather(ctx, all, func(m modules.Module) []Summary { return l.summaries(ctx, m) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Summary) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (l *Library) summaries(ctx context.Context, m modules.Module) []Summary {
	var list []Summary
	for _, p := range places(ctx, m) {
		err := p.err
		if err != nil {
			err = fmt.Errorf("the directory cannot be read: %w", fault.WithoutPath(err))
		} else {
			var w *written
			if w, err = read(ctx, Summary{Name: p.name, Module: m, File: p.file}); err == nil {
				list = append(list, w.Summary)
				continue
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		l.o.Warn("plan_load_error", fmt.Sprintf("The plan %s (%s) is not listed: %s", p.name, m.Path(p.file), strings.Join(strings.Fields(err.Error()), " ")))
	}
	return list
}

// Programs returns what finds the programs of plans that others call. A plan that
// there is not may be an error that the other expects: it has no program.
func (l *Library) Programs(ctx context.Context) func(name string) (*syntax.Program, error) {
	return func(name string) (*syntax.Program, error) {
		p, err := l.Find(ctx, name)
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == UnknownPlan {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return p.Program()
	}
}
