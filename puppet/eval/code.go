package eval

import (
	"sync/atomic"

	"bolt/puppet/value"
)

// A node is a compiled expression.
type node interface {
	// eval returns the expression's value, which is never nil without an
	// error. Errors are *Error or *jump.
	eval(t *thread, s *Scope) (value.Value, error)
}

// A code is a compiled body with its parameters: a function's, a lambda's, a
// plan's, a template's, a class's. It is not written to after it is made, but
// for its cells.
type code struct {
	name    string // for stacks and messages
	at      pos
	params  []param
	min     int      // arguments that it needs
	max     int      // arguments that it takes; < 0: as many as come
	names   []string // of its local variables, parameters first
	body    node
	returns node // type of the result, or nil
	def     *Definition
	// misplaced is a parameter that must be given behind one that need not, and
	// taken one that has a reserved name; or < 0.
	misplaced, taken int
	// plain: there are no defaults, rest or types that change from call to
	// call, so that arguments only need to be checked.
	plain bool
	// typed: a parameter or the result has a type.
	typed bool
	// leaf: no lambda in it, so that its scope ends with the call.
	leaf bool
	// height is how many expressions in it stand in each other.
	height int
	types  atomic.Pointer[codeTypes]
}

type param struct {
	name  string
	at    pos
	typ   node // or nil
	fixed bool // typ is the same for every call
	value node // its default, or nil
	rest  bool

	defaultAt pos // of value
}

// codeTypes are the types of parameters and the result, evaluated for a world.
type codeTypes struct {
	w       *world
	params  []value.Type // nil: any; of a rest parameter its elements'
	lo, hi  int          // of the rest parameter; hi < 0: no limit
	returns value.Type   // nil: any
}

// A world is what names mean: a Library and the definitions of an Interp's
// own programs. It is not changed.
type world struct {
	lib  *Library
	defs map[defKey]*Definition // of its own; nil in a Library's
}

type defKey struct {
	kind Kind
	name string
}

// with returns the world with more definitions.
func (w *world) with(list []*Definition) *world {
	n := &world{lib: w.lib, defs: make(map[defKey]*Definition, len(w.defs)+len(list))}
	for k, d := range w.defs {
		n.defs[k] = d
	}
	for _, d := range list {
		n.defs[defKey{d.Kind, d.Name}] = d
	}
	return n
}

// find returns what a name in lower case stands for, nil without anything.
func (t *thread) find(kind Kind, name string) (*Definition, error) {
	name = lower(name)
	if d := t.w.defs[defKey{kind, name}]; d != nil {
		return d, nil
	}
	return t.w.lib.find(t, kind, name)
}

func (l *Library) find(t *thread, kind Kind, name string) (*Definition, error) {
	if kind == KindFunction {
		if d := l.functions[name]; d != nil {
			return d, nil
		}
	}
	if l.loader == nil {
		return nil, nil
	}
	return l.loader.Load(t.ctx, kind, name)
}

// compiled returns the compiled body of a definition.
func (d *Definition) compiled() *code {
	d.once.Do(func() {
		d.code = compileDefinition(d)
	})
	return d.code
}
