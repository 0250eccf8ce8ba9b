package eval

import (
	"errors"
	"sync/atomic"

	"bolt/puppet/value"
)

// A callNode is a call of a function, with or without the syntax of methods.
type callNode struct {
	pos
	name   string // as it is written
	key    string // as it is looked up
	args   items  // for a method, the receiver is the first
	from   tracer // the first argument, if it is a variable or a part of one
	lambda *code
	method bool
	cache  callCache
}

// A callCache caches the definition of a name.
type callCache struct {
	// many is set in the code of a Library, which many Interps use. Definitions
	// of an Interp are not cached then, because the Interps would replace each
	// other's entries.
	many   bool
	own    atomic.Pointer[ownCallee]    // in an Interp's own definitions
	shared atomic.Pointer[sharedCallee] // in a Library
}

type ownCallee struct {
	w *world
	d *Definition // nil: not defined there
}

type sharedCallee struct {
	lib *Library
	d   *Definition
}

// resolve returns the definition of a name, or nil if there is none.
func (c *callCache) resolve(t *thread, kind Kind, key string) (*Definition, error) {
	if w := t.w; w.defs != nil {
		if d := c.ofOwn(w, kind, key); d != nil {
			return d, nil
		}
	}
	lib := t.w.lib
	if shared := c.shared.Load(); shared != nil && shared.lib == lib {
		return shared.d, nil
	}
	d, err := lib.find(t, kind, key)
	if d != nil {
		c.shared.Store(&sharedCallee{lib, d})
	}
	return d, err
}

func (c *callCache) ofOwn(w *world, kind Kind, key string) *Definition {
	if c.many {
		return w.defs[defKey{kind, key}]
	}
	own := c.own.Load()
	if own == nil || own.w != w {
		own = &ownCallee{w, w.defs[defKey{kind, key}]}
		c.own.Store(own)
	}
	return own.d
}

func (n *callNode) eval(t *thread, s *Scope) (value.Value, error) {
	if n.method {
		return n.evalMethod(t, s)
	}
	d, err := n.cache.resolve(t, KindFunction, n.key)
	if err != nil {
		return nil, t.wrap(n.pos, err)
	}
	if d != nil && d.Function == nil && n.lambda == nil && n.args.splat == nil {
		return n.direct(t, s, d)
	}
	args, err := n.arguments(t, s, d)
	if err != nil {
		return nil, err
	}
	return n.invoke(t, s, d, args)
}

// direct calls a function that is written in the language. It evaluates the
// arguments into the variables of the function.
func (n *callNode) direct(t *thread, s *Scope, d *Definition) (value.Value, error) {
	c := d.compiled()
	if !c.plain || len(n.args.nodes) != len(c.params) {
		args, err := n.args.eval(t, s)
		if err != nil {
			return nil, err
		}
		return t.function(s, n.pos, d, args)
	}
	f := t.scope(c, nil, t.in.top.named)
	f.function = true
	for i, x := range n.args.nodes {
		v, err := x.eval(t, s)
		if err != nil {
			return nil, err
		}
		f.slots[i] = v
	}
	return t.enterFunction(n.pos, c, f)
}

func (n *callNode) evalMethod(t *thread, s *Scope) (value.Value, error) {
	var d *Definition
	if t.reads && n.from != nil {
		d, _ = n.cache.resolve(t, KindFunction, n.key) // the call below returns the error
	}
	args, err := n.arguments(t, s, d)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		if v, is, err := t.member(n, s, args); is || err != nil {
			return v, err
		}
	}
	if d, err = n.cache.resolve(t, KindFunction, n.key); err != nil {
		return nil, t.wrap(n.pos, err)
	}
	return n.invoke(t, s, d, args)
}

func (n *callNode) invoke(t *thread, s *Scope, d *Definition, args []value.Value) (value.Value, error) {
	if d == nil {
		if n.key == "new" {
			return t.create(n.pos, args)
		}
		return nil, t.unheard(n.pos, KindFunction, n.name)
	}
	block, err := n.block(t, s)
	if err != nil {
		return nil, err
	}
	return t.call(s, n.pos, n.name, d, args, block)
}

