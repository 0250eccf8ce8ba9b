package eval_test

import (
	"errors"
	"fmt"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// functions are a few functions that the tests of the evaluator need.
func functions() []*eval.Function {
	return []*eval.Function{
		{Name: "next", Signatures: []eval.Signature{{Params: "Any $value = undef", Run: func(c *eval.Call) (value.Value, error) {
			return nil, eval.Next(c, orUndef(c.Arg(0)))
		}}}},
		{Name: "return", Signatures: []eval.Signature{{Params: "Any $value = undef", Run: func(c *eval.Call) (value.Value, error) {
			return nil, eval.Return(c, orUndef(c.Arg(0)))
		}}}},
		{Name: "break", Signatures: []eval.Signature{{Run: func(c *eval.Call) (value.Value, error) {
			return nil, eval.Break(c)
		}}}},
		{Name: "fail", Signatures: []eval.Signature{{Params: "Any *$words", Run: func(c *eval.Call) (value.Value, error) {
			return nil, eval.Errorf("fail", "%s", value.ToString(value.NewArray(c.Args...)))
		}}}},
		{Name: "notice", Signatures: []eval.Signature{{Params: "Any *$words", Run: func(c *eval.Call) (value.Value, error) {
			for _, v := range c.Args {
				c.Log(eval.Notice, value.ToString(v))
			}
			return value.Undef{}, nil
		}}}},
		{Name: "with", Signatures: []eval.Signature{{Params: "Any *$args", Block: "Callable", Run: func(c *eval.Call) (value.Value, error) {
			return c.Yield(c.Args...)
		}}}},
		{Name: "new", Signatures: []eval.Signature{{Params: "Type $type, Any *$args", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
			v, err := value.New(c.Args[0].(value.Type), c.Args[1:])
			if err != nil || c.Block == nil {
				return v, err
			}
			return c.Yield(v)
		}}}},
		{Name: "type", Signatures: []eval.Signature{{Params: "Any $value", Run: func(c *eval.Call) (value.Value, error) {
			return value.InferDetailed(c.Args[0]), nil
		}}}},
		{Name: "each", Signatures: []eval.Signature{
			{Params: "Iterable $list", Block: "Callable[2, 2]", Run: func(c *eval.Call) (value.Value, error) {
				_, err := walk(c, func(i int, v value.Value) error { _, err := c.Yield(key(c, i, v), item(c, v)); return err })
				return c.Args[0], err
			}},
			{Params: "Iterable $list", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
				_, err := walk(c, func(i int, v value.Value) error { _, err := c.Yield(v); return err })
				return c.Args[0], err
			}},
		}},
		{Name: "map", Signatures: []eval.Signature{
			{Params: "Iterable $list", Block: "Callable[2, 2]", Run: func(c *eval.Call) (value.Value, error) {
				var out []value.Value
				_, err := walk(c, func(i int, v value.Value) error {
					r, err := c.Yield(key(c, i, v), item(c, v))
					if err == nil {
						out = append(out, r)
					}
					return err
				})
				return value.NewArray(out...), err
			}},
			{Params: "Iterable $list", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
				var out []value.Value
				_, err := walk(c, func(i int, v value.Value) error {
					r, err := c.Yield(v)
					if err == nil {
						out = append(out, r)
					}
					return err
				})
				return value.NewArray(out...), err
			}},
		}},
		{Name: "reduce", Signatures: []eval.Signature{{Params: "Iterable $list, Any $memo = undef", Block: "Callable[2, 2]", Run: func(c *eval.Call) (value.Value, error) {
			memo := c.Arg(1)
			_, err := walk(c, func(i int, v value.Value) error {
				if memo == nil {
					memo = v
					return nil
				}
				r, err := c.Yield(memo, v)
				if err == nil {
					memo = r
				}
				return err
			})
			return memo, err
		}}}},
		{Name: "step", Signatures: []eval.Signature{{Params: "Iterable $list, Integer[1] $n", Run: func(c *eval.Call) (value.Value, error) {
			n := int(c.Args[1].(value.Int))
			list := c.Args[0]
			return value.NewIterator(value.InferReduced(value.Int(1)), func(yield func(value.Value) bool) {
				i := 0
				_ = each(list, func(_ int, v value.Value) error {
					if i++; (i-1)%n == 0 && !yield(v) {
						return errStop
					}
					return nil
				})
			}), nil
		}}}},
		{Name: "panic", Signatures: []eval.Signature{{Run: func(c *eval.Call) (value.Value, error) { panic("a bug") }}}},
	}
}

func orUndef(v value.Value) value.Value {
	if v == nil {
		return value.Undef{}
	}
	return v
}

var errStop = errors.New("stop")

// walk calls visit for each element until break().
func walk(c *eval.Call, visit func(i int, v value.Value) error) (value.Value, error) {
	err := each(c.Args[0], visit)
	if eval.IsBreak(err) {
		err = nil
	}
	return nil, err
}

func each(v value.Value, visit func(i int, v value.Value) error) error {
	switch v := v.(type) {
	case *value.Array:
		for i, e := range v.All() {
			if err := visit(i, e); err != nil {
				return err
			}
		}
	case *value.Hash:
		for i := range v.Len() {
			e := v.At(i)
			if err := visit(i, value.NewArray(e.Key, e.Value)); err != nil {
				return err
			}
		}
	case *value.Iterator:
		i := 0
		for e := range v.All() {
			if err := visit(i, e); err != nil {
				return err
			}
			i++
		}
	case value.Int:
		for i := range int(v) {
			if err := visit(i, value.Int(i)); err != nil {
				return err
			}
		}
	case *value.IntegerType:
		for i := v.Min; i <= v.Max; i++ {
			if err := visit(int(i-v.Min), value.Int(i)); err != nil {
				return err
			}
		}
	case value.String:
		for i, r := range []rune(string(v)) {
			if err := visit(i, value.String(r)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("cannot iterate over %s", value.Inspect(v))
	}
	return nil
}

func key(c *eval.Call, i int, v value.Value) value.Value {
	if _, is := c.Args[0].(*value.Hash); is {
		return v.(*value.Array).At(0)
	}
	return value.Int(i)
}

func item(c *eval.Call, v value.Value) value.Value {
	if _, is := c.Args[0].(*value.Hash); is {
		return v.(*value.Array).At(1)
	}
	return v
}
