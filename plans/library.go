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

// Options configure a Library.
type Options struct {
	Modules *modules.Path
	// Type reads the type of a parameter from its source text. Names that are not
	// in the language are types of modules.
	Type func(ctx context.Context, text string) (value.Type, error)
	// Warn receives a warning and its ID; nil drops warnings. Several goroutines
	// may call it at once.
	Warn func(id, text string)
}

// A Library finds plans. It caches nothing, and is safe for concurrent use.
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

// palError is the kind of an error in the source text of a plan.
const palError = "bolt/pal-error"

// Find returns a plan with its parameters. Errors are *fault.Error. Their kind is
// bolt/unknown-plan if the plan does not exist, and bolt/file-error if it cannot
// be read. If its source text is invalid, the kind is bolt/pal-error or
// bolt/invalid-plan, and the error has the file and the position.
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

// locateAs finds the file of a plan with the first of the extensions for which a
// file exists.
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

// At is like Find for the path of a YAML plan's file, or for the plan's name. It
// finds the YAML file even if there is a file in the Puppet language beside it.
// For a plan only in the Puppet language, the error has the kind
// bolt/convert-error. For a file that is not in the directory plans of a module,
// the kind is bolt/modulepath-error.
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
		return nil, fault.File(file, err, "The plan file %s does not exist.", file)
	default:
		var ok bool
		// The .pp file may be the file that is to be written: a shell makes it
		// first.
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
	e.Hint = fmt.Sprintf("The name of %s does not end in %s.", file, yamlExt)
	return e
}

// summaryOf returns the summary of the plan in a file. The innermost directory
// called plans in a module determines the plan's name.
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
		return found, fault.New("bolt/modulepath-error", "The file %s is not in the directory plans of a module, so the name of the plan is unknown. "+
			"The path must be MODULE/%s/NAME%s, and names can only have lowercase letters, digits and underscores.", file, dir, yamlExt)
	}
	return found, nil
}

// same reports whether two paths lead to the same directory.
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

// unknown returns the error for a plan that does not exist.
func (l *Library) unknown(ctx context.Context, name string) error {
	msg := fmt.Sprintf("Could not find a plan named '%s'. For a list of available plans, run 'bolt plan show'.", name)
	var names []string
	for _, m := range l.o.Modules.All() {
		for _, p := range places(ctx, m) {
			names = append(names, p.name)
		}
	}
	near := spelling.Near(name, names)
	for _, n := range names { // the user may have left out the module's name
		if near == "" && strings.HasSuffix(n, "::"+name) {
			near = n
		}
	}
	if near != "" {
		msg += " Did you mean " + near + "?"
	}
	return fault.New(UnknownPlan, "%s", msg)
}

// List returns all plans, sorted by name. It warns about a plan whose source text
// is invalid, and returns the others. The error means that ctx is done.
func (l *Library) List(ctx context.Context) ([]Summary, error) {
	return l.list(ctx, l.o.Modules.All())
}

// Of returns the plans of one module in the same way as List.
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

// Programs returns a function that finds the programs of plans that other plans
// call. If a plan does not exist, the function returns no program and no error,
// because the caller may expect that.
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
