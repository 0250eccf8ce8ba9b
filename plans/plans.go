// Package plans finds the plans of modules and says what they are for.
//
// A plan is a file below a module's plans directory: name.pp in the Puppet
// language or name.yaml (Puppet Bolt, lib/bolt/pal.rb and pal/yaml_plan). Its
// path makes its name: plans/a/b.pp of the module m is m::a::b, and plans/init.pp
// is m itself. Nothing is evaluated.
package plans

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"bolt/internal/readfile"
	"bolt/internal/yaml"
	"bolt/modules"
	"bolt/puppet/syntax"
)

// Summary is what a list says about a plan.
type Summary struct {
	Name        string
	Description string // "" if it has none
	Private     bool   // it asks not to be listed
	Module      modules.Module
	File        string // in the module, as fs.ValidPath has it
	// Err says what is wrong with the file, if it is wrong. Then it has a name
	// only.
	Err error
}

// maxDepth is how many directories deep plans are looked for.
const maxDepth = 32

// Extensions of plans.
const (
	puppetExt = ".pp"
	yamlExt   = ".yaml"
)

// List returns the plans of all modules of a path, sorted by their names. It
// ends early only if ctx is done.
func List(ctx context.Context, p *modules.Path) ([]Summary, error) {
	var list []Summary
	for _, m := range p.All() {
		list = append(list, Of(ctx, m)...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	slices.SortFunc(list, byName)
	return list, nil
}

// Of returns the plans of a module, sorted by their names. Files whose names
// cannot be those of plans are left out; a directory that cannot be read is
// there once, for all that is in it.
func Of(ctx context.Context, m modules.Module) []Summary {
	list := walk(ctx, m, "plans", nil)
	seen := make(map[string]bool)
	list = slices.DeleteFunc(list, func(s Summary) bool { // of two files, the .pp one is first
		twice := s.Err == nil && seen[s.Name]
		seen[s.Name] = seen[s.Name] || s.Err == nil
		return twice
	})
	for i := range list {
		if list[i].Err == nil {
			list[i].read(ctx)
		}
	}
	slices.SortFunc(list, byName)
	return list
}

func byName(a, b Summary) int { return strings.Compare(a.Name, b.Name) }

// walk adds the plans below a directory to a list. Links to directories are
// not followed, as Ruby's globs do not follow them.
func walk(ctx context.Context, m modules.Module, dir string, list []Summary) []Summary {
	entries, err := m.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			list = append(list, Summary{Name: nameOf(m, dir), Module: m, File: dir, Err: err})
		}
		return list
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return list
		}
		rel := dir + "/" + e.Name()
		ext := path.Ext(rel)
		switch {
		case e.IsDir():
			if modules.ValidName(e.Name()) && strings.Count(rel, "/") < maxDepth {
				list = walk(ctx, m, rel, list)
			}
		case (ext == puppetExt || ext == yamlExt) && modules.ValidName(strings.TrimSuffix(e.Name(), ext)):
			if info, err := m.Stat(rel); err != nil || !info.IsDir() { // what a link leads to
				list = append(list, Summary{Name: nameOf(m, strings.TrimSuffix(rel, ext)), Module: m, File: rel})
			}
		}
	}
	return list
}

// nameOf is the name of the plan in a file whose path, without its extension,
// is rel.
func nameOf(m modules.Module, rel string) string {
	rel = strings.TrimPrefix(rel, "plans")
	if rel == "" || rel == "/init" {
		return m.Name
	}
	return m.Name + strings.ReplaceAll(rel, "/", "::")
}

// read fills what the file says.
func (s *Summary) read(ctx context.Context) {
	data, err := s.Module.ReadFile(ctx, s.File, readfile.Language)
	if err == nil {
		if path.Ext(s.File) == puppetExt {
			err = s.readPuppet(string(data))
		} else {
			err = s.readYAML(data)
		}
	}
	if err != nil {
		s.Err, s.Description, s.Private = err, "", false
	}
}

func (s *Summary) readPuppet(text string) error {
	p, err := syntax.Parse(syntax.NewFile(s.Module.Path(s.File), text), syntax.Options{Tasks: true})
	if err != nil {
		return err
	}
	for _, x := range p.Definitions {
		if plan, ok := x.(*syntax.Plan); ok && plan.Name == s.Name {
			d := parseDoc(commentAbove(text, p.File.Position(plan.Off).Line))
			s.Description, s.Private = d.description(), d.private
			return nil
		}
	}
	return fmt.Errorf("%s: the file has to define the plan %s: the name of a file tells what is in it", p.File.Name, s.Name)
}

func (s *Summary) readYAML(data []byte) error {
	plan, err := yaml.DecodeMap(data, s.Module.Path(s.File), "plan")
	if err != nil {
		return err
	}
	wrong := func(key, want string) error {
		return fmt.Errorf("%s: the value of '%s' has to be %s", s.Module.Path(s.File), key, want)
	}
	if v, ok := plan.Get("description"); ok && v != nil {
		text, ok := v.(string)
		if !ok {
			return wrong("description", "a string")
		}
		s.Description = text
	}
	if v, ok := plan.Get("private"); ok && v != nil {
		private, ok := v.(bool)
		if !ok {
			return wrong("private", "true or false")
		}
		s.Private = private
	}
	return nil
}
