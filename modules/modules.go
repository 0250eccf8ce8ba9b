// Package modules finds modules, and files in them, on the module path.
//
// A module is a directory with the module's name, directly below one of the
// path's directories; the first one found takes effect. A project with a name
// is itself a module with that name and overrides all others. Modules that are
// built into the program come last (Puppet Bolt, lib/bolt/module.rb). Nothing
// is read in advance: finding one module costs a stat(2) for each directory of
// the path.
package modules

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/internal/readfile"
)

// Module is a module's name and the location of its files.
type Module struct {
	Name string
	Dir  string // path of its directory; for a built-in module "builtin:/name", for messages

	files fs.FS // the files of a built-in module; nil: those of the operating system below Dir
}

// BuiltIn reports whether the module is part of the program.
func (m Module) BuiltIn() bool { return m.files != nil }

// Path returns the path of a file of the module. rel is its slash-separated
// name, valid for fs.ValidPath. The path of a file in a built-in module is only
// for messages.
func (m Module) Path(rel string) string {
	if m.BuiltIn() {
		return path.Join(m.Dir, rel)
	}
	return filepath.Join(m.Dir, filepath.FromSlash(rel))
}

// ReadFile reads a file of the module as package readfile does.
func (m Module) ReadFile(ctx context.Context, rel string, limit int64) ([]byte, error) {
	if m.BuiltIn() {
		return fs.ReadFile(m.files, rel)
	}
	return readfile.Read(ctx, m.Path(rel), limit)
}

// ReadDir lists a directory of the module, sorted by name.
func (m Module) ReadDir(rel string) ([]fs.DirEntry, error) {
	if m.BuiltIn() {
		return fs.ReadDir(m.files, rel)
	}
	return os.ReadDir(m.Path(rel))
}

// Stat describes a file of the module. Links are followed.
func (m Module) Stat(rel string) (fs.FileInfo, error) {
	if m.BuiltIn() {
		return fs.Stat(m.files, rel)
	}
	return os.Stat(m.Path(rel))
}

// Path is a module path. It is read-only and safe for concurrent use. Its
// results are the state of the disk at the time of the call.
type Path struct {
	dirs    []string
	project Module
	builtin []Module // sorted by name
}

// NewPath returns a Path of directories, highest precedence first. The zero
// project means that there is none.
func NewPath(project Module, dirs ...string) *Path {
	return &Path{dirs: dirs, project: project}
}

// With returns the path with built-in modules after all others: each top-level
// directory of files is a module.
func (p *Path) With(files fs.FS) *Path {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // built-in files can always be read
	}
	full := *p
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		sub, err := fs.Sub(files, e.Name())
		if err != nil {
			panic(err)
		}
		full.builtin = append(full.builtin, Module{Name: e.Name(), Dir: "builtin:/" + e.Name(), files: sub})
	}
	return &full
}

// Dirs returns the directories of the path, without the project and the
// built-in modules.
func (p *Path) Dirs() []string { return slices.Clone(p.dirs) }

var namePattern = lazyregexp.New(`^[a-z][a-z0-9_]*$`)

// ValidName reports whether a name is valid for a module or a project.
func ValidName(name string) bool { return namePattern().MatchString(name) }

// Module returns the module with that name, if there is one.
func (p *Path) Module(name string) (Module, bool) {
	if !ValidName(name) {
		return Module{}, false
	}
	if name == p.project.Name {
		return p.project, true
	}
	for _, dir := range p.dirs {
		m := Module{Name: name, Dir: filepath.Join(dir, name)}
		if info, err := os.Stat(m.Dir); err == nil && info.IsDir() {
			return m, true
		}
	}
	for _, m := range p.builtin {
		if m.Name == name {
			return m, true
		}
	}
	return Module{}, false
}

// Hidden returns the module that the project hides because it has the same
// name.
func (p *Path) Hidden() (Module, bool) {
	rest := *p
	rest.project = Module{}
	return rest.Module(p.project.Name)
}

// All returns every module of the path, in order. If several modules have one
// name, only the first is listed.
func (p *Path) All() []Module {
	var list []Module
	seen := map[string]bool{}
	if p.project.Name != "" {
		seen[p.project.Name] = true
		list = append(list, p.project)
	}
	for _, dir := range p.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder of the path need not exist
		}
		for _, e := range entries {
			name := e.Name()
			if !ValidName(name) || seen[name] {
				continue
			}
			m := Module{Name: name, Dir: filepath.Join(dir, name)}
			if info, err := os.Stat(m.Dir); err != nil || !info.IsDir() {
				continue
			}
			seen[name] = true
			list = append(list, m)
		}
	}
	for _, m := range p.builtin {
		if !seen[m.Name] {
			list = append(list, m)
		}
	}
	return list
}

// Of returns the module that contains a file, and the file's path relative to
// the module's directory.
// module's directory.
//
// Differs from Puppet: a module that is hidden by another module with the same
// name also contains its files here, so that they can be checked.
func (p *Path) Of(file string) (m Module, rel string, ok bool) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Module{}, "", false
	}
	for _, dir := range p.dirs {
		rel, ok := below(dir, file)
		if !ok {
			continue
		}
		name, rest, ok := strings.Cut(rel, string(filepath.Separator))
		if ok && ValidName(name) {
			return Module{Name: name, Dir: filepath.Join(dir, name)}, rest, true
		}
	}
	if p.project.Name != "" {
		if rel, ok := below(p.project.Dir, file); ok {
			return p.project, rel, true
		}
	}
	return Module{}, "", false
}

// below returns the path of a file relative to a directory that contains it.
func below(dir, file string) (string, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(dir, file)
	return rel, err == nil && rel != "." && filepath.IsLocal(rel)
}

// file returns the path of a module's file. Name is looked up below "files"
// first and then below the module itself, so that "x.sh", "files/x.sh" and
// "scripts/x.sh" are all valid.
//
// Files of built-in modules have no path.
func (m Module) file(name string) (string, bool) {
	if m.BuiltIn() {
		return "", false
	}
	for _, dir := range []string{filepath.Join(m.Dir, "files"), m.Dir} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if exists(file) {
			return file, true
		}
	}
	return "", false
}

// Find returns the local file for ref: ref itself, if it is absolute or exists
// relative to the working directory, else the file of a module for ref =
// "module/file". If there is none, the result is the expected path, which may
// not exist.
func (p *Path) Find(ref string) string {
	if filepath.IsAbs(ref) || exists(ref) {
		return ref
	}
	name, file, _ := strings.Cut(ref, "/")
	m, ok := p.Module(name)
	if !ok || m.BuiltIn() {
		return ref
	}
	if found, ok := m.file(file); ok {
		return found
	}
	return filepath.Join(m.Dir, "files", filepath.FromSlash(file))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
