package check

import (
	"math"
	"strconv"
	"strings"

	"bolt/puppet/syntax"
)

// maxKey is the largest depth of arrays and hashes in a key. A deeper key is
// treated as computed, because keys can contain hashes with keys, and each
// would be visited for every key that contains it.
const maxKey = 4

// literal returns a string that is equal for equal literals. If x is computed,
// ok is false.
func literal(x syntax.Expr) (sign string, ok bool) {
	b, ok := appendLiteral(nil, x, maxKey)
	return string(b), ok
}

// isLiteral reports whether an expression is not computed.
func isLiteral(x syntax.Expr) bool {
	_, ok := appendLiteral(nil, x, math.MaxInt)
	return ok
}

// appendLiteral appends the string of a literal, up to a depth.
func appendLiteral(b []byte, x syntax.Expr, depth int) (_ []byte, ok bool) {
	switch x := x.(type) {
	case *syntax.Undef:
		return append(b, "undef"...), true
	case *syntax.Default:
		return append(b, "default"...), true
	case *syntax.Bool:
		return strconv.AppendBool(b, x.Value), true
	case *syntax.Int:
		return strconv.AppendInt(append(b, 'i'), x.Value, 10), true
	case *syntax.Float:
		return strconv.AppendFloat(append(b, 'f'), x.Value, 'g', -1, 64), true
	case *syntax.Str:
		return strconv.AppendQuote(b, x.Value), true
	case *syntax.Name:
		return strconv.AppendQuote(b, x.Value), true
	case *syntax.TypeName:
		return strconv.AppendQuote(b, strings.ToLower(x.Value)), true
	case *syntax.Regexp:
		return strconv.AppendQuote(append(b, '/'), x.Source), true
	case *syntax.Neg:
		return appendLiteral(append(b, '-'), x.X, depth)
	case *syntax.Concat:
		if len(x.Parts) == 1 {
			return appendLiteral(b, x.Parts[0], depth)
		}
	case *syntax.List:
		return appendLiterals(append(b, '['), x.Items, depth)
	case *syntax.Index: // as in Puppet, the part before the brackets is ignored
		if len(x.Keys) == 1 {
			if _, list := x.Keys[0].(*syntax.List); list {
				return b, false
			}
		}
		return appendLiterals(append(b, '['), x.Keys, depth)
	case *syntax.Hash:
		if depth == 0 {
			return b, false
		}
		b = append(b, '{')
		for i := range x.Entries {
			for _, x := range [...]syntax.Expr{x.Entries[i].Key, x.Entries[i].Value} {
				if b, ok = appendLiteral(b, x, depth-1); !ok {
					return b, false
				}
				b = append(b, ',')
			}
		}
		return append(b, ')'), true
	}
	return b, false
}

func appendLiterals(b []byte, list []syntax.Expr, depth int) (_ []byte, ok bool) {
	if depth == 0 {
		return b, false
	}
	for _, x := range list {
		if b, ok = appendLiteral(b, x, depth-1); !ok {
			return b, false
		}
		b = append(b, ',')
	}
	return append(b, ')'), true
}
