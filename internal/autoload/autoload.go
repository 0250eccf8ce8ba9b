// Package autoload finds what programs of the Puppet language name, in the
// files of modules: functions, types, classes, defines and plans, each in the
// file that its name tells.
//
// Source: the language specification, module.md, and Puppet 8
// (pops/loader/loader_paths.rb, parser/type_loader.rb).
package autoload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"bolt/modules"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// A Loader is an eval.Loader over a module path. It reads each file once; who
// wants changed files makes a new one. It is safe for many goroutines.
type Loader struct {
	path  *modules.Path
	tasks bool

	files memo[string, file]
	names memo[name, *eval.Definition]
	all   func() []modules.Module
}

// New returns a Loader. tasks are the rules of plans.
func New(path *modules.Path, tasks bool) *Loader {
	return &Loader{path: path, tasks: tasks, all: sync.OnceValue(path.All)}
}

// A name is what can be asked for.
type name struct {
	kind eval.Kind
	name string
}

// Load returns the definition of a name; see eval.Loader. What a file of the
// name has instead, and a function in Ruby, is an error.
func (l *Loader) Load(ctx context.Context, kind eval.Kind, qualified string) (*eval.Definition, error) {
	return l.names.get(name{kind, qualified}, func() (*eval.Definition, bool, error) {
		d, err := l.find(kind, qualified)
		return d, d != nil, err
	})
}

// folder is where definitions of a kind are.
func folder(kind eval.Kind) string {
	switch kind {
	case eval.KindFunction:
		return "functions"
	case eval.KindType:
		return "types"
	case eval.KindClass, eval.KindDefine:
		return "manifests"
	case eval.KindPlan:
		return "plans"
	}
	return ""
}

func (l *Loader) find(kind eval.Kind, qualified string) (*eval.Definition, error) {
	if kind == eval.KindResourceType {
		return l.resourceType(qualified)
	}
	dir := folder(kind)
	if dir == "" {
		return nil, nil
	}
	segments := strings.Split(qualified, "::")
	m, ok := l.path.Module(segments[0])
	if !ok {
		if kind == eval.KindFunction {
			return nil, l.ruby(qualified, nil)
		}
		return nil, nil
	}
	for _, path := range candidates(kind, filepath.Join(m.Dir, dir), segments[1:]) {
		f, err := l.file(path, m.Name)
		if err != nil {
			return nil, err
		}
		if d := f[name{kind, qualified}]; d != nil {
			return d, nil
		}
		if f != nil && exact(kind) {
			return nil, fmt.Errorf("%s has to define the %v %s, and %s: the name of a file tells what is in it", path, kind, qualified, f.holds())
		}
	}
	if kind == eval.KindFunction {
		return nil, l.ruby(qualified, &m)
	}
	return nil, nil
}

// exact reports whether a file holds one definition, that of its name.
// Manifests may hold several.
func exact(kind eval.Kind) bool { return kind != eval.KindClass && kind != eval.KindDefine }

// candidates are the files in which a name may be, the likeliest first: a
// class may also be in the file of one around it.
func candidates(kind eval.Kind, dir string, rest []string) []string {
	if len(rest) == 0 {
		list := []string{filepath.Join(dir, "init.pp")}
		switch kind {
		case eval.KindType:
			list = append(list, filepath.Join(dir, "init_typeset.pp"))
		case eval.KindFunction:
			return nil
		}
		return list
	}
	file := filepath.Join(dir, filepath.Join(rest...)+".pp")
	if exact(kind) {
		return []string{file}
	}
	return append([]string{file}, candidates(kind, dir, rest[:len(rest)-1])...)
}

// A file is what one defines; nil: it does not exist.
type file map[name]*eval.Definition

// file reads a file, once.
func (l *Loader) file(path, module string) (file, error) {
	return l.files.get(path, func() (file, bool, error) {
		f, err := l.read(path, module)
		return f, f != nil, err
	})
}

func (l *Loader) read(path, module string) (file, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := syntax.Parse(syntax.NewFile(path, string(data)), syntax.Options{Tasks: l.tasks})
	if err != nil {
		return nil, err
	}
	if err := check.Program(p, check.Options{Tasks: l.tasks}).Err(); err != nil {
		return nil, err
	}
	defs := file{}
	for _, d := range eval.Definitions(p, module) {
		defs[name{d.Kind, d.Name}] = d
	}
	return defs, nil
}

