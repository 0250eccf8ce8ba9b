package eval

import (
	"context"
	"errors"
	"sync"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Kind says what a name stands for.
type Kind uint8

// What a Loader can be asked for.
const (
	KindFunction Kind = iota
	KindType          // type aliases, Object types, and others in Go
	KindClass
	KindDefine
	KindPlan
	KindTask
	KindResourceType // types of resources that are not defined in the language: file
	KindNode         // only in Interp.Nodes
)

var kindNames = [...]string{"function", "type", "class", "define", "plan", "task", "resource type", "node"}

// String returns the kind in words.
func (k Kind) String() string { return kindNames[k] }

// ErrForeign is what is there but cannot be used, being written in another
// language. Calls of it are errors; who only asks whether it is there takes it
// for absent.
var ErrForeign = errors.New("it is written in another language")

// A Loader finds what modules define.
type Loader interface {
	// Load returns what a qualified name in lower case, without leading ::,
	// stands for; nil and nil when there is none. It returns the same
	// *Definition each time (it caches; a Library and the call sites do too),
	// and is safe for many goroutines. What is there, but in another language,
	// is an error that is ErrForeign.
	Load(ctx context.Context, kind Kind, name string) (*Definition, error)
}

// A Definition is a function, a type, a class, a define, a plan, a node or a
// type of resources. It is not changed after it has been given to a Library
// or an Interp, and must not be copied.
type Definition struct {
	Kind   Kind
	Name   string // qualified, in lower case
	Module string // the module it is in; "" outside of modules

	// Program and Node are where and what it is, for all that is written in
	// the language: *syntax.Function, *syntax.TypeAlias, *syntax.Class,
	// *syntax.Define, *syntax.Plan or *syntax.NodeDef.
	Program *syntax.Program
	Node    syntax.Expr

	// Function is a function or a plan in Go, nil for others.
	Function *Function
	// Type is a type that was made in Go, nil for others.
	Type value.Type
	// Data is for the Loader's and the Builder's own use (a task's metadata).
	Data any

	own  bool // of an Interp's own program, not of a Library
	once sync.Once
	code *code // Node, compiled
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

// Params returns the parameters of what is written in the language.
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

// A Library is what programs can name. It is safe for many goroutines and
// made to be shared by many Interps.
type Library struct {
	loader    Loader
	functions map[string]*Definition
	world     *world     // without definitions of a program's own
	types     sync.Mutex // held while types are published; nothing is evaluated under it
}

// NewLibrary returns a library of functions and, when loader is not nil, of
// what that finds. A name that a function of the list has is not asked of the
// loader; of two functions with one name the later stands.
func NewLibrary(loader Loader, functions ...*Function) *Library {
	l := &Library{loader: loader, functions: make(map[string]*Definition, len(functions))}
	for _, f := range functions {
		l.functions[f.Name] = &Definition{Kind: KindFunction, Name: f.Name, Function: f}
	}
	l.world = &world{lib: l}
	return l
}
