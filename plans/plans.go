// Package plans finds the plans of modules, describes them and their parameters,
// and reads the parameters on a command line.
//
// A plan is a file below a module's plans directory: name.pp in the Puppet
// language or name.yaml. Its path determines its name: plans/a/b.pp of the
// module m is m::a::b, and plans/init.pp is m itself. If there are two files of
// the same name, the .pp file is the plan. Only the types of parameters are
// evaluated.
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

// A Summary is an entry in a list of plans.
type Summary struct {
	Name        string
	Description string // "" if it has none
	Private     bool   // it is not shown in lists
	Module      modules.Module
	File        string // relative to the module, in the form of fs.ValidPath
}

// Path returns the path of the plan's file.
func (s *Summary) Path() string { return s.Module.Path(s.File) }

// A Plan is a plan with its parameters. It does not change after Find.
type Plan struct {
	Summary
	// Brief and Docstring come from the comment above a plan: its tag @summary,
	// and its text. The Docstring of a YAML plan is its description, and it has
	// no Brief.
	Brief, Docstring string
	Parameters       []Parameter // in the order of the file
	// Documented lists the names in the tags @param, in their order. It can contain
	// names that are not parameters.
	Documented []string
	// YAML is the parsed YAML plan; nil for a plan in the Puppet language.
	YAML *yamlplan.Plan

	program *syntax.Program // of a plan in the Puppet language
}

// Program returns a program of the Puppet language that defines the plan. Its
// positions refer to the plan's file. Errors are errors of yamlplan.
func (p *Plan) Program() (*syntax.Program, error) {
	if p.YAML != nil {
		return p.YAML.Program()
	}
	return p.program, nil
}

// A Parameter is a parameter that a plan declares.
type Parameter struct {
	Name string
	// TypeText is the source text of the type. For a YAML plan it has the form
	// in which the language writes it. It is "" if the type is left out.
	TypeText string
	// Type is the type in TypeText. An unknown name stands for itself there, and
	// no value has that type.
	Type value.Type
	// TagType is the type in the comment above a plan for a parameter that is
	// declared without a type. It is shown, and has no other effect.
	TagType        string
	Description    string
	HasDescription bool
	// Default is the default of a YAML plan, in the types of package ordered,
	// and DefaultText is its form for people. In the Puppet language the default
	// is an expression, and both are its source text.
	Default     any
	DefaultText string
	HasDefault  bool
	Sensitive   bool // its type itself is Sensitive
}

// Parameter returns the declared parameter of that name, nil if there is none.
func (p *Plan) Parameter(name string) *Parameter {
	for i := range p.Parameters {
		if p.Parameters[i].Name == name {
			return &p.Parameters[i]
		}
	}
	return nil
}

// Shown returns the type in its form for people.
func (p *Parameter) Shown() string {
	if p.TypeText == "" {
		return "Any"
	}
	return p.TypeText
}

// DocumentedType returns Shown, or the type in the comment if the parameter is
// declared without a type.
func (p *Parameter) DocumentedType() string {
	if p.TypeText == "" && p.TagType != "" {
		return p.TagType
	}
	return p.Shown()
}

// Usage returns the parameter as it is written on a command line, in brackets if
// it is optional.
func (p *Parameter) Usage() string {
	if p.HasDefault {
		return "[" + p.Name + "=<value>]"
	}
	return p.Name + "=<value>"
}

// dir is the directory of a module's plans.
const dir = "plans"

// initName is the file name of the plan that has its module's name.
const initName = "init"

// maxDepth is how many levels of directories are searched for plans.
const maxDepth = 32

// These are the extensions of plans. The first one takes precedence.
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

// A place is a file that must be a plan, or a directory that cannot be read.
type place struct {
	name, file string
	err        error
}

// places returns the plans of a module, each name once. Files whose names are
// not valid names of plans are left out.
func places(ctx context.Context, m modules.Module) []place {
	found := walk(ctx, m, dir, nil)
	list := found[:0]
	seen := make(map[string]bool)
	for _, p := range found { // of two files with the same name, the .pp file is first
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
			if info, err := m.Stat(rel); err != nil || !info.IsDir() { // the file that a link leads to
				list = append(list, place{name: nameOf(m, strings.TrimSuffix(rel, ext)), file: rel})
			}
		}
	}
	return list
}

// none reports whether an error means that a file does not exist.
func none(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// nameOf returns the name of the plan in a file. rel is the file's path without
// its extension.
func nameOf(m modules.Module, rel string) string {
	rel = strings.TrimPrefix(rel, dir)
	if rel == "" || rel == "/"+initName {
		return m.Name
	}
	return m.Name + strings.ReplaceAll(rel, "/", "::")
}
