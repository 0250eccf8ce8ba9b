package eval

import (
	"context"
	"errors"
	"sync"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Kind is the kind of a definition.
type Kind uint8

// The kinds that a Loader can load.
const (
	KindFunction Kind = iota
	KindType          // type aliases, Object types, and types made in Go
	KindClass
	KindDefine
	KindPlan
	KindTask
	KindResourceType // resource types that are not written in the language, such as file
	KindNode         // only in Interp.Nodes
)

var kindNames = [...]string{"function", "type", "class", "define", "plan", "task", "resource type", "node"}

// String returns the kind in words.
func (k Kind) String() string { return kindNames[k] }

// ErrForeign is the error for a definition that exists but is written in
// another language, so that it cannot be used. A call of it is an error.
// Callers that only check for existence treat it as absent.
var ErrForeign = errors.New("it is written in another language")

// A Loader finds the definitions in modules.
type Loader interface {
	// Load returns the definition of a qualified name, which is in lower case
	// and without leading ::. If there is none, it returns nil and nil. It
	// returns the same *Definition each time; it caches, as do a Library and
	// the call sites. It is safe for concurrent use. If the definition is
	// written in another language, the error is ErrForeign.
	Load(ctx context.Context, kind Kind, name string) (*Definition, error)
}

// A Definition is a function, a type, a class, a define, a plan, a node or a
// resource type. It must not be copied, and must not change after it is given
// to a Library or an Interp.
type Definition struct {
	Kind   Kind
	Name   string // qualified, in lower case
	Module string // module that contains it; "" outside of modules

	// Program and Node are the source of a definition that is written in the
	// language: *syntax.Function, *syntax.TypeAlias, *syntax.Class,
	// *syntax.Define, *syntax.Plan or *syntax.NodeDef.
	Program *syntax.Program
	Node    syntax.Expr

	// Function is a function or a plan that is implemented in Go, otherwise
	// nil.
	Function *Function
	// Type is a type that was made in Go, otherwise nil.
	Type value.Type
	// Data is for the Loader and the Builder, such as the metadata of a task.
	Data any

	own  bool // of a program of an Interp, not of a Library
	once sync.Once
	code *code // compiled Node
	typ  typeCell
}

// Definitions returns the definitions of a program, outer ones first.
func Definitions(p *syntax.Program, module string) []*Definition {
	var list []*Definition
	for _, x := range p.Definitions {
		if d := definitionOf(p, x, module); d != nil {
			list = append(list, d)
		}
	}
	return list
}

func definitionOf(p *syntax.Program, x syntax.Expr, module string) *Definition {
	d := &Definition{Module: module, Program: p, Node: x}
	switch x := x.(type) {
	case *syntax.Function:
		d.Kind, d.Name = KindFunction, x.Name
	case *syntax.TypeAlias:
		d.Kind, d.Name = KindType, x.Name
	case *syntax.Class:
		d.Kind, d.Name = KindClass, x.Name
	case *syntax.Define:
		d.Kind, d.Name = KindDefine, x.Name
	case *syntax.Plan:
		d.Kind, d.Name = KindPlan, x.Name
	case *syntax.NodeDef:
		d.Kind = KindNode
	default:
		return nil
	}
	d.Name = lower(d.Name)
	return d
}

// Params returns the parameters of a definition that is written in the
// language.
func (d *Definition) Params() []*syntax.Param {
	switch x := d.Node.(type) {
	case *syntax.Function:
		return x.Params
	case *syntax.Class:
		return x.Params
	case *syntax.Define:
		return x.Params
	case *syntax.Plan:
		return x.Params
	}
	return nil
}

// A Library holds the definitions that programs can use. It is safe for
// concurrent use, and many Interps can share it.
type Library struct {
	loader    Loader
	functions map[string]*Definition
	world     *world     // without the definitions of programs
	types     sync.Mutex // held while types are published; nothing is evaluated while it is held
}

// NewLibrary returns a library of functions and of the definitions that loader
// finds. loader can be nil. If a function of the list has a name, the loader is
// not queried for it. If two functions have the same name, the library uses the
// later one.
func NewLibrary(loader Loader, functions ...*Function) *Library {
	l := &Library{loader: loader, functions: make(map[string]*Definition, len(functions))}
	for _, f := range functions {
		l.functions[f.Name] = &Definition{Kind: KindFunction, Name: f.Name, Function: f}
	}
	l.world = &world{lib: l}
	return l
}
