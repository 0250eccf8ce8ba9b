package builtin

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// An item is a step of an iteration: an entry of a hash, or a value.
type item struct {
	key value.Value // of an entry; otherwise nil
	val value.Value
}

// value returns the item as one value: an entry is an array of two.
func (i item) value() value.Value {
	if i.key != nil {
		return value.NewArray(i.key, i.val)
	}
	return i.val
}

// items returns the items of an iteration over v. The signatures ensure that v
// can be iterated, except for an infinite range and a negative number, which
// types do not exclude.
func items(v value.Value) (iter.Seq[item], error) {
	if p, ok := progressionOf(v); ok {
		return p.items(), nil
	}
	switch v := v.(type) {
	case *value.Array:
		return func(yield func(item) bool) {
			for _, e := range v.Elems() {
				if !yield(item{val: e}) {
					return
				}
			}
		}, nil
	case *value.Hash:
		return func(yield func(item) bool) {
			for k, e := range v.All() {
				if !yield(item{k, e}) {
					return
				}
			}
		}, nil
	case value.String:
		return func(yield func(item) bool) {
			for s := string(v); s != ""; {
				_, n := utf8.DecodeRuneInString(s)
				if !yield(item{val: value.String(s[:n])}) {
					return
				}
				s = s[n:]
			}
		}, nil
	case *value.EnumType:
		return func(yield func(item) bool) {
			for _, s := range v.Values {
				if !yield(item{val: value.String(s)}) {
					return
				}
			}
		}, nil
	case *value.Iterator:
		return iterated(v), nil
	case *value.Object:
		if elements := v.Type().Native().Elements; elements != nil {
			return items(elements(v))
		}
	case *value.AliasType:
		return items(v.Resolved())
	}
	return nil, eval.Errorf("not-iterable", "%s cannot be iterated over", value.DescribeValue(v))
}

// iterated returns the items of an iterator.
func iterated(it *value.Iterator) iter.Seq[item] {
	return func(yield func(item) bool) {
		for v := range it.All() {
			i := item{val: v}
			if pair, ok := v.(*value.Array); it.Pairs && ok && pair.Len() == 2 {
				i = item{pair.At(0), pair.At(1)}
			}
			if !yield(i) {
				return
			}
		}
	}
}

// A loop is a call of a function that passes items to its block.
type loop struct {
	*eval.Call
	seq    iter.Seq[item]
	two    bool // the block gets key and value, or index and value
	values bool // a block with one parameter gets the values of entries
	kept   int  // number of elements in the result so far
}

// each calls the block for each item, and f with the item, its index and the
// result of the block. f returns false to end the loop.
func (l *loop) each(f func(place int, i item, result value.Value) bool) error {
	place := 0
	for i := range l.seq {
		var v value.Value
		var err error
		switch {
		case !l.two && l.values:
			v, err = l.Yield(i.val)
		case !l.two:
			v, err = l.Yield(i.value())
		case i.key != nil:
			v, err = l.Yield(i.key, i.val)
		default:
			v, err = l.Yield(value.Int(place), i.val)
		}
		if err != nil {
			return err
		}
		if !f(place, i, v) {
			return nil
		}
		if err := l.Elements(l.kept); err != nil {
			return err
		}
		place++
	}
	return nil
}

// unlessBreak returns err, but nil for break(). The loop then returns its
// result so far.
func unlessBreak(err error) error {
	if eval.IsBreak(err) {
		return nil
	}
	return err
}

// loops returns the signatures of a function that iterates over its first
// argument, with a block of two parameters or of one.
func loops(params string, run func(l *loop) (value.Value, error)) []eval.Signature {
	with := func(two bool) func(c *eval.Call) (value.Value, error) {
		return func(c *eval.Call) (value.Value, error) {
			seq, err := items(c.Args[0])
			if err != nil {
				return nil, err
			}
			return run(&loop{Call: c, seq: seq, two: two})
		}
	}
	return []eval.Signature{
		{Params: params, Block: "Callable[2, 2]", Run: with(true)},
		{Params: params, Block: "Callable[1, 1]", Run: with(false)},
	}
}

