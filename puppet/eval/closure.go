package eval

import "bolt/puppet/value"

// A Closure is a lambda with the scope that it was written in, or a Go function
// in place of a lambda.
type Closure struct {
	code  *code
	scope *Scope
	at    pos // position of the call that the block belongs to

	native   func(args []value.Value) (value.Value, error)
	min, max int // the arity of native, or of a block whose rest parameter has a type with a size
	sized    bool
}

// NewBlock returns a block that is implemented in Go. It takes from min to max
// arguments. If max < 0, the number is unlimited.
func NewBlock(min, max int, f func(args []value.Value) (value.Value, error)) *Closure {
	return &Closure{native: f, min: min, max: max}
}

// Arity returns the smallest and the largest number of arguments of the block.
// If max < 0, the number is unlimited.
func (b *Closure) Arity() (min, max int) {
	if b.native != nil || b.sized {
		return b.min, b.max
	}
	return b.code.min, b.code.max
}

// size sets the arity of a block whose last parameter has a type such as
// Array[T, 1, 3] *$x.
func (b *Closure) size(t *thread) error {
	c := b.code
	last := len(c.params) - 1
	if last < 0 || !c.params[last].rest || c.params[last].typ == nil {
		return nil
	}
	types, err := t.typesOf(c, &Scope{outer: b.scope, named: b.scope.named})
	if err != nil {
		return err
	}
	b.sized, b.min, b.max = true, c.min+types.lo, -1
	if types.hi >= 0 {
		b.max = last + types.hi
	}
	return nil
}

// Params returns the names of the parameters.
func (b *Closure) Params() []string {
	if b.native != nil {
		return nil
	}
	names := make([]string, len(b.code.params))
	for i := range b.code.params {
		names[i] = b.code.params[i].name
	}
	return names
}

// Type returns the block's type, a Callable.
func (b *Closure) Type(s *Site) (value.Type, error) { return b.callable(s.t) }
