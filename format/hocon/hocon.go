// Package hocon reads HOCON (https://github.com/lightbend/config/blob/main/HOCON.md) into plain ordered
// values: nil, bool, int64, *big.Int (integers that do not fit int64), float64, string, []any and
// *ordered.Map.
//
// Decode parses text and resolves its substitutions, as the ruby-hocon library does for Puppet's hocon_data.
// Objects of one key are merged, with the keys of the newer object first, and += appends. ${path} is looked
// up in the document and then in the environment of Options. include finds nothing; include file("…") is an
// error. If the library differs from the specification, this package follows the library: a number may be
// octal (010 is 8), and [1] followed by unquoted text is the list alone.
//
// Documents are limited in depth, in length and in the size of the data that substitutions make. The time to
// read a document is proportional to these, so hostile text ends with an error. Errors are *Error.
package hocon

import (
	"fmt"
	"slices"

	"bolt/format/ordered"
)

// Limits on a document. A document written by hand does not reach them.
const (
	maxDepth  = 200
	maxDigits = 4096
	maxTokens = 1 << 20
	maxSize   = 1 << 22 // of all values and bytes of strings that substitutions repeat
)

// Error describes a syntax error, or a substitution that cannot be resolved.
type Error struct {
	File    string // name for messages, "" if there is none
	Line    int    // from 1; 0 if it is not known
	Problem string
}

func (e *Error) Error() string {
	name := e.File
	if name == "" {
		name = "HOCON"
	}
	if e.Line > 0 {
		return fmt.Sprintf("parse %s, line %d: %s", name, e.Line, e.Problem)
	}
	return fmt.Sprintf("parse %s: %s", name, e.Problem)
}

// Options configure Decode. The zero value is ready to use.
type Options struct {
	// Getenv returns the values of substitutions that the document does not define. If it is nil,
	// there are no variables.
	Getenv func(name string) (string, bool)
}

// Decode reads data, whose root must be an object. Empty text is an empty object. file is the name
// in messages.
func Decode(data []byte, file string, o Options) (*ordered.Map, error) {
	root, err := parse(string(data))
	if err == nil {
		var m *ordered.Map
		if m, err = resolve(root, o); err == nil {
			return m, nil
		}
	}
	if e, ok := err.(*Error); ok {
		e.File = file
	}
	return nil, err
}

// A node is a value that can still contain substitutions.
type node interface{ at() int }

type (
	// object keeps the order of its keys.
	object struct {
		line   int
		keys   []string
		fields map[string]node
	}
	list struct {
		line  int
		elems []node
	}
	// scalar is nil, bool, int64, *big.Int, float64 or string. text is its form when it is joined
	// with others. bare marks an unquoted string.
	scalar struct {
		line int
		v    any
		text string
		bare bool
	}
	ref struct {
		line     int
		path     []string
		optional bool
	}
	// concat joins pieces, at least one of which is a substitution.
	concat struct {
		line   int
		pieces []node
	}
	// merge is a field with several values, the newest first. At least one of them is a
	// substitution.
	merge struct {
		line  int
		stack []node
	}
)

func (n *object) at() int { return n.line }
func (n *list) at() int   { return n.line }
func (n *scalar) at() int { return n.line }
func (n *ref) at() int    { return n.line }
func (n *concat) at() int { return n.line }
func (n *merge) at() int  { return n.line }

// open reports whether n can become an object.
func open(n node) bool {
	switch n.(type) {
	case *ref, *concat, *merge:
		return true
	}
	return false
}

func newObject(line int) *object { return &object{line: line, fields: map[string]node{}} }

func (o *object) set(key string, n node) {
	if _, ok := o.fields[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.fields[key] = n
}

// closed reports whether n hides all older values.
func closed(n node) bool {
	switch n.(type) {
	case *scalar, *list:
		return true
	}
	return false
}

// over merges values, at least one, the newest first: each value is laid over the result of the
// older ones. The time is proportional to the size of the values.
func over(values []node) node {
	for i, v := range values {
		if !closed(v) {
			continue
		}
		if values = values[:i+1]; i > 0 && !open(values[i-1]) {
			values = values[:i] // an object does not use it
		}
		break
	}
	// The values below the oldest substitution can be merged now.
	n := len(values)
	for n > 0 && !open(values[n-1]) {
		n--
	}
	below := values[n:]
	if len(below) > 1 {
		below = []node{overObjects(below, over)}
	}
	return stack(values[:n], below)
}

// overResolved is over in the other direction: the result of the newer values is laid over each
// older value. So an object beneath a plain value, with another object above it, takes effect. The
// original does this when it merges after substitution.
func overResolved(values []node) node {
	if closed(values[0]) {
		return values[0]
	}
	n := 0
	var objects []node
	for ; n < len(values) && !open(values[n]); n++ {
		if !closed(values[n]) {
			objects = append(objects, values[n])
		}
	}
	if len(objects) > 1 {
		objects = []node{overObjects(objects, overResolved)}
	}
	return stack(objects, values[n:])
}

// stack returns values that cannot be merged yet, the newest first.
func stack(newer, older []node) node {
	all := slices.Concat(newer, older)
	if len(all) == 1 {
		return all[0]
	}
	m := &merge{line: all[0].at()}
	for _, v := range all {
		if inner, ok := v.(*merge); ok {
			m.stack = append(m.stack, inner.stack...)
		} else {
			m.stack = append(m.stack, v)
		}
	}
	return m
}

// overObjects merges objects, the newest first. fold merges their values of one key. Keys of the
// newest object come first.
func overObjects(objects []node, fold func([]node) node) *object {
	m := newObject(objects[0].at())
	values := map[string][]node{}
	for _, n := range objects {
		o := n.(*object)
		for _, k := range o.keys {
			if values[k] == nil {
				m.keys = append(m.keys, k)
			}
			values[k] = append(values[k], o.fields[k])
		}
	}
	for _, k := range m.keys {
		m.fields[k] = fold(values[k])
	}
	return m
}