// clustered returns the signatures of a function that prefers to call its block
// with one argument.
func clustered(run func(l *loop) (value.Value, error)) []eval.Signature {
	list := loops("Collection $list", run)
	slices.Reverse(list)
	return list
}

// iteration returns the functions that iterate over values with a block.
func iteration() []*eval.Function {
	return []*eval.Function{
		{
			Name:       "each",
			Doc:        "Calls the block with each element, and returns the value itself.",
			Signatures: loops("Iterable $list", each),
		},
		{
			Name:       "map",
			Doc:        "Returns the array of the results of the block for each element.",
			Signatures: loops("Iterable $list", mapEach),
		},
		{
			Name:       "filter",
			Doc:        "Returns the elements for which the result of the block is true. For a hash it returns a hash, otherwise an array.",
			Signatures: loops("Iterable $list", filter),
		},
		{
			Name:       "all",
			Doc:        "Returns whether the result of the block is true for every element. It stops at the first one that is not.",
			Signatures: loops("Iterable $list", all),
		},
		{
			Name:       "any",
			Doc:        "Returns whether the result of the block is true for an element. It stops at the first one.",
			Signatures: loops("Iterable $list", anyOf),
		},
		{
			Name: "index",
			Doc: "Returns the key or the index of the first element for which the result of the block is true, or that is equal to a value; " +
				"in a string, the index of a substring or of a match. If there is none, it returns undef.",
			Signatures: append(loops("Iterable $list", index), indexOf()...),
		},
		{
			Name:       "reduce",
			Doc:        "Calls the block with its last result and the next element, and returns the last result. It begins with a start value, or with the first element.",
			Signatures: reductions(),
		},
		{
			Name:       "group_by",
			Doc:        "Returns a hash from each result of the block to the array of elements with that result.",
			Signatures: clustered(groupBy),
		},
		{
			Name:       "partition",
			Doc:        "Returns two arrays: the elements for which the result of the block is true, and the others.",
			Signatures: clustered(partition),
		},
		{
			Name:       "slice",
			Doc:        "Cuts the elements into arrays of a size. The block gets each array, or as many parameters as the size; without one, the arrays are returned.",
			Signatures: cuts(),
		},
		{
			Name:       "step",
			Doc:        "Iterates over every n-th element, beginning with the first: calls the block with each, or returns an iterator.",
			Signatures: lazily("Iterable $list, Integer[1] $n", steps),
		},
		{
			Name:       "reverse_each",
			Doc:        "Iterates over the elements from the last to the first: calls the block with each, or returns an iterator.",
			Signatures: lazily("Iterable $list", backwards),
		},
		{
			Name: "with",
			Doc:  "Calls the block with the arguments and returns its result.",
			Signatures: []eval.Signature{{Params: "Any *$args", Block: "Callable", Run: func(c *eval.Call) (value.Value, error) {
				return c.Yield(c.Args...)
			}}},
		},
		{
			Name: "then",
			Doc:  "Calls the block with the value, unless that is undef.",
			Signatures: []eval.Signature{{Params: "Any $value", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
				if value.IsUndef(c.Args[0]) {
					return value.Undef{}, nil
				}
				return c.Yield(c.Args[0])
			}}},
		},
		{
			Name: "lest",
			Doc:  "Returns the value, or the result of the block if the value is undef.",
			Signatures: []eval.Signature{{Params: "Any $value", Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				if value.IsUndef(c.Args[0]) {
					return c.Yield()
				}
				return c.Args[0], nil
			}}},
		},
	}
}

func each(l *loop) (value.Value, error) {
	err := l.each(func(int, item, value.Value) bool { return true })
	return l.Args[0], unlessBreak(err)
}

