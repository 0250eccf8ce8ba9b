// Package value holds the values of the Puppet language and its type system.
//
// A [Value] is one of a closed set of kinds and never changes once it is made,
// so that values may be shared by goroutines and need no copies. Types are
// values too: see [Type].
//
// What the operators of the language do is here as functions: [Equal] is ==,
// [Compare] is < and >, [Instance] is =~ with a type, [Assignable] is <= of
// types, [Truthy] decides an if. [Infer] and [InferDetailed] are what the
// function type says of a value, [Parametrize] is what [] does to a type, [New]
// converts, [Format] and [ToString] write text.
//
// The package does nothing but compute: it reads no files, no clocks and no
// environment. It follows Puppet 8; where it does not, a comment says "Differs
// from Puppet:".
package value

// A Value is a value of the language. The types of this package that have a
// value method are all there are; a nil Value is not one of them: [Undef] is.
type Value interface {
	value()
}

// The kinds that are plain Go values.
type (
	// Undef is the value undef.
	Undef struct{}
	// Default is the value default.
	Default struct{}
	// Bool is true or false.
	Bool bool
	// Int is a whole number.
	Int int64
	// Float is a number with a fraction.
	Float float64
	// String is a text in UTF-8.
	String string
)

func (Undef) value()     {}
func (Default) value()   {}
func (Bool) value()      {}
func (Int) value()       {}
func (Float) value()     {}
func (String) value()    {}
func (*Array) value()    {}
func (*Hash) value()     {}
func (*Regexp) value()   {}
func (*Iterator) value() {}
func (*Runtime) value()  {}
func (*Object) value()   {}

// Limits of what is looked through. Arrays and hashes beyond them are equal to
// nothing, instances of no type but Any and inferred as Any, so that no function
// of this package exhausts the stack or goes on for ever; [Measure] tells in
// advance.
const (
	MaxDepth = 5000    // arrays and hashes in each other
	MaxNodes = 1 << 27 // values in them, counted as often as they occur
)

// shape is the size of an array, a hash or an object.
type shape struct {
	depth int32
	nodes int64
}

// Measure returns how many arrays, hashes and objects stand in each other in v
// (none in a number, one in [1], two in [[1]]) and how many values there are in
// all. A value that occurs twice counts twice. It takes no time.
func Measure(v Value) (depth, nodes int) {
	s := shapeOf(v)
	return int(s.depth), int(s.nodes)
}

// IsUndef reports whether v is undef.
func IsUndef(v Value) bool {
	_, ok := v.(Undef)
	return ok
}

func shapeOf(v Value) shape {
	switch v := v.(type) {
	case *Array:
		return v.shape
	case *Hash:
		return v.shape
	case *Object:
		return v.shape
	case *Sensitive:
		return shapeOf(v.v)
	}
	return shape{0, 1}
}

// add makes room for v in a shape that is yet to be closed.
func (s *shape) add(v Value) {
	c := shapeOf(v)
	s.depth = max(s.depth, c.depth)
	s.nodes = min(s.nodes+c.nodes, 1<<62)
}

// close returns the shape of what has the values that were added.
func (s shape) close() shape { return shape{s.depth + 1, s.nodes + 1} }

// tooBig reports whether it is beyond the limits.
func (s shape) tooBig() bool { return s.depth > MaxDepth || s.nodes > MaxNodes }

// Truthy reports whether v counts as true in a condition: all values do but
// undef and false.
func Truthy(v Value) bool {
	switch v := v.(type) {
	case Undef:
		return false
	case Bool:
		return bool(v)
	}
	return true
}

// A Runtime is a value of the program around the language, which the language
// can pass on and no more.
type Runtime struct {
	Runtime string // "go", or "ruby" for names of the original
	Name    string // of its type
	Value   any
}
