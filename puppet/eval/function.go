package eval

import (
	"sync/atomic"

	"bolt/puppet/value"
)

// A Function is a function (or a plan) that is written in Go. It is not
// changed after it is in a Library, and must not be copied.
type Function struct {
	Name string // qualified, in lower case
	Doc  string // what it does, one paragraph
	// Signatures are tried in order; the first that the arguments fit runs.
	Signatures []Signature
	// Catalog marks functions that need a catalog (include, realize): without
	// a Builder, or with the rules of plans, they are refused.
	Catalog bool

	// Path returns the keys, one inside the other, by which the function looks into its
	// first argument, if it uses no other part of that. nil: it may use all of it. The
	// arguments need not fit a signature. It is for Env.Read.
	Path func(args []value.Value) []value.Value

	parsed atomic.Pointer[[]signature] // Signatures, parsed
}

// A Signature is one way to call a Function.
type Signature struct {
	// Params are written as those of a lambda:
	//
	//	Array $list, Integer[0] $n = 1, String *$rest
	//
	// A parameter with a default may be left out: Call.Args is then shorter,
	// and the default is words for people. Types without a value of their own
	// ("Array[String, 1] *$rest") limit how many there are.
	Params string
	// Block is the type of the block: "" none may be given, "Callable[1, 1]"
	// one must be, "Optional[Callable[1, 2]]".
	Block string
	// Returns is the type of the result, "" for any. It is told in
	// documentation and not checked.
	Returns string
	Run     func(c *Call) (value.Value, error)
}

// A Call is one call of a Function. It is valid until Run returns; what must
// live longer or run elsewhere is made by Fork.
type Call struct {
	Site
	Name string // as it was called
	// Args are the arguments, which fit the signature. The function may keep
	// the slice.
	Args  []value.Value
	Block *Closure // nil without
}

// Arg returns the i-th argument, or nil when it was left out.
func (c *Call) Arg(i int) value.Value {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return nil
}

// Yield calls the block. break() in it comes back as an error for which
// IsBreak is true; next() is a value. The slice of args is not kept.
func (c *Call) Yield(args ...value.Value) (value.Value, error) {
	return c.Block.call(c.t, args)
}
