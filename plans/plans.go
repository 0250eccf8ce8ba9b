// Package plans finds the plans of modules, says what they are for and what
// they take, and reads what a command line gives them.
//
// A plan is a file below a module's plans directory: name.pp in the Puppet
// language or name.yaml. Its path makes its name: plans/a/b.pp of the module m
// is m::a::b, and plans/init.pp is m itself. Of two files of one name the .pp
// one is the plan. Nothing is evaluated, but for the types of parameters.
//
// Source: Puppet Bolt (lib/bolt/pal.rb, pal/yaml_plan, application.rb).
package plans

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"bolt/modules"
	"bolt/plans/yamlplan"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Summary is what lists say of a plan.
type Summary struct {
	Name        string
	Description string // "" if it has none
	Private     bool   // it asks not to be listed
	Module      modules.Module
	File        string // in the module, as fs.ValidPath has it
}

// Path is the path of the plan's file.
func (s *Summary) Path() string { return s.Module.Path(s.File) }

// A Plan is one plan with its parameters. It is not changed after Find.
type Plan struct {
	Summary
	// Brief and Docstring are what the comment above a plan says: its tag
	// @summary, and its text. That of a YAML plan is its description, and it has
	// no Brief.
	Brief, Docstring string
	Parameters       []Parameter // in the order of the file
	// Documented lists the names in the tags @param, in their order. It can contain
	// names that are not parameters.
	Documented []string
	// YAML is what a YAML plan was read as; nil for one in the Puppet language.
	YAML *yamlplan.Plan

	program *syntax.Program // of one in the Puppet language
}

// Program returns a program of the Puppet language that defines the plan; its
// positions are in the plan's file. An error is yamlplan's.
func (p *Plan) Program() (*syntax.Program, error) {
	if p.YAML != nil {
		return p.YAML.Program()
	}
	return p.program, nil
}

// A Parameter is one that a plan declares.
type Parameter struct {
	Name string
	// TypeText is the type as it is written, that of a YAML plan as the language
	// writes it; "" if it is left out.
	TypeText string
	// Type is what TypeText says. A name that nothing is known of stands for
	// itself there, and no value is of that type.
	Type value.Type
	// TagType is the type that the comment above a plan gives for a parameter
	// that is declared without a type. It is shown, and has no other effect.
	TagType        string
	Description    string
	HasDescription bool
	// Default is the default of a YAML plan, in the types of package ordered,
	// and DefaultText how people see it; in the Puppet language it is an
	// expression, and both are its text.
	Default     any
	DefaultText string
	HasDefault  bool
	Sensitive   bool // its type is Sensitive, as it stands
}

// Parameter returns what the plan declares of a parameter, nil if it does not.
func (p *Plan) Parameter(name string) *Parameter {
	for i := range p.Parameters {
		if p.Parameters[i].Name == name {
			return &p.Parameters[i]
		}
	}
	return nil
}

// Shown is the type as people see it.
func (p *Parameter) Shown() string {
	if p.TypeText == "" {
		return "Any"
	}
	return p.TypeText
}

// DocumentedType is Shown, or the type in the comment if the parameter is
// declared without a type.
func (p *Parameter) DocumentedType() string {
	if p.TypeText == "" && p.TagType != "" {
		return p.TagType
	}
	return p.Shown()
}

// Usage is how the parameter is written on a command line, in brackets if it
// may be left out.
func (p *Parameter) Usage() string {
	if p.HasDefault {
		return "[" + p.Name + "=<value>]"
	}
	return p.Name + "=<value>"
}

// dir is where a module's plans are.
const dir = "plans"

// initName is the file name of the plan that has its module's name.
const initName = "init"

// maxDepth is how many directories deep plans are looked for.
const maxDepth = 32

// Extensions of plans. The first one wins.
const (
	puppetExt = ".pp"
	yamlExt   = ".yaml"
)

// ValidName reports whether a plan may have that name: module, or module::plan
// with as many parts as there are directories.
func ValidName(name string) bool {
	for part := range strings.SplitSeq(name, "::") {
		if !modules.ValidName(part) {
			return false
		}
	}
	return true
}

// A place is a file that has to be a plan, or a directory that cannot be read.
type place struct {
	name, file string
	err        error
}

// places are the plans of a module, each name once. Files whose names cannot be
// those of plans are left out.
func places(ctx context.Context, m modules.Module) []place {
	found := walk(ctx, m, dir, nil)
	list := found[:0]
	seen := make(map[string]bool)
	for _, p := range found { // of two files, the .pp one is first
		if p.err == nil && seen[p.name] {
			continue
		}
		seen[p.name] = seen[p.name] || p.err == nil
		list = append(list, p)
	}
	return list
}

// walk adds the plans below a directory to a list. Links to directories are
// not followed, as Ruby's globs do not follow them.
func walk(ctx context.Context, m modules.Module, dir string, list []place) []place {
	entries, err := m.ReadDir(dir)
	if err != nil {
		if !none(err) {
			list = append(list, place{nameOf(m, dir), dir, err})
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
				list = append(list, place{name: nameOf(m, strings.TrimSuffix(rel, ext)), file: rel})
			}
		}
	}
	return list
}

// none reports whether an error says that there is no such file.
func none(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// nameOf is the name of the plan in a file whose path, without its extension,
// is rel.
func nameOf(m modules.Module, rel string) string {
	rel = strings.TrimPrefix(rel, dir)
	if rel == "" || rel == "/"+initName {
		return m.Name
	}
	return m.Name + strings.ReplaceAll(rel, "/", "::")
}
