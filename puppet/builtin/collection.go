package builtin

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// collections returns the functions for arrays and hashes that take no block or an
// optional one.
func collections() []*eval.Function {
	return []*eval.Function{
		{Name: "keys", Doc: "Returns the keys of a hash, in its order.",
			Signatures: one("Hash $hash", func(c *eval.Call) (value.Value, error) { return c.Args[0].(*value.Hash).Keys(), nil })},
		{Name: "values", Doc: "Returns the values of a hash, in its order.",
			Signatures: one("Hash $hash", func(c *eval.Call) (value.Value, error) { return c.Args[0].(*value.Hash).Values(), nil })},
		{Name: "length", Doc: "Returns the number of elements of a collection, characters of a string, or bytes of a binary.",
			Signatures: one("Variant[Collection, String, Binary] $value", lengthOf)},
		{Name: "size", Doc: "The same as length.",
			Signatures: one("Variant[Collection, String, Binary] $value", lengthOf)},
		{Name: "empty", Doc: "Returns whether a collection, a string or a binary is empty; undef is empty.",
			Signatures: one("Variant[Collection, String, Numeric, Binary, Undef, Sensitive[String]] $value", empty)},
		{Name: "flatten", Doc: "Returns one array of the arguments, in which nested arrays are replaced by their elements.",
			Signatures: one("Any *$values", func(c *eval.Call) (value.Value, error) {
				out, err := flatten(c, c.Args)
				return value.NewArray(out...), err
			})},
		{Name: "unique", Doc: "Returns the value without duplicates. The block returns the value by which an element is compared. " +
			"Of a hash, it returns keys with the same value, as an array, each with that value.",
			Signatures: uniques()},
		{Name: "join", Doc: "Returns one string of the elements of an array, including those of nested arrays, with a separator between them.",
			Signatures: one("Array $list, String $between = ''", join)},
	}
}

// length returns the number of items of a value, if it is known without an
// iteration.
func length(v value.Value) (n int, ok bool) {
	switch v := v.(type) {
	case *value.Array:
		return v.Len(), true
	case *value.Hash:
		return v.Len(), true
	}
	return 0, false
}

func lengthOf(c *eval.Call) (value.Value, error) {
	switch v := c.Args[0].(type) {
	case value.String:
		return value.Int(utf8.RuneCountInString(string(v))), nil
	case *value.Binary:
		return value.Int(len(v.Bytes())), nil
	}
	n, _ := length(c.Args[0])
	return value.Int(n), nil
}

func empty(c *eval.Call) (value.Value, error) {
	v := c.Args[0]
	if s, ok := v.(*value.Sensitive); ok {
		v = s.Unwrap()
	}
	switch v := v.(type) {
	case value.Undef:
		return value.Bool(true), nil
	case value.String:
		return value.Bool(v == ""), nil
	case *value.Binary:
		return value.Bool(len(v.Bytes()) == 0), nil
	case value.Int, *value.BigInt, value.Float:
		c.Deprecated("empty() of a number, which is never empty, is deprecated")
		return value.Bool(false), nil
	}
	n, ok := length(v)
	return value.Bool(ok && n == 0), nil
}

// measured returns an error if v contains too many values. A value that occurs
// several times counts several times.
func measured(c *eval.Call, v value.Value) error {
	_, nodes := value.Measure(v)
	return c.Elements(nodes)
}

func flatten(c *eval.Call, list []value.Value) ([]value.Value, error) {
	if err := measured(c, value.NewArray(list...)); err != nil {
		return nil, err
	}
	return value.Flatten(list), nil
}

// uniques returns the signatures of unique.
func uniques() []eval.Signature {
	by := func(c *eval.Call, v value.Value) (value.Value, error) {
		if c.Block == nil {
			return v, nil
		}
		return c.Yield(v)
	}
	list := func(c *eval.Call) (value.Value, error) {
		seq, err := items(c.Args[0])
		if err != nil {
			return nil, err
		}
		var seen value.HashBuilder
		var out []value.Value
		for i := range seq {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			if err := c.Elements(len(out) * groupCost); err != nil {
				return nil, err
			}
			sign, err := by(c, i.value())
			if err != nil {
				return nil, err
			}
			if err := c.Walk(sign); err != nil {
				return nil, err
			}
			if _, ok := seen.Get(sign); !ok {
				seen.Put(sign, value.Undef{})
				out = append(out, i.value())
			}
		}
		if _, ok := c.Args[0].(value.String); ok {
			return joined(out), nil
		}
		return value.NewArray(out...), nil
	}
	return []eval.Signature{
		{Params: "Hash $hash", Block: "Optional[Callable[Any]]", Run: func(c *eval.Call) (value.Value, error) {
			var groups value.HashBuilder // of indexes in keys and values
			var keys, values [][]value.Value
			for k, v := range c.Args[0].(*value.Hash).All() {
				sign, err := by(c, v)
				if err != nil {
					return nil, err
				}
				if err := cmp.Or(c.Walk(sign), c.Walk(v)); err != nil {
					return nil, err
				}
				at, ok := groups.Get(sign)
				if !ok {
					at = value.Int(len(keys))
					groups.Put(sign, at)
					keys, values = append(keys, nil), append(values, nil)
				}
				if err := c.Elements(len(keys) * groupCost); err != nil {
					return nil, err
				}
				i := at.(value.Int)
				keys[i], values[i] = append(keys[i], k), append(values[i], v)
			}
			var out value.HashBuilder
			for i := range keys {
				out.Put(value.NewArray(keys[i]...), value.NewArray(distinct(values[i])...))
			}
			return out.Build(), nil
		}},
		{Params: "String $text", Block: "Optional[Callable[String]]", Run: list},
		{Params: "Iterable $list", Block: "Optional[Callable[Any]]", Run: list},
	}
}

func distinct(list []value.Value) []value.Value {
	var seen value.HashBuilder
	return slices.DeleteFunc(list, func(v value.Value) bool {
		_, ok := seen.Get(v)
		seen.Put(v, v)
		return ok
	})
}

// joined returns the concatenation of strings.
func joined(list []value.Value) value.String {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(string(v.(value.String)))
	}
	return value.String(b.String())
}

func join(c *eval.Call) (value.Value, error) {
	between := ""
	if s, ok := c.Arg(1).(value.String); ok {
		between = string(s)
	}
	s, err := Joined(c, c.Args[0], between)
	return value.String(s), err
}

// Joined returns the result of Ruby's join for a value: the strings of the
// elements of arrays, at any depth. An empty array is an empty string.
func Joined(c *eval.Call, v value.Value, between string) (string, error) {
	if err := measured(c, v); err != nil {
		return "", err
	}
	var b strings.Builder
	first := true
	err := eachPiece(v, func(v value.Value) error {
		if !first {
			b.WriteString(between)
		}
		first = false
		s, err := value.RubyText(v, func(bytes int) error { return c.Size(b.Len() + bytes) })
		b.WriteString(s)
		return err
	})
	if err != nil {
		return "", err
	}
	return b.String(), c.Step(b.Len() / bytesPerStep)
}

// eachPiece calls f for each value that Ruby's join uses: elements of arrays at
// any depth, and an empty string for an empty array.
func eachPiece(v value.Value, f func(v value.Value) error) error {
	a, ok := v.(*value.Array)
	switch {
	case !ok:
		return f(v)
	case a.Len() == 0:
		return f(value.String(""))
	}
	for _, e := range a.All() {
		if err := eachPiece(e, f); err != nil {
			return err
		}
	}
	return nil
}
