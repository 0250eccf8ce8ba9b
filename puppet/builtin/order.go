package builtin

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// ordering returns the functions that sort or compare values.
func ordering() []*eval.Function {
	return []*eval.Function{
		{Name: "sort", Doc: "Returns the elements of an array, or the characters of a string, in order. The block compares two elements and returns a number below, equal to, or above 0.",
			Signatures: []eval.Signature{
				{Params: "String $text", Block: "Optional[Callable[2, 2]]", Run: func(c *eval.Call) (value.Value, error) {
					seq, err := items(c.Args[0])
					if err != nil {
						return nil, err
					}
					var list []value.Value
					for i := range seq {
						list = append(list, i.val)
						if err := c.Elements(len(list)); err != nil {
							return nil, err
						}
					}
					err = sortBy(c, list)
					return joined(list), err
				}},
				{Params: "Array $list", Block: "Optional[Callable[2, 2]]", Run: func(c *eval.Call) (value.Value, error) {
					list := slices.Clone(c.Args[0].(*value.Array).Elems())
					err := sortBy(c, list)
					return value.NewArray(list...), err
				}},
			}},
		{Name: "compare", Doc: "Returns -1, 0 or 1: whether the first value comes before, is equal to, or comes after the second. Strings are compared without case, unless the third argument is false.",
			Signatures: comparisons()},
		{Name: "max", Doc: "Returns the largest of the arguments, or of the elements of an array; the block compares two values.", Signatures: extremes("max", 1)},
		{Name: "min", Doc: "Returns the smallest of the arguments, or of the elements of an array; the block compares two values.", Signatures: extremes("min", -1)},
		{Name: "versioncmp", Doc: "Returns -1, 0 or 1: whether the first version is older than, as old as, or newer than the second. With true as the third argument, zeros at the end are ignored.",
			Signatures: one("String $a, String $b, Boolean $ignore_trailing_zeroes = false", func(c *eval.Call) (value.Value, error) {
				zeroes := c.Arg(2) == value.Bool(true)
				return value.Int(CompareVersions(string(c.Args[0].(value.String)), string(c.Args[1].(value.String)), zeroes)), nil
			})},
	}
}

// sortBy sorts with the block, or in the natural order.
func sortBy(c *eval.Call, list []value.Value) error {
	var failure error
	slices.SortFunc(list, func(a, b value.Value) int {
		if failure != nil {
			return 0
		}
		var n int
		if n, failure = compareBy(c, a, b); failure != nil {
			return 0
		}
		return n
	})
	return failure
}

// compareBy compares with the block, or in the natural order.
func compareBy(c *eval.Call, a, b value.Value) (int, error) {
	if c.Block == nil {
		if err := c.Walk(a); err != nil {
			return 0, err
		}
		return natural(a, b)
	}
	v, err := c.Yield(a, b)
	if err != nil {
		return 0, err
	}
	switch n := v.(type) {
	case value.Int:
		return cmp.Compare(n, 0), nil
	case value.Float:
		return cmp.Compare(n, 0), nil
	}
	return 0, eval.Errorf("not-comparable", "the block returned %s for %s and %s, which is not a number", value.DescribeValue(v), value.DescribeValue(a), value.DescribeValue(b))
}

// natural returns the natural order of two values of the same kind: strings
// with case, arrays by the first elements that differ.
func natural(a, b value.Value) (int, error) {
	switch x := a.(type) {
	case value.String:
		if y, ok := b.(value.String); ok {
			return strings.Compare(string(x), string(y)), nil
		}
	case *value.Array:
		y, ok := b.(*value.Array)
		if !ok {
			break
		}
		for i := range min(x.Len(), y.Len()) {
			if n, err := natural(x.At(i), y.At(i)); n != 0 || err != nil {
				return n, err
			}
		}
		return cmp.Compare(x.Len(), y.Len()), nil
	case value.Int, *value.BigInt, value.Float, value.Timespan, value.Timestamp, *value.SemVer:
		if n, err := value.Compare(a, b); err == nil {
			return n, nil
		}
	}
	if value.Same(a, b) {
		return 0, nil
	}
	return 0, eval.Errorf("not-comparable", "%s and %s have no order", value.DescribeValue(a), value.DescribeValue(b))
}

// comparisons returns the signatures of compare.
func comparisons() []eval.Signature {
	order := func(c *eval.Call) (value.Value, error) {
		n, err := value.Compare(c.Args[0], c.Args[1])
		return value.Int(n), err
	}
	return []eval.Signature{
		{Params: "Numeric $a, Numeric $b", Run: order},
		{Params: "String $a, String $b, Boolean $ignore_case = true", Run: func(c *eval.Call) (value.Value, error) {
			a, b := string(c.Args[0].(value.String)), string(c.Args[1].(value.String))
			if c.Arg(2) == value.Bool(false) {
				return value.Int(strings.Compare(a, b)), nil
			}
			return value.Int(strings.Compare(lowerASCII(a), lowerASCII(b))), nil
		}},
		{Params: "SemVer $a, SemVer $b", Run: order},
		{Params: "Numeric $a, Variant[Timespan, Timestamp] $b", Run: order},
		{Params: "Timestamp $a, Variant[Timestamp, Numeric] $b", Run: order},
		{Params: "Timespan $a, Variant[Timespan, Numeric] $b", Run: order},
	}
}