// block returns the lambda of the call, or nil without one.
func (n *callNode) block(t *thread, s *Scope) (*Closure, error) {
	if n.lambda == nil {
		return nil, nil
	}
	block := &Closure{code: n.lambda, scope: s, at: n.pos}
	return block, block.size(t)
}

// call calls a definition that was found.
func (t *thread) call(s *Scope, at pos, name string, d *Definition, args []value.Value, block *Closure) (value.Value, error) {
	if d.Function != nil {
		return t.native(s, at, name, d.Function, args, block)
	}
	if block != nil {
		return nil, t.fail(at, "type-mismatch", "function %s does not take a block", name)
	}
	return t.function(s, at, d, args)
}

// callNamed calls a function by its name.
func (t *thread) callNamed(s *Scope, at pos, name string, args []value.Value, block *Closure) (value.Value, error) {
	d, err := t.find(KindFunction, name)
	if err != nil {
		return nil, t.wrap(at, err)
	}
	if d == nil {
		return nil, t.unheard(at, KindFunction, name)
	}
	return t.call(s, at, name, d, args, block)
}

// function calls a function that is written in the language.
func (t *thread) function(s *Scope, at pos, d *Definition, args []value.Value) (value.Value, error) {
	c := d.compiled()
	f := t.scope(c, nil, t.in.top.named)
	f.function = true
	if c.plain && len(args) == len(c.params) {
		copy(f.slots, args)
		return t.enterFunction(at, c, f)
	}
	if err := t.enter(c.name, at, c); err != nil {
		return nil, err
	}
	var v value.Value
	err := t.spread(at, c, f, args)
	if err == nil {
		v, err = t.evalBody(at, c, f, len(args))
	}
	return t.leaveFunction(c, f, v, err)
}

// enterFunction checks the arguments in the scope of a function and evaluates
// its body.
func (t *thread) enterFunction(at pos, c *code, f *Scope) (value.Value, error) {
	if err := t.enter(c.name, at, c); err != nil {
		return nil, err
	}
	v, err := t.evalBody(at, c, f, len(c.params))
	return t.leaveFunction(c, f, v, err)
}

// leaveFunction ends a call. As in Puppet, the type of a value of return() is
// not checked.
func (t *thread) leaveFunction(c *code, f *Scope, v value.Value, err error) (value.Value, error) {
	t.leave(c)
	if err != nil {
		if j, is := err.(*jump); is && j.kind == jumpReturn {
			return j.value, nil
		}
		return nil, err
	}
	t.release(c, f)
	return v, nil
}

// evalBody checks the arguments, evaluates the body and checks the result. next
// ends the body. given is the number of arguments that were given; the other
// parameters have their defaults.
func (t *thread) evalBody(at pos, c *code, f *Scope, given int) (value.Value, error) {
	if c.typed {
		types, err := t.typesOf(c, f)
		if err != nil {
			return nil, err
		}
		if err := t.check(at, c, types, f, given); err != nil {
			return nil, err
		}
	}
	t.begin()
	v, err := c.body.eval(t, f)
	t.end()
	if err != nil {
		j, is := err.(*jump)
		if !is || j.kind != jumpNext {
			return nil, err
		}
		v = j.value
	}
	if c.returns != nil {
		return t.result(at, c, f, v)
	}
	return v, nil
}

// result checks the type of a result.
func (t *thread) result(at pos, c *code, f *Scope, v value.Value) (value.Value, error) {
	if c.returns == nil {
		return v, nil
	}
	types, err := t.typesOf(c, f)
	if err != nil {
		return nil, err
	}
	if r := types.returns; r != nil && !value.Instance(r, v) {
		return nil, t.fail(at, "type-mismatch", "%s", value.Mismatch("the value that "+c.title()+" returns", r, v))
	}
	return v, nil
}

// title returns the name of the code for messages.
func (c *code) title() string {
	if c.name == "lambda" {
		return "the block"
	}
	return c.name + "()"
}