// holds says what a file defines, for messages.
func (f file) holds() string {
	if len(f) == 0 {
		return "defines nothing"
	}
	var list []string
	for n := range f {
		list = append(list, "the "+n.kind.String()+" "+n.name)
	}
	slices.Sort(list)
	return "defines " + strings.Join(list, ", ")
}

// A RubyError is the error of a function that a module has, but in Ruby.
type RubyError struct {
	Function string
	Module   modules.Module
	Path     string // the file it is in
}

// Error says where the function is, and what can be done.
func (e *RubyError) Error() string {
	return fmt.Sprintf("the function %s of module %s is written in Ruby (%s), and there is no Ruby here: %s, or do without it",
		e.Function, e.Module.Name, e.Path, e.advice())
}

// advice says how the function can be had. One in the Puppet language has the
// name of its module in its own, and is in the file that its name tells.
func (e *RubyError) advice() string {
	segments := strings.Split(e.Function, "::")
	at := func(dir string, rest []string) string {
		return filepath.Join(dir, "functions", filepath.Join(rest...)+".pp")
	}
	switch module, rest := segments[0], segments[1:]; {
	case len(rest) == 0:
		return fmt.Sprintf("write it in the Puppet language as %s::%s, in %s, and call it by that name", e.Module.Name, e.Function, at(e.Module.Dir, segments))
	case module != e.Module.Name:
		return fmt.Sprintf("write it in the Puppet language, in %s of a module %s", at("", rest), module)
	default:
		return "write it in the Puppet language, in " + at(e.Module.Dir, rest)
	}
}

// ruby returns a *RubyError if a function exists, but is written in Ruby. m is
// the module that its name tells, nil if it tells none.
func (l *Loader) ruby(qualified string, m *modules.Module) error {
	file := strings.ReplaceAll(qualified, "::", string(filepath.Separator)) + ".rb"
	where := l.all
	if m != nil {
		where = func() []modules.Module { return []modules.Module{*m} }
	}
	for _, m := range where() {
		for _, dir := range []string{"lib/puppet/functions", "lib/puppet/parser/functions"} {
			path := filepath.Join(m.Dir, filepath.FromSlash(dir), file)
			if _, err := os.Stat(path); err == nil {
				return &RubyError{Function: qualified, Module: m, Path: path}
			}
		}
	}
	return nil
}

// withAgents are the types of resources that come with Puppet's agent packages
// as modules, beside those of its core.
var withAgents = [...]string{
	"augeas", "cron", "host", "mount", "scheduled_task", "selboolean", "selmodule", "ssh_authorized_key", "sshkey", "yumrepo", "zfs", "zone", "zpool",
}

// resourceType knows types of resources that are written in Ruby: that they
// exist is all that can be known of them here.
func (l *Loader) resourceType(qualified string) (*eval.Definition, error) {
	if slices.Contains(withAgents[:], qualified) {
		return &eval.Definition{Kind: eval.KindResourceType, Name: qualified}, nil
	}
	for _, m := range l.all() {
		if _, err := os.Stat(filepath.Join(m.Dir, "lib", "puppet", "type", qualified+".rb")); err == nil {
			return &eval.Definition{Kind: eval.KindResourceType, Name: qualified, Module: m.Name}, nil
		}
	}
	return nil, nil
}

// Files are the files of modules, as package builtin's functions ask for them.
type Files struct{ Path *modules.Path }

// Find returns where a file is: "module/path" below a folder of that module,
// or an absolute path.
func (f Files) Find(area, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		name, rest, _ := strings.Cut(path, "/")
		m, ok := f.Path.Module(name)
		if !ok || rest == "" || !filepath.IsLocal(rest) {
			return "", false
		}
		path = filepath.Join(m.Dir, area, filepath.FromSlash(rest))
	}
	_, err := os.Stat(path)
	return path, err == nil
}

// Read returns a file's bytes.
func (Files) Read(path string) ([]byte, error) { return os.ReadFile(path) }

// Module returns a module's folder.
func (f Files) Module(name string) (string, bool) {
	m, ok := f.Path.Module(name)
	return m.Dir, ok
}

// Root is Module, by the name that package hiera has for it.
func (f Files) Root(name string) (string, bool) { return f.Module(name) }
