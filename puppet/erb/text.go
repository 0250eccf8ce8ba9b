package erb

import (
	"strings"

	"bolt/puppet/value"
)

// toS returns the result of to_s for a value.
func toS(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *text:
		return v.s
	case symbol:
		return string(v)
	case *pattern:
		return v.group()
	case *match:
		return v.s[v.loc[0]:v.loc[1]]
	case *rubyError:
		return v.msg
	case *foreign:
		return value.ToString(v.v)
	case *span:
		dots := ".."
		if v.exclusive {
			dots = "..."
		}
		return toS(v.lo) + dots + toS(v.hi)
	}
	return inspect(v)
}

// inspect returns the result of inspect for a value.
func inspect(v any) string {
	var b strings.Builder
	writeInspect(&b, v, 0)
	return b.String()
}

// maxText is the size at which the text of arrays and hashes is truncated. The
// text of an array that contains itself is infinite.
const maxText = 16 << 20

func writeInspect(b *strings.Builder, v any, depth int) {
	if depth > maxData || b.Len() > maxText {
		b.WriteString("...")
		return
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("nil")
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case int64:
		b.WriteString(formatInt(v))
	case float64:
		b.WriteString(value.RubyShown(value.Float(v)))
	case *text:
		b.WriteString(quote(v.s))
	case symbol:
		b.WriteString(":")
		if plainSymbol(string(v)) {
			b.WriteString(string(v))
		} else {
			b.WriteString(quote(string(v)))
		}
	case *array:
		b.WriteByte('[')
		for i, x := range v.e {
			if i > 0 {
				b.WriteString(", ")
			}
			writeInspect(b, x, depth+1)
		}
		b.WriteByte(']')
	case *hash:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			writeInspect(b, k, depth+1)
			b.WriteString("=>")
			writeInspect(b, v.values[i], depth+1)
		}
		b.WriteByte('}')
	case *span:
		if v.lo != nil {
			writeInspect(b, v.lo, depth+1)
		}
		b.WriteString("..")
		if v.exclusive {
			b.WriteByte('.')
		}
		if v.hi != nil {
			writeInspect(b, v.hi, depth+1)
		}
	case *pattern:
		b.WriteString("/" + strings.ReplaceAll(v.src, "/", `\/`) + "/" + v.flags)
	case *class:
		b.WriteString(v.name)
	case *foreign:
		if _, hidden := v.v.(*value.Sensitive); hidden {
			b.WriteString("#<" + value.Redacted + ">")
			return
		}
		b.WriteString(value.ToString(v.v))
	case *match:
		b.WriteString("#<MatchData " + quote(toS(v)) + ">")
	case *rubyError:
		b.WriteString("#<" + v.class + ": " + v.msg + ">")
	case *address:
		b.WriteString(v.s)
	default:
		b.WriteString("#<" + className(v) + ">")
	}
}

// quote returns a string in the form of Ruby's inspect. It uses the result of
// RubyText for an array of the string, without the brackets.
func quote(s string) string {
	list, err := value.RubyText(value.NewArray(value.String(s)), nil)
	if err != nil || len(list) < 2 {
		return `"..."`
	}
	return list[1 : len(list)-1]
}

func plainSymbol(s string) bool {
	if s == "" {
		return false
	}
	if !isNameStart(s[0]) && s[0] != '@' {
		return strings.Trim(s, "+-*/%<>=!&|^~[]") == ""
	}
	body := strings.TrimRight(s[1:], "?!=")
	if len(s)-1-len(body) > 1 {
		return false
	}
	for i := range len(body) {
		if !isNameByte(body[i]) {
			return false
		}
	}
	return true
}

// group returns a regular expression as a part of another one: (?i-mx:…).
func (p *pattern) group() string {
	off := ""
	for _, f := range "mix" {
		if !strings.ContainsRune(p.flags, f) {
			off += string(f)
		}
	}
	if off != "" {
		off = "-" + off
	}
	return "(?" + p.flags + off + ":" + p.src + ")"
}

// equal implements ==.
func equal(a, b any) bool { return equalWithin(a, b, 0) }

func equalWithin(a, b any, depth int) bool {
	if depth > maxData {
		return false
	}
	switch a := a.(type) {
	case *text:
		b, is := b.(*text)
		return is && a.s == b.s
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return a == float64(b)
		case float64:
			return a == b
		}
		return false
	case *array:
		b, is := b.(*array)
		if !is || len(a.e) != len(b.e) {
			return false
		}
		for i := range a.e {
			if !equalWithin(a.e[i], b.e[i], depth+1) {
				return false
			}
		}
		return true
	case *hash:
		b, is := b.(*hash)
		if !is || len(a.keys) != len(b.keys) {
			return false
		}
		for i, k := range a.keys {
			v, ok := b.get(k)
			if !ok || !equalWithin(a.values[i], v, depth+1) {
				return false
			}
		}
		return true
	case *span:
		b, is := b.(*span)
		return is && a.exclusive == b.exclusive && equalWithin(a.lo, b.lo, depth+1) && equalWithin(a.hi, b.hi, depth+1)
	case *class:
		b, is := b.(*class)
		return is && a.name == b.name
	case *pattern:
		b, is := b.(*pattern)
		return is && a.src == b.src && a.flags == b.flags
	case *foreign:
		b, is := b.(*foreign)
		return is && value.Same(a.v, b.v)
	}
	return a == b
}

// compare implements <=>. If the values have no order, ok is false.
func compare(a, b any) (int, bool) { return compareWithin(a, b, 0) }

func compareWithin(a, b any, depth int) (int, bool) {
	switch a := a.(type) {
	case *text:
		if b, is := b.(*text); is {
			return strings.Compare(a.s, b.s), true
		}
	case symbol:
		if b, is := b.(symbol); is {
			return strings.Compare(string(a), string(b)), true
		}
	case int64:
		switch b := b.(type) {
		case int64:
			return order(a, b), true
		case float64:
			return order(float64(a), b), b == b
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return order(a, float64(b)), a == a
		case float64:
			return order(a, b), a == a && b == b
		}
	case *array:
		b, is := b.(*array)
		if !is || depth > maxData {
			return 0, false
		}
		for i := range min(len(a.e), len(b.e)) {
			if n, ok := compareWithin(a.e[i], b.e[i], depth+1); n != 0 || !ok {
				return n, ok
			}
		}
		return order(len(a.e), len(b.e)), true
	}
	return 0, equal(a, b)
}

func order[T int | int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