func mapEach(l *loop) (value.Value, error) {
	var out []value.Value
	if n, ok := length(l.Args[0]); ok {
		out = make([]value.Value, 0, n)
	}
	err := l.each(func(_ int, _ item, v value.Value) bool {
		out = append(out, v)
		l.kept++
		return true
	})
	return value.NewArray(out...), unlessBreak(err)
}

// filter implements the function filter. As in Puppet, break() is an error if a
// hash is filtered.
func filter(l *loop) (value.Value, error) {
	if _, ok := l.Args[0].(*value.Hash); ok {
		var out value.HashBuilder
		err := l.each(func(_ int, i item, v value.Value) bool {
			if value.Truthy(v) {
				out.Put(i.key, i.val)
			}
			return true
		})
		return out.Build(), err
	}
	var out []value.Value
	err := l.each(func(_ int, i item, v value.Value) bool {
		if value.Truthy(v) {
			out = append(out, i.value())
			l.kept++
		}
		return true
	})
	return value.NewArray(out...), unlessBreak(err)
}

func all(l *loop) (value.Value, error) {
	yes := true
	err := l.each(func(_ int, _ item, v value.Value) bool {
		yes = value.Truthy(v)
		return yes
	})
	return value.Bool(yes), err
}

func anyOf(l *loop) (value.Value, error) {
	yes := false
	err := l.each(func(_ int, _ item, v value.Value) bool {
		yes = value.Truthy(v)
		return !yes
	})
	return value.Bool(yes), err
}

func index(l *loop) (value.Value, error) {
	l.values = true
	var at value.Value = value.Undef{}
	err := l.each(func(place int, i item, v value.Value) bool {
		if !value.Truthy(v) {
			return true
		}
		at = i.place(place)
		return false
	})
	return at, err
}

// place returns the key of an item, or its index.
func (i item) place(n int) value.Value {
	if i.key != nil {
		return i.key
	}
	return value.Int(n)
}

// indexOf returns the signatures of index without a block.
func indexOf() []eval.Signature {
	return []eval.Signature{
		{Params: "String $text, Variant[String, Regexp] $part", Run: func(c *eval.Call) (value.Value, error) {
			text := string(c.Args[0].(value.String))
			at := -1
			switch part := c.Args[1].(type) {
			case value.String:
				at = strings.Index(text, string(part))
			case *value.Regexp:
				loc, err := part.Within(c.Budget()).FindIndex(text, 0)
				if err != nil {
					return nil, err
				}
				if loc != nil {
					at = loc[0]
				}
			}
			if at < 0 {
				return value.Undef{}, nil
			}
			return value.Int(utf8.RuneCountInString(text[:at])), nil
		}},
		{Params: "Iterable $list, Any $element", Run: func(c *eval.Call) (value.Value, error) {
			seq, err := items(c.Args[0])
			if err != nil {
				return nil, err
			}
			place := 0
			for i := range seq {
				if err := c.Step(1); err != nil {
					return nil, err
				}
				if err := c.Walk(i.val); err != nil {
					return nil, err
				}
				if value.Same(i.val, c.Args[1]) || sameNumber(i.val, c.Args[1]) {
					return i.place(place), nil
				}
				place++
			}
			return value.Undef{}, nil
		}},
	}
}

// sameNumber reports whether two numbers are equal. 1 and 1.0 are equal,
// although they are different keys of a hash.
func sameNumber(a, b value.Value) bool {
	switch a := a.(type) {
	case value.Int:
		f, ok := b.(value.Float)
		return ok && value.Float(a) == f
	case value.Float:
		i, ok := b.(value.Int)
		return ok && a == value.Float(i)
	}
	return false
}

