// Package hocon reads HOCON (https://github.com/lightbend/config/blob/main/HOCON.md)
// into plain ordered values: nil, bool, int64, float64, string, []any and
// *ordered.Map.
//
// Decode parses text and resolves its substitutions, as the ruby-hocon
// library does for Puppet's hocon_data: objects of one key are merged with
// the newer one's keys first, += appends, ${path} looks in the document and
// then in the environment that Options give it, include finds nothing. It
// follows that library where it departs from the specification: a number may
// be octal (010 is 8), [1] followed by unquoted text is the list alone.
//
// Documents are limited in depth and in what substitutions may make of them,
// so that hostile text ends with an error. Errors are *Error.
package hocon

import (
	"fmt"

	"bolt/internal/ordered"
)

// Limits on a document. Nobody writes one so deep or so large; text that would
// exceed them is made to.
const (
	maxDepth = 200
	maxSize  = 1 << 22 // of all values and bytes of strings that substitutions repeat
)

// Error says why text is not HOCON, or what a substitution lacks.
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

// Options change how text is read; the zero value is ready.
type Options struct {
	// Getenv gives substitutions that the document does not satisfy. Nil:
	// there are no variables.
	Getenv func(name string) (string, bool)
}

// Decode reads data, whose root must be an object; empty text is an empty one.
// file is for messages.
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

// A node is a value that may hold substitutions yet.
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
	// scalar is nil, bool, int64, float64 or string. text is how it joins
	// with others; bare that it is an unquoted string.
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
	// merge is a field that was given more than once, the newest value first,
	// and at least one is a substitution.
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

// open tells whether n may become an object.
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

// over lays a newer value on an older one.
func over(newer, older node) node {
	if older == nil {
		return newer
	}
	switch n := newer.(type) {
	case *object:
		switch o := older.(type) {
		case *object:
			return overObject(n, o)
		case *ref, *concat:
			return &merge{n.line, []node{n, o}}
		case *merge:
			return &merge{n.line, append([]node{n}, o.stack...)}
		}
		return n
	case *ref, *concat:
		if o, ok := older.(*merge); ok {
			return &merge{n.at(), append([]node{n}, o.stack...)}
		}
		return &merge{n.at(), []node{n, older}}
	case *merge:
		stack := append([]node(nil), n.stack...)
		if o, ok := older.(*merge); ok {
			return &merge{n.line, append(stack, o.stack...)}
		}
		return &merge{n.line, append(stack, older)}
	}
	return newer
}

func overObject(newer, older *object) *object {
	m := newObject(newer.line)
	for _, k := range newer.keys {
		m.set(k, over(newer.fields[k], older.fields[k]))
	}
	for _, k := range older.keys {
		if _, ok := m.fields[k]; !ok {
			m.set(k, older.fields[k])
		}
	}
	return m
}
