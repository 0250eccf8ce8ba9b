package stdlib

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// lists returns the functions for arrays, except for those that treat them as sets.
func lists() []*eval.Function {
	return []*eval.Function{
		old("concat", "Any $list, Any $more, Any *$rest", "Returns an array with the elements of others appended. A value that is not an array is one element.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				if _, ok := args[0].(*value.Array); !ok {
					return nil, wrong(c, args[0], "an array first")
				}
				var out []value.Value
				for _, v := range args {
					if a, ok := v.(*value.Array); ok {
						out = append(out, a.Elems()...)
					} else {
						out = append(out, v)
					}
				}
				return value.NewArray(out...), nil
			}),
		old("count", "Any $collection, Any $item = ''", "Returns how many elements of an array or entries of a hash are equal to a value; without one, how many are neither undef nor empty strings; how many characters of a string are in a set of them.", count),
		old("delete", "Any $collection, Any $items", "Returns an array without the elements that are equal to one of several values, a hash without some keys, or a string without some substrings.", remove),
		old("delete_at", "Any $list, Any $index, Any *$ignored", "Returns an array without the element at an index.", deleteAt),
		old("delete_undef_values", "Any $collection, Any *$ignored", "Returns an array or a hash without values that are undef.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				out, ok := without(args[0], func(_, v value.Value) bool { return value.IsUndef(v) })
				if !ok {
					return nil, wrong(c, args[0], "an array or a hash")
				}
				return out, nil
			}),
		old("delete_values", "Any $hash, Any $value", "Returns a hash without the entries with a value.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				if _, ok := args[0].(*value.Hash); !ok {
					return nil, wrong(c, args[0], "a hash")
				}
				out, _ := without(args[0], func(_, v value.Value) bool { return rubyEqual(args[1], v) })
				return out, nil
			}),
		old("reverse", "Any $value, Any *$ignored", "Returns a string or an array in reverse order.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				switch v := args[0].(type) {
				case *value.Array:
					list := slices.Clone(v.Elems())
					slices.Reverse(list)
					return value.NewArray(list...), nil
				case value.String:
					chars, err := characters(c, string(v))
					if err != nil {
						return nil, err
					}
					slices.Reverse(chars)
					return value.String(strings.Join(chars, "")), nil
				}
				return nil, wrong(c, args[0], "a string or an array")
			}),
		old("values_at", "Any $list, Any $places, Any *$ignored", "Returns the elements of an array at some indexes: numbers, and ranges such as '2-5', '2..5' and '2...5', which is without the last.", valuesAt),
		old("zip", "Any $list, Any $other, Any $flatten = false, Any *$ignored", "Returns an array of pairs: the elements of two arrays at the same index. If the third argument is true, it returns one flat array.", zip),
		{Name: "stdlib::sort_by", Doc: "Returns an array, the characters of a string or the entries of a hash in the order of the results of the block for each.", Signatures: []eval.Signature{
			{Params: "Array $list", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
				list, err := sortBy(c, c.Args[0].(*value.Array).Elems())
				return value.NewArray(list...), err
			}},
			{Params: "String $text", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
				chars, err := characters(c, string(c.Args[0].(value.String)))
				if err != nil {
					return nil, err
				}
				list, err := sortBy(c, stringsOf(chars).Elems())
				return concatenated(list), err
			}},
			{Params: "Hash $hash", Block: "Callable[1, 1]", Run: sortHash},
			{Params: "Hash $hash", Block: "Callable[2, 2]", Run: sortHash},
		}},
	}
}

func count(c *eval.Call, args []value.Value) (value.Value, error) {
	item := arg(args, 1)
	equal := func(v value.Value) bool { return rubyEqual(v, item) }
	if item == nil || !value.Truthy(item) {
		equal = func(v value.Value) bool { return !value.IsUndef(v) && v != value.String("") }
	}
	n := 0
	switch v := args[0].(type) {
	case *value.Array:
		for _, e := range v.All() {
			if equal(e) {
				n++
			}
		}
	case *value.Hash:
		for k, e := range v.All() {
			if equal(value.NewArray(k, e)) {
				n++
			}
		}
	case value.String:
		s, ok := item.(value.String)
		if !ok {
			return nil, invalid(c, "to count in a string takes a set of characters as a string")
		}
		set, err := parseCharset(string(s))
		if err != nil {
			return nil, err
		}
		for _, r := range string(v) {
			if set.has(r) {
				n++
			}
		}
	default:
		return nil, wrong(c, v, "an array, a hash or a string")
	}
	return value.Int(n), nil
}

// without returns an array or a hash without the elements or entries for which
// drop is true. For an array, k is the element, too.
func without(v value.Value, drop func(k, v value.Value) bool) (out value.Value, ok bool) {
	switch v := v.(type) {
	case *value.Array:
		var list []value.Value
		for _, e := range v.All() {
			if !drop(e, e) {
				list = append(list, e)
			}
		}
		return value.NewArray(list...), true
	case *value.Hash:
		var h value.HashBuilder
		for k, e := range v.All() {
			if !drop(k, e) {
				h.Put(k, e)
			}
		}
		return h.Build(), true
	}
	return nil, false
}

