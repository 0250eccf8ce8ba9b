// Package autoload finds definitions of the Puppet language in the files of
// modules: functions, types, classes, defines and plans, each in the file for
// its name.
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
	"strings"
	"sync"
	"syscall"
	"time"

	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/published"
	"bolt/puppet/syntax"
)

// A Loader is an eval.Loader over a module path. It reads each file once, so its
// callers see one state of the files. Current reports whether the files are
// unchanged; if they are not, Renewed returns a Loader for their new state. A
// Loader is safe for concurrent use.
type Loader struct {
	path  *modules.Path
	tasks bool

	files  memo[string, *file]
	names  memo[name, *eval.Definition]
	rubies memo[string, *eval.Definition]
	all    func() []modules.Module
	types  func() map[string]typeFile
	seen   seen
	parsed *programs // shared by all Loaders that Renewed has returned
}

// New returns a Loader. If tasks is set, the rules of plans apply.
func New(path *modules.Path, tasks bool) *Loader { return loaderOf(path, tasks, &programs{}) }

func loaderOf(path *modules.Path, tasks bool, parsed *programs) *Loader {
	l := &Loader{path: path, tasks: tasks, all: sync.OnceValue(path.All), parsed: parsed}
	l.types = sync.OnceValue(l.typeFiles)
	return l
}

// Renewed returns a Loader that has not found anything yet. It does not parse
// unchanged files again.
func (l *Loader) Renewed() *Loader { return loaderOf(l.path, l.tasks, l.parsed) }

// Current reports whether everything that the Loader has found, or not found, is
// unchanged. That costs a stat(2) for each file. It is false after an error, so
// that a correction takes effect at once.
func (l *Loader) Current() bool { return l.seen.current(l.path) }

// A name identifies a definition.
type name struct {
	kind eval.Kind
	name string
}

// Load returns the definition of a name; see eval.Loader. For a function that a
// module writes in Ruby, it returns the implementation of package published, or
// an error if there is none. If the file for the name defines something else,
// Load returns an error.
func (l *Loader) Load(ctx context.Context, kind eval.Kind, qualified string) (*eval.Definition, error) {
	d, err := l.Written(ctx, kind, qualified)
	if d != nil || err != nil || kind != eval.KindFunction || !isName(qualified) {
		return d, err
	}
	d, err = l.rubies.get(ctx, qualified, func() (*eval.Definition, bool, error) {
		d, err := l.ruby(ctx, qualified)
		if d == nil {
			l.seen.incomplete()
		}
		return d, d != nil, err
	})
	return d, Ended(ctx, err)
}

// Written is Load for callers that ignore functions in Ruby.
func (l *Loader) Written(ctx context.Context, kind eval.Kind, qualified string) (*eval.Definition, error) {
	if !isName(qualified) {
		return nil, nil // such a name must not lead to a file
	}
	d, err := l.names.get(ctx, name{kind, qualified}, func() (*eval.Definition, bool, error) {
		d, err := l.find(ctx, kind, qualified)
		if err != nil {
			l.seen.incomplete()
		}
		return d, d != nil, err
	})
	return d, Ended(ctx, err)
}

// isName reports whether a lower-case name is valid in the language. Programs
// can use any string as a name.
func isName(s string) bool {
	for part := range strings.SplitSeq(s, "::") {
		if !modules.ValidName(part) {
			return false
		}
	}
	return true
}

// Ended returns the error of reading a file for a program. If ctx is done, it is
// the error that stops the program.
func Ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	e := eval.Errorf("canceled", "the evaluation was ended: %v", context.Cause(ctx))
	e.Err = ctx.Err()
	return e
}

// folder returns the folder for definitions of a kind.
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

func (l *Loader) find(ctx context.Context, kind eval.Kind, qualified string) (*eval.Definition, error) {
	if kind == eval.KindResourceType {
		return l.resourceType(ctx, qualified)
	}
	dir := folder(kind)
	if dir == "" {
		return nil, nil
	}
	segments := strings.Split(qualified, "::")
	m, ok := l.path.Module(segments[0])
	if l.seen.module(segments[0], m); !ok {
		return nil, nil
	}
	for _, rel := range candidates(kind, dir, segments[1:]) {
		f, err := l.file(ctx, m, rel, kind)
		switch {
		case err != nil:
			return nil, err
		case f == nil:
			continue
		}
		if d := f.defs[name{kind, qualified}]; d != nil {
			return d, nil
		}
		if exact(kind) {
			return nil, f.lacks(kind, qualified)
		}
	}
	return nil, nil
}

// exact reports whether a file must contain exactly one definition, the one for
// its name. Manifests can contain several.
func exact(kind eval.Kind) bool { return kind != eval.KindClass && kind != eval.KindDefine }

// typeSet is the file with a module's type set.
const typeSet = "init_typeset.pp"

