// Package tasks finds tasks in modules and runs them on targets.
//
// A task is an executable file in a module's directory tasks. A file of metadata
// beside it describes its parameters, their types, how the task gets them, and
// which file is for which targets. A [Library] finds tasks. [Task.Check] sets the
// defaults of parameters and checks their types. A [Run] is an action of package
// run, which copies the files to a target, runs them and reads the result. Types
// are types of the Puppet language.
//
// Source: the task specification (puppet-specifications, tasks), Puppet 8
// (module/task.rb, pal/task_signature.rb) and Puppet Bolt (task.rb, task/run.rb,
// shell/bash.rb, result.rb).
package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/spelling"
	"bolt/modules"
	"bolt/puppet/value"
)

// Options configure a Library.
type Options struct {
	Modules *modules.Path
	// Type reads the type of a parameter in metadata. Names that are not in the
	// language are types of modules.
	Type func(ctx context.Context, text string) (value.Type, error)
	// Warn receives a warning and its ID; nil drops warnings. Several goroutines
	// may call it at once.
	Warn func(id, text string)
	// LookPath finds a program of this machine by its name; nil is exec.LookPath.
	LookPath func(name string) (string, error)
}

// A Library finds tasks. It is safe for concurrent use.
type Library struct {
	o Options
	// puppetRuby and boltRuby are the paths of the packaged Rubies.
	puppetRuby, boltRuby string
	// rubyTold limits the warning about a Ruby from PATH to one.
	rubyTold sync.Once
}

// NewLibrary returns a Library.
func NewLibrary(o Options) *Library {
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	return &Library{o: o, puppetRuby: puppetRuby, boltRuby: boltRuby}
}

// A Summary is an entry in a list of tasks.
type Summary struct {
	Name        string
	Description string // "" if the metadata has none
	Private     bool   // not shown in lists
	Module      modules.Module
}

// dir is the directory of a module's tasks.
const dir = "tasks"

// initName is the file name of the task that has its module's name.
const initName = "init"

const metadataExt = ".json"

// ValidName reports whether a task may have that name: module or module::task.
func ValidName(name string) bool {
	module, rest, qualified := strings.Cut(name, "::")
	return modules.ValidName(module) && (!qualified || modules.ValidName(rest))
}

// PossibleName reports whether a name has the form of a task's name, with any number of
// parts.
func PossibleName(name string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "::"), "::") {
		if !modules.ValidName(part) {
			return false
		}
	}
	return true
}

// stem splits the name of a file in a directory of tasks. ok is false if the file
// is not part of a task.
func stem(file string) (name, ext string, ok bool) {
	ext = path.Ext(file)
	name = strings.TrimSuffix(file, ext)
	return name, ext, ext != ".conf" && ext != ".md" && modules.ValidName(name)
}

// fullName returns a task's name from the names of its module and its files.
func fullName(module, name string) string {
	if name == initName {
		return module
	}
	return module + "::" + name
}

// Find returns a task with its metadata checked. Errors are *fault.Error, of kind
// bolt/unknown-task, or of kind bolt/pal-error if the task's files or metadata
// are invalid.
func (l *Library) Find(ctx context.Context, name string) (*Task, error) {
	name = strings.TrimPrefix(name, "::")
	module, rest, qualified := strings.Cut(name, "::")
	if !qualified {
		rest = initName
	}
	m, found := l.o.Modules.Module(module)
	if !found || !ValidName(name) || qualified && rest == initName {
		return nil, l.unknown(name)
	}
	files, err := m.ReadDir(dir)
	if none(err) {
		return nil, l.unknown(name)
	}
	if err != nil {
		return nil, fault.File(m.Path(dir), err, "The tasks of module %s cannot be read from %s: %v", m.Name, m.Path(dir), fault.WithoutPath(err))
	}
	t := &Task{Name: name, Module: m}
	described := false
	for _, f := range files {
		switch base, ext, ok := stem(f.Name()); {
		case ok && base == rest && ext == metadataExt && !regular(m, f):
			return nil, fault.New(palError, "The metadata of task '%s' cannot be read from %s: it is neither a file nor a link to a file.", name, m.Path(path.Join(dir, f.Name())))
		case !ok || base != rest || !regular(m, f):
		case ext == metadataExt:
			described = true
		default:
			t.executables = append(t.executables, f.Name())
		}
	}
	if !described && t.executables == nil {
		return nil, l.unknown(name)
	}
	if err := t.read(ctx, l, rest, described); err != nil {
		return nil, err
	}
	return t, t.locate(files)
}