// sizeOfCollection returns the number of elements or entries of a value.
func sizeOfCollection(v value.Value) int {
	switch v := v.(type) {
	case *value.Array:
		return v.Len()
	case *value.Hash:
		return v.Len()
	}
	return 0
}

// itemsOf returns a value as an array, as Ruby's Array() does.
func itemsOf(v value.Value) []value.Value {
	switch v := v.(type) {
	case *value.Array:
		return v.Elems()
	case *value.Hash:
		out := make([]value.Value, 0, v.Len())
		for k, e := range v.All() {
			out = append(out, value.NewArray(k, e))
		}
		return out
	}
	return []value.Value{v}
}

func remove(c *eval.Call, args []value.Value) (value.Value, error) {
	items := itemsOf(args[1])
	if len(items) == 0 {
		return args[0], nil
	}
	switch v := args[0].(type) {
	case *value.Array:
		return removeElements(c, v, items)
	case *value.Hash:
		keys := setOf(value.NewArray(items...))
		out, _ := without(v, func(k, _ value.Value) bool { _, has := keys.Get(k); return has })
		return out, nil
	case value.String:
		for _, item := range items {
			s, ok := item.(value.String)
			if !ok {
				return nil, wrong(c, item, "strings to delete from a string")
			}
			if err := c.Step(1 + len(v)/64); err != nil {
				return nil, err
			}
			if s != "" {
				v = value.String(strings.ReplaceAll(string(v), string(s), ""))
			}
		}
		return v, nil
	}
	return nil, wrong(c, args[0], "an array, a hash or a string")
}

// removeElements returns an array without the elements that are equal to an
// item.
func removeElements(c *eval.Call, list *value.Array, items []value.Value) (value.Value, error) {
	var simple value.HashBuilder
	var nested []value.Value // compared one by one, because they can contain numbers
	for _, v := range items {
		switch v.(type) {
		case *value.Array, *value.Hash:
			nested = append(nested, v)
		default:
			simple.Put(numberKey(v), v)
		}
	}
	keys := simple.Build()
	var failure error
	out, _ := without(list, func(_, v value.Value) bool {
		if like, ok := keys.Get(numberKey(v)); ok && rubyEqual(v, like) {
			return true
		}
		if err := c.Step(1 + len(nested)); err != nil {
			failure = err
		}
		return failure == nil && slices.ContainsFunc(nested, func(item value.Value) bool { return rubyEqual(v, item) })
	})
	return out, failure
}

// numberKey returns a value as a key. Equal numbers have the same key.
func numberKey(v value.Value) value.Value {
	if x, ok := v.(value.Float); ok && x >= -1<<63 && x < 1<<63 && x == value.Float(int64(x)) {
		return value.Int(x)
	}
	return v
}

func deleteAt(c *eval.Call, args []value.Value) (value.Value, error) {
	list, ok := args[0].(*value.Array)
	if !ok {
		return nil, wrong(c, args[0], "an array")
	}
	i := 0
	switch v := args[1].(type) {
	case value.Int:
		i = int(v)
	case value.Float:
		i = int(math.Max(math.Min(float64(v), math.MaxInt32), math.MinInt32))
	case value.Undef:
	case value.String:
		if !digitsLine(string(v)) {
			return nil, invalid(c, "the place is %s: it can be a number of 0 or more", inspect(v))
		}
		n := leadingDigits(string(v))
		if !n.IsInt64() {
			return nil, outside(c, v, list)
		}
		i = int(n.Int64())
	default:
		return nil, wrong(c, v, "a number as its second argument")
	}
	if i >= list.Len() {
		return nil, outside(c, args[1], list)
	}
	if i < 0 {
		i += list.Len()
	}
	if i < 0 {
		return list, nil
	}
	return value.NewArray(slices.Delete(slices.Clone(list.Elems()), i, i+1)...), nil
}

// outside returns the error of an index that is out of range.
func outside(c *eval.Call, place value.Value, list *value.Array) error {
	return eval.Errorf("out-of-range", "%s(): the array has %d elements, and none at %s", bare(c), list.Len(), inspect(place))
}

func valuesAt(c *eval.Call, args []value.Value) (value.Value, error) {
	list, ok := args[0].(*value.Array)
	if !ok {
		return nil, wrong(c, args[0], "an array")
	}
	places := value.Flatten(args[1:2])
	if len(places) == 0 {
		return nil, invalid(c, "indexes are missing")
	}
	var out []value.Value
	for _, p := range places {
		text, err := builtin.Text(c, p)
		if err != nil {
			return nil, err
		}
		from, to, ok := placesOf(text)
		switch {
		case !ok:
			return nil, invalid(c, "%s is neither a place nor a range of them", inspect(p))
		case from.n > to.n:
			return nil, invalid(c, "the range %s ends before it begins", inspect(p))
		case to.n >= list.Len():
			return nil, outside(c, p, list)
		}
		last := to.n
		if to.open {
			last--
		}
		if err := c.Step(last - from.n + 1); err != nil {
			return nil, err
		}
		for i := from.n; i <= last; i++ {
			if v := list.At(i); !value.IsUndef(v) {
				out = append(out, v)
			}
		}
		if err := c.Elements(len(out)); err != nil {
			return nil, err
		}
	}
	return value.NewArray(out...), nil
}