// reductions returns the signatures of reduce.
func reductions() []eval.Signature {
	reduce := func(c *eval.Call, memo value.Value) (value.Value, error) {
		seq, err := items(c.Args[0])
		if err != nil {
			return nil, err
		}
		for i := range seq {
			if memo == nil {
				memo = i.value()
				continue
			}
			v, err := c.Yield(memo, i.value())
			if eval.IsBreak(err) {
				break
			}
			if err != nil {
				return nil, err
			}
			memo = v
		}
		if memo == nil {
			memo = value.Undef{}
		}
		return memo, nil
	}
	return []eval.Signature{
		{Params: "Iterable $list", Block: "Callable[2, 2]", Run: func(c *eval.Call) (value.Value, error) { return reduce(c, nil) }},
		{Params: "Iterable $list, Any $start", Block: "Callable[2, 2]", Run: func(c *eval.Call) (value.Value, error) { return reduce(c, c.Args[1]) }},
	}
}

// groupCost is the number of elements that a group counts as: an entry of the
// hash that is being built, an entry of the result, and an array.
const groupCost = 2

func groupBy(l *loop) (value.Value, error) {
	var keys value.HashBuilder // to indexes in groups
	var groups [][]value.Value
	var tired error
	err := l.each(func(_ int, i item, v value.Value) bool {
		if tired = l.Walk(v); tired != nil {
			return false
		}
		before := len(groups)
		at, ok := keys.Get(v)
		if !ok {
			at = value.Int(len(groups))
			keys.Put(v, at)
			groups = append(groups, nil)
		}
		g := &groups[at.(value.Int)]
		*g = append(*g, i.value())
		l.kept += 1 + (len(groups)-before)*groupCost
		return true
	})
	if err = cmp.Or(err, tired); err != nil {
		return nil, err
	}
	var out value.HashBuilder
	for k, at := range keys.Build().All() {
		out.Put(k, value.NewArray(groups[at.(value.Int)]...))
	}
	return out.Build(), nil
}

func partition(l *loop) (value.Value, error) {
	var yes, no []value.Value
	err := l.each(func(_ int, i item, v value.Value) bool {
		if value.Truthy(v) {
			yes = append(yes, i.value())
		} else {
			no = append(no, i.value())
		}
		l.kept++
		return true
	})
	return value.NewArray(value.NewArray(yes...), value.NewArray(no...)), err
}

// cuts returns the signatures of slice.
func cuts() []eval.Signature {
	return []eval.Signature{
		{Params: "Hash $list, Integer[1] $size", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
			return cut(c, value.NewArray())
		}},
		{Params: "Iterable $list, Integer[1] $size", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
			return cut(c, value.Undef{})
		}},
	}
}

// cut passes slices to the block. If the last slice is shorter, filler is the
// value of the remaining parameters.
func cut(c *eval.Call, filler value.Value) (value.Value, error) {
	seq, err := items(c.Args[0])
	if err != nil {
		return nil, err
	}
	size := int(min(value.ClampInt(c.Args[1]), maxSlice))
	single := true
	if c.Block != nil {
		lo, hi := c.Block.Arity()
		switch {
		case hi == 0:
			return nil, eval.Errorf("block-arity", "the block of slice() has no parameter")
		case hi != lo || hi < 0:
			single = size == 1
		case lo == 1:
		case lo == size:
			single = false
		default:
			return nil, eval.Errorf("block-arity", "the block of slice() has %d parameters: it can have one, or as many as a slice has elements (%d)", lo, size)
		}
	}
	var out, part []value.Value
	give := func() error {
		defer func() { part = nil }()
		switch {
		case c.Block == nil:
			out = append(out, value.NewArray(part...))
			return nil
		case single:
			_, err := c.Yield(value.NewArray(part...))
			return err
		}
		for len(part) < size {
			part = append(part, filler)
		}
		_, err := c.Yield(part...)
		return err
	}
	for i := range seq {
		part = append(part, i.value())
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if err := c.Elements(len(part) + 2*len(out)); err != nil { // each slice is an array
			return nil, err
		}
		if len(part) == size {
			if err := give(); err != nil {
				return c.Args[0], unlessBreak(err)
			}
		}
	}
	if len(part) > 0 {
		if err := give(); err != nil {
			return c.Args[0], unlessBreak(err)
		}
	}
	if c.Block == nil {
		return value.NewArray(out...), nil
	}
	return c.Args[0], nil
}

