package eval

import (
	"sync/atomic"

	"bolt/puppet/value"
)

// A node is a compiled expression.
type node interface {
	// eval returns the value of the expression. Without an error, the value is
	// not nil. An error is an *Error or a *jump.
	eval(t *thread, s *Scope) (value.Value, error)
}

// A code is a compiled body with its parameters. It belongs to a function, a
// lambda, a plan, a template or a class. After it is made, only its atomic
// fields change.
type code struct {
	name    string // for stacks and messages
	at      pos
	params  []param
	min     int      // smallest number of arguments
	max     int      // largest number of arguments; < 0: no maximum
	names   []string // of the local variables, parameters first
	body    node
	returns node // type of the result, or nil
	def     *Definition
	// misplaced is the index of a required parameter after an optional one.
	// taken is the index of a parameter with a reserved name. Without such a
	// parameter, they are < 0.
	misplaced, taken int
	// plain is set if the parameters have neither defaults, nor a rest
	// parameter, nor types that change from call to call. Then arguments only
	// need to be checked.
	plain bool
	// typed is set if a parameter or the result has a type.
	typed bool
	// leaf is set if the body has no lambda, so that its scope ends with the
	// call.
	leaf bool
	// height is the depth to which its expressions are nested.
	height int
	types  atomic.Pointer[codeTypes]
}

type param struct {
	name  string
	at    pos
	typ   node // or nil
	fixed bool // typ is the same for every call
	value node // the default, or nil
	rest  bool

	defaultAt pos // of value
}

// codeTypes are the types of parameters and the result, evaluated for a world.
type codeTypes struct {
	w       *world
	params  []value.Type // nil: any; for a rest parameter, the type of its elements
	lo, hi  int          // of the rest parameter; hi < 0: no limit
	returns value.Type   // nil: any
}

// A world maps names to definitions: those of a Library and those of the
// programs of an Interp. It is immutable.
type world struct {
	lib  *Library
	defs map[defKey]*Definition // of the Interp; nil in the world of a Library
}

type defKey struct {
	kind Kind
	name string
}

// with returns a copy of the world with more definitions.
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

// find returns the definition of a name, or nil if there is none. Upper case in
// the name does not matter.
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