// scope returns a local scope for a call.
func (t *thread) scope(c *code, outer *Scope, named *namedScope) *Scope {
	n := len(c.names)
	if c.leaf {
		if i := len(t.free) - 1; i >= 0 && cap(t.free[i].slots) >= n {
			f := t.free[i]
			t.free = t.free[:i]
			f.named, f.outer, f.names, f.slots = named, outer, c.names, f.slots[:n]
			return f
		}
	}
	if n <= 4 {
		f := &struct {
			Scope
			room [4]value.Value
		}{}
		f.named, f.outer, f.names, f.slots = named, outer, c.names, f.room[:n]
		return &f.Scope
	}
	return &Scope{named: named, outer: outer, names: c.names, slots: make([]value.Value, n)}
}

// release makes a scope available for reuse. Nothing refers to the scope: the
// body has no lambda, and functions do not keep the scope of their caller.
func (t *thread) release(c *code, f *Scope) {
	if !c.leaf || f.kept || len(t.free) >= 64 {
		return
	}
	clear(f.slots)
	f.match, f.function = nil, false
	t.free = append(t.free, f)
}

// call calls the block.
func (b *Closure) call(t *thread, args []value.Value) (value.Value, error) {
	if b.native != nil {
		return b.native(append([]value.Value(nil), args...)) // the copy lets args stay on the stack
	}
	c := b.code
	if err := t.enter(c.name, b.at, c); err != nil {
		return nil, err
	}
	f := t.scope(c, b.scope, b.scope.named)
	var err error
	if c.plain && len(args) == len(c.params) {
		copy(f.slots, args)
	} else {
		err = t.spread(b.at, c, f, args)
	}
	var v value.Value
	if err == nil {
		v, err = t.evalBody(b.at, c, f, len(args))
	}
	t.leave(c)
	if err != nil {
		return nil, err
	}
	t.release(c, f)
	return v, nil
}

// spread assigns arguments to parameters, including defaults and a rest
// parameter.
func (t *thread) spread(at pos, c *code, f *Scope, args []value.Value) error {
	if c.misplaced >= 0 {
		p := &c.params[c.misplaced]
		return t.fail(p.at, "parameter-order", "parameter $%s needs a value but stands behind one that does not", p.name)
	}
	if c.taken >= 0 {
		return t.fail(at, "reserved-variable", "parameter $%s of %s has a reserved name", c.params[c.taken].name, c.title())
	}
	// A block ignores additional arguments.
	if c.max >= 0 && len(args) > c.max && c.name != "lambda" {
		return t.mismatch(at, c, args)
	}
	for i := range c.params {
		p := &c.params[i]
		var v value.Value
		switch {
		case p.rest:
			rest := []value.Value{}
			if i < len(args) {
				rest = append(rest, args[i:]...)
			}
			given := len(rest) > 0
			if len(rest) == 1 {
				_, undef := rest[0].(value.Undef)
				given = !undef
			}
			if given || p.value == nil {
				v = value.NewArray(rest...)
				break
			}
			d, err := t.defaultOf(at, c, f, i)
			if err != nil {
				return err
			}
			if _, is := d.(*value.Array); !is {
				d = value.NewArray(d)
			}
			v = d
		case i < len(args):
			v = args[i]
		case p.value != nil:
			d, err := t.defaultOf(at, c, f, i)
			if err != nil {
				return err
			}
			v = d
		default:
			if c.name != "lambda" {
				return t.mismatch(at, c, args)
			}
			return t.fail(p.at, "missing-argument", "the block needs a value for its parameter $%s", p.name)
		}
		f.slots[i] = v
	}
	return nil
}

// defaultOf evaluates the default of parameter i.
func (t *thread) defaultOf(at pos, c *code, f *Scope, i int) (value.Value, error) {
	match := f.match
	v, err := c.params[i].value.eval(t, f)
	f.match = match
	var unset *unsetParam
	if err != nil && errors.As(err, &unset) {
		if c.def != nil && c.def.Kind == KindPlan && c.name == c.def.Name {
			return nil, &UnsetParameter{Plan: c.name, Default: c.params[i].name, Name: unset.name, Later: unset.slot >= i}
		}
		if unset.slot < i {
			return nil, t.fail(at, "missing-argument", "%s: parameter $%s needs a value", c.title(), unset.name)
		}
		return nil, t.fail(at, "parameter-order", "%s: the default of $%s reads $%s, which has no value yet", c.title(), c.params[i].name, unset.name)
	}
	return v, err
}
