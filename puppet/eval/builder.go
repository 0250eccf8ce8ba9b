package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Builder makes a catalog of what programs declare. Its methods are called
// by the thread that evaluates, in the order of evaluation; titles, attributes
// and queries are evaluated already. A Site lets a Builder evaluate further
// (bodies of classes) as part of the same run, with the same limits and stack.
// An error without a position gets that of the expression.
//
// A Builder may keep s.Scope.Named(), not s itself and not s.Scope: local scopes
// are used again when what they belong to is done.
type Builder interface {
	// Declare adds resources and returns references to them
	// (value.NewResourceRef, value.NewClassRef).
	Declare(s *Site, d *Declaration) ([]value.Value, error)
	// Default sets attributes for resources of a type, from here on and
	// inwards: s.Scope says where.
	Default(s *Site, typeName string, attrs []Attribute) error
	// Override changes resources.
	Override(s *Site, o *Override) error
	// Collect remembers a collector. The value it returns stands for it on a
	// side of a relation.
	Collect(s *Site, c *Collector) (value.Value, error)
	// Relate orders what is on the two sides: references, and values that
	// Collect returned. With notify, targets are told of changes.
	Relate(s *Site, r *Relation) error
	// Parameter returns the value that a parameter of a resource or class has
	// now. found is false if there is no such resource; an error of kind
	// "unknown-parameter" tells that it has no such parameter.
	Parameter(s *Site, typeName, title, name string) (v value.Value, found bool, err error)
}

// A Cataloger is a Builder that can do what functions of the language ask for.
// Without it include, contain, require, realize, tag and tagged are refused.
type Cataloger interface {
	// Include evaluates those of the classes that have not been evaluated yet.
	// Names are in lower case and without leading ::.
	Include(s *Site, how Inclusion, classes []string) error
	// Realize makes virtual resources real, also those that are declared later.
	Realize(s *Site, refs []Ref) error
	// Tag adds tags to the container: the class or resource that s.Scope is of.
	Tag(s *Site, tags []string) error
	// Tagged tells whether the container or the catalog has all of the tags.
	Tagged(s *Site, tags []string) (bool, error)
}

// An Inclusion says what becomes of classes that are included.
type Inclusion uint8

// What include, contain and require do.
const (
	Include Inclusion = iota
	Contain           // the container contains them
	Require           // they are applied before the container
)

// A Declaration is a resource expression, evaluated.
type Declaration struct {
	Type string // in lower case; "class" for classes
	Form syntax.Form
	// Bodies have titles in the order of the text. Attributes of a body
	// default: are merged into each already.
	Bodies []Body
	Pos    syntax.Position
}

// A Body is resources with the same attributes.
type Body struct {
	Titles []string
	// NotStrings is set if the titles were values of other types, such as numbers.
	// create_resources() allows them, the language does not.
	NotStrings bool
	Attrs      []Attribute // each name once
	Pos        syntax.Position
}

// An Attribute is a parameter of a resource with its value.
type Attribute struct {
	Name  string
	Value value.Value
	Add   bool // +>
	Pos   syntax.Position
}

// An Override is X { attrs } where X is references.
type Override struct {
	Refs  []Ref
	Attrs []Attribute
	Form  syntax.Form
	Pos   syntax.Position
}

// A Ref names a resource.
type Ref struct {
	Type  string // in lower case
	Title string
}

// A Collector is Type <| query |> { attrs }, evaluated.
type Collector struct {
	Type     string // in lower case
	Exported bool
	Query    Query // nil: all
	Attrs    []Attribute
	Pos      syntax.Position
}

// A Query says which resources a Collector collects: a *QueryCompare or a
// *QueryBool.
type Query interface{ query() }

// A QueryCompare is Name == Value, or Name != Value with Not.
type QueryCompare struct {
	Name  string // an attribute, "title" or "tag"
	Not   bool
	Value value.Value
}

// A QueryBool is X and Y, or X or Y with Or.
type QueryBool struct {
	Or   bool
	X, Y Query
}

func (*QueryCompare) query() {}
func (*QueryBool) query()    {}

// A Relation is Sources -> Targets, or ~> with Notify.
type Relation struct {
	// Sources and Targets are value.Types of resources and classes, or values
	// that Collect has returned. They are in the order of the dependency,
	// whichever way the arrow was written.
	Sources, Targets []value.Value
	// Left are the operands on the left of the arrow. When the right side is
	// one value that Collect has returned, and the collector turns out to be
	// empty, the next relation of a chain is with these.
	Left   []value.Value
	Notify bool
	Pos    syntax.Position
}