// lowerASCII converts ASCII letters to lower case, as Ruby's casecmp does.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// extremes returns the signatures of max (sign 1) and min (sign -1).
func extremes(name string, sign int) []eval.Signature {
	pick := func(c *eval.Call, list []value.Value) (value.Value, error) {
		if len(list) == 0 {
			if c.Block != nil {
				return value.Undef{}, nil
			}
			return nil, eval.Errorf("argument-count", "%s() of nothing: it takes one value at least", name)
		}
		told := map[string]bool{}
		compare := func(a, b value.Value) (int, error) {
			n, as, err := coerced(c, a, b)
			if as != "" && !told[as] {
				told[as] = true
				c.Deprecated(name + "() of values that are made " + as + " is deprecated")
			}
			return n, err
		}
		if ordered(list) {
			compare = value.Compare
		}
		best := list[0]
		for _, v := range list[1:] {
			n, err := 0, error(nil)
			if c.Block != nil {
				n, err = compareBy(c, v, best)
			} else {
				n, err = compare(v, best)
			}
			if err != nil {
				return nil, err
			}
			if n*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
	return []eval.Signature{
		{Params: "Array $list", Block: "Optional[Callable[2, 2]]", Run: func(c *eval.Call) (value.Value, error) {
			return pick(c, c.Args[0].(*value.Array).Elems())
		}},
		{Params: "Any *$values", Block: "Optional[Callable[2, 2]]", Run: func(c *eval.Call) (value.Value, error) { return pick(c, c.Args) }},
	}
}

// ordered reports whether all values have the same kind and can be compared.
func ordered(list []value.Value) bool {
	kind := func(v value.Value) int {
		switch v.(type) {
		case value.Int, *value.BigInt, value.Float:
			return 1
		case *value.SemVer:
			return 2
		case value.Timespan:
			return 3
		case value.Timestamp:
			return 4
		}
		return 0
	}
	first := kind(list[0])
	return first != 0 && !slices.ContainsFunc(list, func(v value.Value) bool { return kind(v) != first })
}

// coerced compares values without an order as max and min do: as numbers if
// both look like numbers, otherwise as strings. as is the kind to which values
// were converted.
func coerced(c *eval.Call, a, b value.Value) (n int, as string, err error) {
	x, err := Text(c, a)
	if err != nil {
		return 0, "", err
	}
	y, err := Text(c, b)
	if err != nil {
		return 0, "", err
	}
	if f, ok := number(x); ok {
		if g, ok := number(y); ok {
			return cmp.Compare(f, g), "numbers", nil
		}
	}
	_, text := a.(value.String)
	if _, ok := b.(value.String); !ok || !text {
		as = "strings"
	}
	return strings.Compare(x, y), as, nil
}

// number parses a string that looks like a number to max and min.
func number(s string) (float64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// CompareVersions compares versions as package managers do: numbers by value,
// letters as text, "-" before ".". A version with more parts is later.
func CompareVersions(a, b string, ignoreZeroes bool) int {
	if ignoreZeroes {
		a, b = withoutZeroes(a), withoutZeroes(b)
	}
	for x, y := a, b; x != "" && y != ""; {
		var p, q string
		p, x = versionPart(x)
		q, y = versionPart(y)
		switch {
		case p == q:
			continue
		case p == "-":
			return -1
		case q == "-":
			return 1
		case p == ".":
			return -1
		case q == ".":
			return 1
		case isDigits(p) && isDigits(q) && p[0] != '0' && q[0] != '0':
			return cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q))
		}
		return strings.Compare(strings.ToUpper(p), strings.ToUpper(q))
	}
	return strings.Compare(a, b)
}

// versionPart splits off the first part of a version: a number, a word, a dot
// or a dash.
func versionPart(s string) (part, rest string) {
	i := 1
	switch c := s[0]; {
	case c == '.' || c == '-':
	case isDigit(c):
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	default:
		for i < len(s) && s[i] != '.' && s[i] != '-' && !isDigit(s[i]) {
			i++
		}
	}
	return s[:i], s[i:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// withoutZeroes returns a version without zeros and dots at the end of its
// number. As in Puppet, 10 becomes 1.
func withoutZeroes(s string) string {
	head, tail, dash := strings.Cut(strings.TrimRight(s, "-"), "-")
	head = strings.TrimRight(head, ".0")
	if dash {
		return head + "-" + tail
	}
	return head
}
