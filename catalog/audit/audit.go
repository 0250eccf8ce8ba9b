// Package audit reads Puppet code without evaluating it, and reports what bolt cannot compile or apply: resource
// types, providers, functions, constructs of ERB templates, facts and functions of Hiera, with their places.
//
//	r, err := audit.Read(ctx, code, options)
//	r.AddNodes(compiled, refusals)
//	report := r.Report()
//
// Read has three steps. It reads all files of the code, and extracts from each class, defined type, function,
// template and node definition the names that it uses. Then it looks the names up as a compilation does. Last, it
// follows the names: a class needs everything that the classes, defined types, functions and templates that it
// reaches need.
//
// The package has no list of supported names. It uses the functions and types that environments of package
// environment have, and the types and facts in Options.
//
// Reading is an approximation. Branches for operating systems other than Linux are left out, and all other branches
// are read. Names that are computed are unknown. Compiled catalogs of nodes have neither limit.
package audit

import (
	"fmt"

	"bolt/environment"
	"bolt/modules"
	"bolt/puppet/syntax"
)

// A Need is the support that code needs. A higher Need is harder to fulfil.
type Need int

// The needs of code.
const (
	Nothing    Need = iota // bolt compiles and applies the code
	Modules                // modules that are not installed, so that they were not read
	Facts                  // facts that bolt's helper does not collect
	Engine                 // resources that only an installed Puppet can apply (--engine puppet)
	Compiler               // code that only Puppet can compile (--compiler puppet)
	Impossible             // code that neither can compile or apply, such as an unknown class
)

// Needs are all needs, in their order.
func Needs() []Need { return []Need{Nothing, Modules, Facts, Engine, Compiler, Impossible} }

// String returns the word for a need in JSON.
func (n Need) String() string {
	return [...]string{"supported", "modules", "facts", "engine", "compiler", "impossible"}[n]
}

// A Kind is the kind of a part of code.
type Kind string

// The kinds of parts.
const (
	KindType     Kind = "type"     // a resource type
	KindProvider Kind = "provider" // of a resource type: "package gem"
	KindParam    Kind = "parameter"
	KindFunction Kind = "function"
	KindERB      Kind = "erb"   // a construct of ERB templates
	KindFact     Kind = "fact"  // the name of a fact
	KindBackend  Kind = "hiera" // a function of a level in hiera.yaml
	KindClass    Kind = "class" // the name of a class
	KindTemplate Kind = "template"
	KindData     Kind = "data type"
	KindModule   Kind = "module" // a module that is not installed
	KindCode     Kind = "code"   // an error in a file, or of a compilation
)

// A Part is something that code uses: a type, a function …
type Part struct {
	Kind Kind
	Name string
	Need Need
	// Reason is the reason for the need, as the end of a sentence about the part; "" for Nothing.
	Reason string
	// Optional is set if the code needs the part only in branches. Then the part does not count in verdicts.
	Optional bool
}

// A Place is a line in a file. Line is 0 if it is unknown.
type Place struct {
	File string
	Line int
}

// String returns FILE:LINE.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Code is the code that is read.
type Code struct {
	Env     *environment.Environment
	Modules *modules.Path
	// Manifests are the files of the main manifests, and Hiera is the hiera.yaml of the environment; "" for none.
	Manifests []string
	Hiera     string
	// Only is the name of the module that is reported; "" for the whole code. Other modules are read as far as
	// this module uses them.
	Only string
	// Plans are files of plans outside of Modules.
	Plans []string
	// OnlyFiles is set if only Manifests and Plans are reported. Modules are read as far as these use them.
	OnlyFiles bool
}

// Options are the tables of the engine, which Read does not know.
type Options struct {
	// Applies reports whether bolt applies a resource type, by its capitalized name.
	Applies func(typ string) bool
	// Refuses returns the reason for which bolt does not apply resources of a type in Applies with a value of a
	// parameter; nil if it does.
	Refuses func(typ, param, value string) error
	// Facts are the names of the facts that are collected.
	Facts []string
	// YAMLPlan reads a plan in YAML.
	YAMLPlan func(name, file string, text []byte) (*syntax.Program, error)
	// Progress is called with the number of files that were read, from one goroutine; nil for none.
	Progress func(done, total int)
}