// candidates returns the files that may contain a name, most likely first: a
// class can also be in the file of an enclosing class.
func candidates(kind eval.Kind, dir string, rest []string) []string {
	if len(rest) == 0 {
		list := []string{filepath.Join(dir, "init.pp")}
		switch kind {
		case eval.KindType:
			list = append(list, filepath.Join(dir, typeSet))
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

// A file is a file that was read.
type file struct {
	program *syntax.Program
	defs    map[name]*eval.Definition
}

// file reads a file of a module, once; the result is nil if the file does not
// exist. kind is the kind of definitions in its folder.
func (l *Loader) file(ctx context.Context, m modules.Module, rel string, kind eval.Kind) (*file, error) {
	return l.files.get(ctx, m.Path(filepath.ToSlash(rel)), func() (*file, bool, error) {
		read := l.read
		if m.BuiltIn() {
			read = l.builtin
		}
		f, err := read(ctx, m, rel, kind)
		return f, f != nil, err
	})
}

// builtin reads a file of a built-in module, which never changes.
func (l *Loader) builtin(ctx context.Context, m modules.Module, rel string, kind eval.Kind) (*file, error) {
	data, err := m.ReadFile(ctx, filepath.ToSlash(rel), readfile.Language)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := l.parse(m, rel, kind, string(data))
	if err != nil {
		return nil, err
	}
	return fileOf(p, m), nil
}

func (l *Loader) read(ctx context.Context, m modules.Module, rel string, kind eval.Kind) (*file, error) {
	path := filepath.Join(m.Dir, rel)
	// The stamp is taken before reading, so that a change during the read gives
	// another stamp.
	at, stamp := time.Now(), stampOf(path)
	l.seen.file(path, stamp, at)
	p := l.parsed.get(path, stamp)
	if p == nil {
		data, err := readfile.Read(ctx, path, readfile.Language)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if p, err = l.parse(m, rel, kind, string(data)); err != nil {
			return nil, err
		}
		l.parsed.put(path, stamp, at, p)
	}
	return fileOf(p, m), nil
}

func fileOf(p *syntax.Program, m modules.Module) *file {
	f := &file{p, map[name]*eval.Definition{}}
	for _, d := range eval.Definitions(p, m.Name) {
		f.defs[name{d.Kind, d.Name}] = d
	}
	return f
}

// parse parses the text of a file, and checks it.
func (l *Loader) parse(m modules.Module, rel string, kind eval.Kind, text string) (*syntax.Program, error) {
	p, err := syntax.Parse(syntax.NewFile(m.Path(filepath.ToSlash(rel)), text), syntax.Options{Tasks: l.tasks})
	if err != nil {
		return nil, err
	}
	o := check.Options{Tasks: l.tasks}
	rel = filepath.ToSlash(rel)
	o.Namespace, _ = check.Namespace(m.Name, rel)
	o.Defines = check.Defines(rel)
	if err := check.Program(p, o).Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func wrong(p *syntax.Program, at syntax.Span, kind, format string, args ...any) error {
	return syntax.Errors{{File: p.File, Span: at, Kind: kind, Msg: fmt.Sprintf(format, args...)}}
}

// lacks returns the error for a file that does not contain the definition for
// its name.
func (f *file) lacks(kind eval.Kind, qualified string) error {
	at, holds := syntax.Span{}, "nothing"
	for _, x := range f.program.Definitions {
		at = x.At()
	}
	for n := range f.defs {
		holds = "the " + n.kind.String() + " " + check.Spelled(n.kind.String(), n.name)
	}
	return wrong(f.program, at, "wrong-definition", "the file must define the %v %s, but defines %s: the name of a file determines its definition", kind, check.Spelled(kind.String(), qualified), holds)
}

// A RubyError is the error of a function that a module defines in Ruby.
type RubyError struct {
	Function string
	Module   modules.Module
	Path     string // the file it is in
}

// Error returns the path of the function and advice.
func (e *RubyError) Error() string {
	return fmt.Sprintf("the function %s of module %s is written in Ruby (%s), which is not supported: %s, or remove the call",
		e.Function, e.Module.Name, e.Path, e.advice())
}

// advice returns how to replace the function. A function in the Puppet language
// must be qualified with the name of its module, and must be in the file for its
// name.
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

// ruby finds a function in Ruby: in the module of a qualified name, or in any
// module for an unqualified one. It returns the implementation of package
// published, or a *RubyError.
func (l *Loader) ruby(ctx context.Context, qualified string) (*eval.Definition, error) {
	file := strings.ReplaceAll(qualified, "::", string(filepath.Separator)) + ".rb"
	where := l.all()
	if module, _, is := strings.Cut(qualified, "::"); is {
		if m, ok := l.path.Module(module); ok {
			where = []modules.Module{m}
		}
	}
	for _, m := range where {
		for _, dir := range []string{"lib/puppet/functions", "lib/puppet/parser/functions"} {
			path := filepath.Join(m.Dir, filepath.FromSlash(dir), file)
			at, stamp := time.Now(), stampOf(path)
			if stamp == nil {
				continue
			}
			described := filepath.Join(m.Dir, modules.MetadataFile)
			metadataStamp := stampOf(described)
			metadata, _ := m.Metadata(ctx) // without it, the module is not a published one
			f := published.Find((&modules.Described{Module: m, Metadata: metadata}).FullName(), qualified)
			if f == nil {
				return nil, &RubyError{Function: qualified, Module: m, Path: path}
			}
			l.seen.file(path, stamp, at)
			l.seen.file(described, metadataStamp, at)
			if len(where) > 1 { // another module can get the function
				for _, dir := range l.path.Dirs() {
					l.seen.file(dir, stampOf(dir), at)
				}
			}
			return &eval.Definition{Kind: eval.KindFunction, Name: qualified, Module: m.Name, Function: f}, nil
		}
	}
	return nil, nil
}

// Files finds and reads the files of modules for the functions of package
// builtin.
type Files struct{ Path *modules.Path }

// Find returns the path of a file: "module/path" below a folder of that module,
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

// Read returns a file's bytes. If ctx is done, the error is one of the
// evaluation.
func (Files) Read(ctx context.Context, path string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Language)
	return data, Ended(ctx, err)
}

// Module returns a module's folder.
func (f Files) Module(name string) (string, bool) {
	m, ok := f.Path.Module(name)
	return m.Dir, ok
}

// Root is Module under the name that package hiera expects.
func (f Files) Root(name string) (string, bool) { return f.Module(name) }