// maxSlice is larger than any list that fits in memory.
const maxSlice = 1 << 31

// A way is an order in which items are visited: a progression, or a sequence.
type way struct {
	numbers *progression
	seq     iter.Seq[item]
	through int // number of iterators that seq uses
}

func (w way) items() iter.Seq[item] {
	if w.numbers != nil {
		return w.numbers.items()
	}
	return w.seq
}

// through is the number of nested iterators of an iterator. Each of them takes
// stack.
type through int

const maxThrough = 1000

// iterator returns an iterator over the items of a value in this order.
func (w way) iterator(of value.Value) value.Value {
	it := value.NewIterator(value.ElementType(of), func(yield func(value.Value) bool) {
		w.items()(func(i item) bool { return yield(i.value()) })
	})
	if w.numbers != nil {
		it.Source = *w.numbers
	} else if w.through > 0 {
		it.Source = through(w.through)
	}
	return it
}

// steps returns every n-th item. Values other than progressions are in memory,
// so skipping items one by one ends.
func steps(c *eval.Call) (way, error) {
	n := uint64(value.ClampInt(c.Args[1]))
	if p, ok := progressionOf(c.Args[0]); ok {
		p = p.every(n)
		return way{numbers: &p}, nil
	}
	if a, ok := c.Args[0].(*value.Array); ok {
		return way{seq: func(yield func(item) bool) {
			for i := uint64(0); i < uint64(a.Len()); {
				if !yield(item{val: a.At(int(i))}) || n >= uint64(a.Len())-i {
					return
				}
				i += n
			}
		}}, nil
	}
	within := 0
	if it, ok := c.Args[0].(*value.Iterator); ok {
		n, _ := it.Source.(through)
		if within = int(n) + 1; within > maxThrough {
			return way{}, c.Errorf("too-deep", "iterators go through each other more than %d deep", maxThrough)
		}
	}
	seq, err := items(c.Args[0])
	return way{through: within, seq: func(yield func(item) bool) {
		left := uint64(0)
		for i := range seq {
			if left == 0 {
				if !yield(i) {
					return
				}
				left = n
			}
			left--
		}
	}}, err
}

// backwards returns the items from the last to the first.
func backwards(c *eval.Call) (way, error) {
	if p, ok := progressionOf(c.Args[0]); ok {
		p = p.reversed()
		return way{numbers: &p}, nil
	}
	seq, err := items(c.Args[0])
	if err != nil {
		return way{}, err
	}
	var all []item
	for i := range seq {
		all = append(all, i)
		if err := c.Elements(len(all)); err != nil {
			return way{}, err
		}
	}
	return way{seq: func(yield func(item) bool) {
		for _, i := range slices.Backward(all) {
			if !yield(i) {
				return
			}
		}
	}}, nil
}

// lazily returns the signatures of a function that visits items in another
// order. Without a block, it returns an iterator.
func lazily(params string, in func(c *eval.Call) (way, error)) []eval.Signature {
	return []eval.Signature{
		{Params: params, Run: func(c *eval.Call) (value.Value, error) {
			w, err := in(c)
			if err != nil {
				return nil, err
			}
			return w.iterator(c.Args[0]), nil
		}},
		{Params: params, Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
			w, err := in(c)
			if err != nil {
				return nil, err
			}
			l := &loop{Call: c, seq: w.items()}
			err = l.each(func(int, item, value.Value) bool { return true })
			return value.Undef{}, unlessBreak(err)
		}},
	}
}