type place struct {
	n    int
	open bool // the index itself is excluded
}

// placesOf parses "3", "3-5", "3..5" or "3...5". As in Ruby, it looks at each
// line. Any line can be a range. If none is a range, any line can be a number;
// then it reads the number at the beginning of the text, after white space.
func placesOf(s string) (from, to place, ok bool) {
	for line := range strings.SplitSeq(s, "\n") {
		rest := strings.TrimLeft(line, "0123456789")
		first := line[:len(line)-len(rest)]
		last := strings.TrimLeft(rest, "-.")
		sign := rest[:len(rest)-len(last)]
		if first == "" || last == "" || strings.Trim(last, "0123456789") != "" || sign != "-" && sign != ".." && sign != "..." {
			continue
		}
		return place{n: number(first)}, place{n: number(last), open: sign == "..."}, true
	}
	if !digitsLine(s) {
		return from, to, false
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	rest := strings.TrimLeft(s, "0123456789")
	at := place{n: number(s[:len(s)-len(rest)])}
	return at, at, true
}

// number converts digits. If the number does not fit, it returns the largest
// int.
func number(digits string) int {
	if digits == "" {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return math.MaxInt
	}
	return n
}

func zip(c *eval.Call, args []value.Value) (value.Value, error) {
	a, ok := args[0].(*value.Array)
	b, too := args[1].(*value.Array)
	if !ok || !too {
		return nil, invalid(c, "it takes two arrays, got %s and %s", value.DescribeValue(args[0]), value.DescribeValue(args[1]))
	}
	flat := false
	if v := arg(args, 2); v != nil && value.Truthy(v) {
		yes, err := str2bool(c, v)
		if err != nil {
			return nil, err
		}
		flat = yes == value.Bool(true)
	}
	out := make([]value.Value, a.Len())
	for i, e := range a.All() {
		f := value.Value(value.Undef{})
		if i < b.Len() {
			f = b.At(i)
		}
		out[i] = value.NewArray(e, f)
	}
	if flat {
		out = value.Flatten(out)
	}
	return value.NewArray(out...), nil
}

// sortBy returns list in the order of the results of the block.
func sortBy(c *eval.Call, list []value.Value) ([]value.Value, error) {
	type keyed struct{ key, v value.Value }
	all := make([]keyed, len(list))
	same := true // all results are equal and need no sorting
	for i, v := range list {
		k, err := c.Yield(v)
		if err != nil {
			return nil, err
		}
		all[i] = keyed{k, v}
		same = same && value.Same(k, all[0].key)
	}
	if same {
		return list, nil
	}
	var failure error
	slices.SortStableFunc(all, func(a, b keyed) int {
		if failure != nil {
			return 0
		}
		n, err := natural(a.key, b.key)
		if err != nil {
			failure = err
		}
		return n
	})
	if failure != nil {
		return nil, failure
	}
	out := make([]value.Value, len(all))
	for i, k := range all {
		out[i] = k.v
	}
	return out, nil
}

func sortHash(c *eval.Call) (value.Value, error) {
	// The block gets one array of key and value, even if it has two parameters.
	// As in Puppet, the call then fails.
	list, err := sortBy(c, itemsOf(c.Args[0]))
	if err != nil {
		return nil, err
	}
	var out value.HashBuilder
	for _, e := range list {
		pair := e.(*value.Array)
		out.Put(pair.At(0), pair.At(1))
	}
	return out.Build(), nil
}

// natural returns the order of two values of the same kind in Ruby: strings
// with case, arrays by the first elements that differ.
func natural(a, b value.Value) (int, error) {
	switch x := a.(type) {
	case value.String:
		if y, ok := b.(value.String); ok {
			return strings.Compare(string(x), string(y)), nil
		}
	case *value.Array:
		if y, ok := b.(*value.Array); ok {
			for i := range min(x.Len(), y.Len()) {
				if n, err := natural(x.At(i), y.At(i)); n != 0 || err != nil {
					return n, err
				}
			}
			return x.Len() - y.Len(), nil
		}
	case value.Int, *value.BigInt, value.Float, value.Timespan, value.Timestamp, *value.SemVer:
		if n, err := value.Compare(a, b); err == nil {
			return n, nil
		}
	}
	if value.Same(a, b) {
		return 0, nil
	}
	return 0, eval.Errorf("not-comparable", "%s and %s have no order", inspect(a), inspect(b))
}
