package eval

import (
	"sync/atomic"

	"bolt/puppet/value"
)

// A Function is a function (or a plan) that is implemented in Go. It must not
// be copied, and must not change after it is added to a Library.
type Function struct {
	Name string // qualified, in lower case
	Doc  string // a description of one paragraph
	// Signatures are tried in order. The first one that fits the arguments
	// runs.
	Signatures []Signature
	// Catalog marks functions that need a catalog (include, realize). Without a
	// Builder, or with the rules of plans, a call of them is an error.
	Catalog bool

	// Path returns the keys, one inside the other, by which the function looks into its
	// first argument, if it uses no other part of that. nil: it may use all of it. The
	// arguments need not fit a signature. It is for Env.Read.
	Path func(args []value.Value) []value.Value

	parsed atomic.Pointer[[]signature] // Signatures, parsed
}

// A Signature is one way to call a Function.
type Signature struct {
	// Params have the syntax of the parameters of a lambda:
	//
	//	Array $list, Integer[0] $n = 1, String *$rest
	//
	// A parameter with a default can be omitted. Then Call.Args is shorter; the
	// default is only documentation. The size in the type of a rest parameter
	// ("Array[String, 1] *$rest") limits the number of its arguments.
	Params string
	// Block is the type of the block. "" means that a block is not allowed,
	// "Callable[1, 1]" that it is required, "Optional[Callable[1, 2]]" that it
	// is optional.
	Block string
	// Returns is the type of the result, or "" for any. It is documentation and
	// not checked.
	Returns string
	Run     func(c *Call) (value.Value, error)
}

// A Call is one call of a Function. It is valid until Run returns. For use
// after that, or in another goroutine, make a copy with Fork.
type Call struct {
	Site
	Name string // the name in the call
	// Args are the arguments, which fit the signature. The function may keep
	// the slice.
	Args  []value.Value
	Block *Closure // nil without
}

// Arg returns argument i, or nil if it was omitted.
func (c *Call) Arg(i int) value.Value {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return nil
}

// Yield calls the block. If the block calls break(), Yield returns an error for
// which IsBreak is true. The value of next() is the result. Yield does not keep
// the slice args.
func (c *Call) Yield(args ...value.Value) (value.Value, error) {
	return c.Block.call(c.t, args)
}