// none reports whether an error means that a directory does not exist.
func none(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// regular reports whether a directory entry is a file, or a link to one.
func regular(m modules.Module, f fs.DirEntry) bool {
	if f.Type().IsRegular() {
		return true
	}
	if f.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := m.Stat(path.Join(dir, f.Name()))
	return err == nil && info.Mode().IsRegular()
}

// UnknownTask is the kind of error for a task that does not exist.
const UnknownTask = "bolt/unknown-task"

// unknown returns the error for a task that does not exist.
func (l *Library) unknown(name string) error {
	msg := fmt.Sprintf("Could not find a task named '%s'. For a list of available tasks, run 'bolt task show'.", name)
	names := l.names()
	near := spelling.Near(name, names)
	for _, n := range names { // the user may have left out the module's name
		if near == "" && strings.HasSuffix(n, "::"+name) {
			near = n
		}
	}
	if near != "" {
		msg += " Did you mean " + near + "?"
	}
	e := fault.New(UnknownTask, "%s", msg)
	module, _, _ := strings.Cut(name, "::")
	for _, dir := range l.o.Modules.Dirs() {
		if found, _ := filepath.Glob(filepath.Join(dir, "*-"+module)); found != nil && modules.ValidName(module) {
			e.Hint = fmt.Sprintf("The directory %s exists, but the name of a module's directory must be the name of the module. Rename it to %s.", found[0], module)
		}
	}
	return e
}

// names returns the names of all tasks. It reads no metadata.
func (l *Library) names() []string {
	var names []string
	for _, m := range l.o.Modules.All() {
		list, _, _ := entries(m) // a directory that cannot be read has no similar names
		for _, e := range list {
			names = append(names, fullName(m.Name, e.name))
		}
	}
	return names
}

// An entry is a task in a module's directory.
type entry struct {
	name        string // of the files
	described   bool   // it has a file of metadata
	executables int    // number of files with the task's name
}

// entries returns the tasks of a module, and the names of all files that can be
// implementations.
func entries(m modules.Module) (list []entry, executables []string, err error) {
	files, err := m.ReadDir(dir)
	if none(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	at := make(map[string]int)
	for _, f := range files {
		name, ext, ok := stem(f.Name())
		if !ok || !regular(m, f) {
			continue
		}
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list = append(list, entry{name: name})
		}
		if ext == metadataExt {
			list[i].described = true
			continue
		}
		list[i].executables++
		executables = append(executables, f.Name())
	}
	return list, executables, nil
}

// List returns all tasks, sorted by name. A task that cannot be loaded because of
// its metadata or its files is left out with a warning.
func (l *Library) List(ctx context.Context) ([]Summary, error) {
	return l.list(ctx, l.o.Modules.All())
}

// Of returns the tasks of one module in the same way as List.
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
	found, executables, err := entries(m)
	if err != nil {
		l.o.Warn("task_metadata", fmt.Sprintf("The tasks of module %s are not listed: %s: %v", m.Name, m.Path(dir), fault.WithoutPath(err)))
	}
	var list []Summary
	for _, e := range found {
		s := Summary{Name: fullName(m.Name, e.name), Module: m}
		raw := &ordered.Map{}
		var err error
		if e.described {
			raw, err = readMetadata(ctx, m, e.name)
		}
		if err == nil {
			err = sources(s, e, raw, executables)
		}
		if err != nil {
			if ctx.Err() == nil {
				l.o.Warn("task_metadata", err.Error())
			}
			continue
		}
		s.Description, _ = raw.Value("description").(string)
		s.Private = raw.Value("private") == true
		list = append(list, s)
	}
	return list
}

// sources checks that the files of a task exist: its implementations, or else one
// file with its name. Find reports all errors in the metadata.
func sources(s Summary, e entry, raw *ordered.Map, executables []string) error {
	if s.Module.BuiltIn() && extension(mapOf(raw.Value("extensions")), "native") != "" {
		return nil
	}
	if impls, ok := raw.Value("implementations").([]any); ok {
		for _, v := range impls {
			if name, _ := mapOf(v).Value("name").(string); !slices.Contains(executables, name) {
				return missingImplementation(s.Name, name)
			}
		}
		return nil
	}
	switch e.executables {
	case 0:
		return noSource(s.Name, s.Module.Path(dir))
	case 1:
		return nil
	}
	return severalSources(s.Name, s.Module.Path(dir))
}

// mapOf returns v as a map. It returns nil, which is an empty map, for any other
// type.
func mapOf(v any) *ordered.Map {
	m, _ := v.(*ordered.Map)
	return m
}

func noSource(task, dir string) error {
	return fault.New(palError, "No source besides task metadata was found in directory %s for task %s", dir, task)
}

func severalSources(task, dir string) error {
	return fault.New(palError, "Multiple executables were found in directory %s for task %s; "+
		"define 'implementations' in metadata to differentiate between them", dir, task)
}

func missingImplementation(task, file string) error {
	return fault.New(palError, "Task metadata for task %s specifies missing implementation %s", task, file)
}
