package erb

import (
	"sync"

	"bolt/internal/regexp"
	"bolt/puppet/value"
)

// A node is an expression of Ruby. Nodes are plain data. rendering.eval
// evaluates them.
type node interface{ line() int }

// at is the line of a node.
type at int32

func (l at) line() int { return int(l) }

type (
	// literal is nil, true, false, a number or a symbol.
	literal struct {
		at
		v any
	}
	// strNode is a string. Each evaluation makes a new string.
	strNode struct {
		at
		parts []node // strings are textPart
		sym   bool   // :"…"
	}
	textPart struct {
		at
		s string
	}
	regexNode struct {
		at
		parts []node
		flags string
		fixed func() (*regexp.Regexp, error) // nil with interpolation
	}
	arrayNode struct {
		at
		elems []node
	}
	hashNode struct {
		at
		pairs []pairNode
	}
	// pairNode is a key with its value, or **value without a key.
	pairNode struct{ key, value node }

	rangeNode struct {
		at
		lo, hi    node // nil: without a bound
		exclusive bool
	}
	selfNode  struct{ at }
	localNode struct {
		at
		name string
	}
	ivarNode struct {
		at
		name string
		path []value.Value // keys that are followed from it
	}
	// gvarNode is $1, $~ and the like.
	gvarNode struct {
		at
		name string
	}
	// constNode is a constant: JSON, or JSON::ParserError.
	constNode struct {
		at
		name string
	}
	// callNode is a call of a method, an operator or an index.
	callNode struct {
		at
		recv  node // nil: of self
		name  string
		args  []node
		block *blockNode
		pass  node          // &expr
		safe  bool          // &.
		bare  bool          // only a name, which could be a variable
		path  []value.Value // of scope['name']: keys that are followed from the variable
		// part is the path of the variable of which the call is a part, nil for others.
		part *[]value.Value
	}
	splatNode struct {
		at
		x node
	}
	blockNode struct {
		at
		params []param
		body   node
		lambda bool
	}
	// assignNode is target = value. With op, it is target op= value.
	assignNode struct {
		at
		target node
		op     string
		value  node
	}
	// multiNode is a, (b, *c) = value. A nil target discards a value.
	multiNode struct {
		at
		targets []node // can be splatNode and multiNode
		value   node   // nil inside another
	}
	logicNode struct {
		at
		or   bool
		x, y node
	}
	notNode struct {
		at
		x node
	}
	definedNode struct {
		at
		x node
	}
	ifNode struct {
		at
		cond, then, other node // then and other can be nil
	}
	whileNode struct {
		at
		cond, body node
		until      bool
		after      bool // the condition is evaluated after the body
	}
	forNode struct {
		at
		target, list, body node
	}
	caseNode struct {
		at
		subject node // can be nil
		whens   []whenNode
		other   node
	}
	whenNode struct {
		tests []node
		body  node
	}
	beginNode struct {
		at
		body    node
		rescues []rescueNode
		other   node // else
		ensure  node
	}
	rescueNode struct {
		classes []node
		target  node // can be nil
		body    node
	}
	defNode struct {
		at
		name   string
		params []param
		body   node
	}
	// jumpNode is return, break or next.
	jumpNode struct {
		at
		kind  jumpKind
		value node // can be nil
	}
	yieldNode struct {
		at
		args []node
	}
	seqNode struct {
		at
		list []node
	}
	// outNode writes text of the template, insertNode the value of <%= %>.
	outNode struct {
		at
		text string
	}
	insertNode struct {
		at
		x node
	}
)

// A param is a parameter of a block, a lambda or a method.
type param struct {
	name     string
	value    node    // the default, or nil
	splat    bool    // *name
	block    bool    // &name
	key      bool    // name:
	keySplat bool    // **name
	sub      []param // (a, b)
	required bool    // name: without a default
}

// fixedRegexp compiles a regular expression when it is first needed, because an
// invalid one can be in a branch that is not evaluated.
func fixedRegexp(src, flags string) func() (*regexp.Regexp, error) {
	return sync.OnceValues(func() (*regexp.Regexp, error) { return compileRegexp(src, flags) })
}
