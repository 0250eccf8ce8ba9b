// Package value holds the values of the Puppet language and its type system.
//
// A [Value] is one of a closed set of kinds. It is immutable, so that
// goroutines can share values without copies. Types are values, too: see
// [Type].
//
// The operators of the language are functions: [Equal] is ==, [Compare] is <
// and >, [Instance] is =~ with a type, [Assignable] is <= of types, and
// [Truthy] is the condition of an if. [Infer] and [InferDetailed] return the
// types that the function type returns. [Parametrize] is [] on a type, [New]
// converts values, and [Format] and [ToString] format values.
//
// The package only computes: it does not read files, clocks or the environment.
// It follows Puppet 8. Differences are marked with comments that begin with
// "Differs from Puppet:".
package value

// A Value is a value of the language. Only the types of this package that have
// a value method are values. A nil Value is not a valid value; see [Undef].
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
	// Int is an integer.
	Int int64
	// Float is a floating-point number.
	Float float64
	// String is a string in UTF-8.
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

// Limits for arrays and hashes. An array or a hash that exceeds them is not
// equal to any value, is an instance of no type but Any, and is inferred as
// Any. Therefore no function of this package overflows the stack or runs
// without end. [Measure] returns the size in advance.
const (
	MaxDepth = 5000    // depth of nested arrays and hashes
	MaxNodes = 1 << 27 // number of values in them, counted as often as they occur
)

// shape is the size of an array, a hash or an object.
type shape struct {
	depth int32
	nodes int64
}

// Measure returns the depth of nested arrays, hashes and objects in v (0 for a
// number, 1 for [1], 2 for [[1]]) and the number of all values. A value that
// occurs twice counts twice. Measure takes constant time.
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

// add adds the size of v to a shape that is not closed yet.
func (s *shape) add(v Value) {
	c := shapeOf(v)
	s.depth = max(s.depth, c.depth)
	s.nodes = min(s.nodes+c.nodes, 1<<62)
}

// close returns the shape of a collection of the added values.
func (s shape) close() shape { return shape{s.depth + 1, s.nodes + 1} }

// tooBig reports whether the shape exceeds the limits.
func (s shape) tooBig() bool { return s.depth > MaxDepth || s.nodes > MaxNodes }

// Truthy reports whether v is true in a condition. All values except undef and
// false are true.
func Truthy(v Value) bool {
	switch v := v.(type) {
	case Undef:
		return false
	case Bool:
		return bool(v)
	}
	return true
}

// A Runtime is a value of the host, which the language can only pass on.
type Runtime struct {
	Runtime string // "go", or "ruby" for names of Puppet
	Name    string // of its type
	Value   any
}
