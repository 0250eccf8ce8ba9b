// Package hocon reads HOCON (https://github.com/lightbend/config/blob/main/HOCON.md)
// into plain ordered values: nil, bool, int64, *big.Int (what does not fit
// int64), float64, string, []any and *ordered.Map.
//
// Decode parses text and resolves its substitutions, as the ruby-hocon
// library does for Puppet's hocon_data: objects of one key are merged with
// the newer one's keys first, += appends, ${path} looks in the document and
// then in the environment that Options give it, include finds nothing or, as
// include file("…"), is refused. It follows that library where it departs from the specification: a number may
// be octal (010 is 8), [1] followed by unquoted text is the list alone.
//
// Documents are limited in depth, in length and in what substitutions may make
// of them, and reading one takes time in proportion to that: hostile text ends
// with an error. Errors are *Error.
package hocon

import (
	"fmt"
	"slices"

	"bolt/format/ordered"
)

// Limits on a document. Nobody writes one so deep or so large; text that would
// exceed them is made to.
const (
	maxDepth  = 200
	maxDigits = 4096
	maxTokens = 1 << 20
	maxSize   = 1 << 22 // of all values and bytes of strings that substitutions repeat
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
	// scalar is nil, bool, int64, *big.Int, float64 or string. text is how it joins
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

// closed tells whether n hides all that is older.
func closed(n node) bool {
	switch n.(type) {
	case *scalar, *list:
		return true
	}
	return false
}

// over lays values on each other, of which there is one at least, the newest
// first: what the older ones make is beneath each. It takes time in proportion
// to what they hold.
func over(values []node) node {
	for i, v := range values {
		if !closed(v) {
			continue
		}
		if values = values[:i+1]; i > 0 && !open(values[i-1]) {
			values = values[:i] // an object wants nothing of it
		}
		break
	}
	// What stands below the oldest substitution can be merged now.
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

// overResolved is over with another sense: what the newer ones make is laid on
// each, so an object beneath a plain value, that an object is on, comes through.
// The original does so with what it merges after substitution.
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

// overObjects merges objects, the newest first, with fold for what they have
// under one key. Keys of the newest come first.
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
