package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Builder makes a catalog from the resources that programs declare. Its
// methods are called by the thread that evaluates, in the order of evaluation.
// Titles, attributes and queries are evaluated already. With a Site, a Builder
// can evaluate further bodies of classes in the same run, with the same limits
// and the same stack. An error without a position gets the position of the
// expression.
//
// A Builder may keep s.Scope.Named(). It must not keep s or s.Scope, because
// local scopes are reused when their calls have ended.
type Builder interface {
	// Declare adds resources and returns references to them
	// (value.NewResourceRef, value.NewClassRef).
	Declare(s *Site, d *Declaration) ([]value.Value, error)
	// Default sets attributes for the resources of a type in s.Scope and in the
	// scopes inside it. It applies to the resources that are declared later.
	Default(s *Site, typeName string, attrs []Attribute) error
	// Override changes resources.
	Override(s *Site, o *Override) error
	// Collect registers a collector. The value that it returns stands for the
	// collector on a side of a relation.
	Collect(s *Site, c *Collector) (value.Value, error)
	// Relate orders the resources on the two sides. A side holds references and
	// values that Collect returned. With notify, targets are notified of
	// changes.
	Relate(s *Site, r *Relation) error
	// Parameter returns the present value of a parameter of a resource or
	// class. If the resource does not exist, found is false. If the resource
	// does not have the parameter, the error has the kind "unknown-parameter".
	Parameter(s *Site, typeName, title, name string) (v value.Value, found bool, err error)
}

// A Cataloger is a Builder with the operations that some functions of the
// language need. Without it, include, contain, require, realize, tag and tagged
// return an error.
type Cataloger interface {
	// Include evaluates the classes that are not evaluated yet. Names are in
	// lower case and without leading ::.
	Include(s *Site, how Inclusion, classes []string) error
	// Realize makes virtual resources real, including resources that are
	// declared later.
	Realize(s *Site, refs []Ref) error
	// Tag adds tags to the container, which is the class or resource of
	// s.Scope.
	Tag(s *Site, tags []string) error
	// Tagged reports whether the container or the catalog has all of the tags.
	Tagged(s *Site, tags []string) (bool, error)
}

// An Inclusion selects how classes are included.
type Inclusion uint8

// The inclusions of the functions include, contain and require.
const (
	Include Inclusion = iota
	Contain           // the container contains the classes
	Require           // the classes are applied before the container
)

// A Declaration is an evaluated resource expression.
type Declaration struct {
	Type string // in lower case; "class" for classes
	Form syntax.Form
	// Bodies have titles in the order of the source. The attributes of a body
	// with the title default are already merged into each body.
	Bodies []Body
	Pos    syntax.Position
}

// A Body is a set of resources with the same attributes.
type Body struct {
	Titles []string
	// NotStrings is set if the titles were values of other types, such as
	// numbers. create_resources() allows such titles, the language does not.
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

// An Override is X { attrs }, where X are references.
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

// A Collector is an evaluated Type <| query |> { attrs }.
type Collector struct {
	Type     string // in lower case
	Exported bool
	Query    Query // nil: all
	Attrs    []Attribute
	Pos      syntax.Position
}

// A Query selects the resources of a Collector. It is a *QueryCompare or a
// *QueryBool.
type Query interface{ query() }

// A QueryCompare is Name == Value. If Not is set, it is Name != Value.
type QueryCompare struct {
	Name  string // an attribute, "title" or "tag"
	Not   bool
	Value value.Value
}

// A QueryBool is X and Y. If Or is set, it is X or Y.
type QueryBool struct {
	Or   bool
	X, Y Query
}

func (*QueryCompare) query() {}
func (*QueryBool) query()    {}

// A Relation is Sources -> Targets. If Notify is set, it is Sources ~> Targets.
type Relation struct {
	// Sources and Targets are value.Types of resources and classes, or values
	// that Collect returned. They are in the order of the dependency, for both
	// directions of the arrow.
	Sources, Targets []value.Value
	// Left are the operands to the left of the arrow. If the right side is one
	// value of Collect and its collector collects nothing, the next relation of
	// a chain uses Left as its left side.
	Left   []value.Value
	Notify bool
	Pos    syntax.Position
}
