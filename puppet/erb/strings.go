package erb

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/puppet/value"
)

// pure returns a method that converts a string to another string.
func pure(f func(s string) string) method {
	return method{0, -1, func(c *call) (any, error) { return c.rendering.str(f(c.recv.(*text).s)) }}
}

// withStr returns a method with one string as its argument.
func withStr(f func(c *call, s, arg string) (any, error)) method {
	return method{1, 1, func(c *call) (any, error) {
		arg, err := c.str(0)
		if err != nil {
			return nil, err
		}
		return f(c, c.recv.(*text).s, arg)
	}}
}

// ask returns a method without arguments that returns a value for a string.
func ask(f func(c *call, s string) (any, error)) method {
	return method{0, 0, func(c *call) (any, error) { return f(c, c.recv.(*text).s) }}
}

const spaces = " \t\n\v\f\r\x00"

func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return value.Upcase(string(r)) + value.Downcase(s[n:])
}

func chomp(s string) string {
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(t, "\r")
	}
	return strings.TrimSuffix(s, "\r")
}

func stringMethods() map[string]method {
	t := map[string]method{
		"upcase":   pure(value.Upcase),
		"downcase": pure(value.Downcase),
		"swapcase": pure(func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, s)
		}),
		"capitalize": pure(capitalize),
		"strip":      pure(func(s string) string { return strings.TrimRight(strings.TrimLeft(s, spaces[:6]), spaces) }),
		"lstrip":     pure(func(s string) string { return strings.TrimLeft(s, spaces[:6]) }),
		"rstrip":     pure(func(s string) string { return strings.TrimRight(s, spaces) }),
		"chop": pure(func(s string) string {
			_, n := utf8.DecodeLastRuneInString(s)
			if strings.HasSuffix(s, "\r\n") {
				n = 2
			}
			return s[:len(s)-n]
		}),
		"reverse": pure(func(s string) string {
			r := []rune(s)
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
				r[i], r[j] = r[j], r[i]
			}
			return string(r)
		}),
		"succ":    pure(successor),
		"dump":    pure(quote),
		"inspect": pure(quote),
		"chomp": {0, 1, func(c *call) (any, error) {
			s := c.recv.(*text).s
			if len(c.args) == 0 {
				return c.rendering.str(chomp(s))
			}
			end, err := c.str(0)
			return &text{strings.TrimSuffix(s, end)}, err
		}},
		"delete_prefix": withStr(func(c *call, s, arg string) (any, error) { return c.rendering.str(strings.TrimPrefix(s, arg)) }),
		"delete_suffix": withStr(func(c *call, s, arg string) (any, error) { return c.rendering.str(strings.TrimSuffix(s, arg)) }),
		"to_s":          {0, 0, func(c *call) (any, error) { return c.recv, nil }},
		"to_sym":        ask(func(c *call, s string) (any, error) { return symbol(s), nil }),
		"to_i": {0, 1, func(c *call) (any, error) {
			base := 10
			if len(c.args) == 1 {
				var err error
				if base, err = c.int(0); err != nil {
					return nil, err
				}
			}
			return leadingInt(c, c.recv.(*text).s, base)
		}},
		"to_f":     ask(func(c *call, s string) (any, error) { return leadingFloat(s), nil }),
		"hex":      ask(func(c *call, s string) (any, error) { return leadingInt(c, s, 16) }),
		"oct":      ask(func(c *call, s string) (any, error) { return leadingInt(c, s, 8) }),
		"length":   ask(func(c *call, s string) (any, error) { return int64(utf8.RuneCountInString(s)), c.made(len(s)) }),
		"bytesize": ask(func(c *call, s string) (any, error) { return int64(len(s)), nil }),
		"empty?":   ask(func(c *call, s string) (any, error) { return s == "", nil }),
		"ord": ask(func(c *call, s string) (any, error) {
			r, n := utf8.DecodeRuneInString(s)
			if n == 0 {
				return nil, c.raise("ArgumentError", "empty string")
			}
			return int64(r), nil
		}),
		"chars": ask(func(c *call, s string) (any, error) { return c.texts(strings.Split(s, "")) }),
		"bytes": ask(func(c *call, s string) (any, error) {
			if err := c.fits(16 * len(s)); err != nil {
				return nil, err
			}
			a := &array{}
			for i := range len(s) {
				a.e = append(a.e, int64(s[i]))
			}
			return a, nil
		}),
		"include?":    withStr(func(c *call, s, arg string) (any, error) { return strings.Contains(s, arg), c.made(len(s)) }),
		"end_with?":   affix(strings.HasSuffix),
		"start_with?": startWith(),
		"+": {1, 1, func(c *call) (any, error) {
			arg, is := c.args[0].(*text)
			if !is {
				return nil, c.raise("TypeError", "no implicit conversion of %s into String", orNil(c.args[0]))
			}
			return c.rendering.str(c.recv.(*text).s + arg.s)
		}},
		"*": {1, 1, func(c *call) (any, error) {
			n, err := c.int(0)
			if err != nil {
				return nil, err
			}
			s := c.recv.(*text).s
			if n < 0 {
				return nil, c.raise("ArgumentError", "argument must be non-negative")
			}
			if len(s) > 0 {
				if err := c.host.Size(min(n, 1<<40) * len(s)); err != nil {
					return nil, err
				}
				return c.rendering.str(strings.Repeat(s, n))
			}
			return &text{}, nil
		}},
		"%": {1, 1, func(c *call) (any, error) {
			if list, is := c.args[0].(*array); is {
				return c.format(c.recv.(*text).s, list.e)
			}
			return c.format(c.recv.(*text).s, c.args)
		}},
		"<<": {1, 1, appendText}, "concat": {0, -1, appendText},
		"prepend": {1, 1, func(c *call) (any, error) {
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.change(s + c.recv.(*text).s)
		}},
		"replace": {1, 1, func(c *call) (any, error) {
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.change(s)
		}},
		"insert": {2, 2, func(c *call) (any, error) {
			at, err := c.int(0)
			if err != nil {
				return nil, err
			}
			s, err := c.str(1)
			if err != nil {
				return nil, err
			}
			chars := []rune(c.recv.(*text).s)
			if at < 0 {
				at += len(chars) + 1
			}
			if at < 0 || at > len(chars) {
				return nil, c.raise("IndexError", "index %d out of string", at)
			}
			return c.change(string(chars[:at]) + s + string(chars[at:]))
		}},
		"casecmp": withStr(func(c *call, s, arg string) (any, error) {
			return int64(strings.Compare(strings.ToLower(s), strings.ToLower(arg))), nil
		}),
		"casecmp?": withStr(func(c *call, s, arg string) (any, error) { return strings.EqualFold(s, arg), nil }),
		"lines":    ask(func(c *call, s string) (any, error) { return c.texts(lines(s)) }),
		"each_line": {0, 0, func(c *call) (any, error) {
			if c.block == nil {
				return &enumerator{c.recv, c.name, c.args}, nil
			}
			for _, l := range lines(c.recv.(*text).s) {
				if _, err := c.yield(c.block, &text{l}); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}},
		"each_char": {0, 0, func(c *call) (any, error) {
			if c.block == nil {
				return &enumerator{c.recv, c.name, c.args}, nil
			}
			for _, l := range c.recv.(*text).s {
				if _, err := c.yield(c.block, &text{string(l)}); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}},
		"center":  padding(func(s, left, right string) string { return left + s + right }, true),
		"ljust":   padding(func(s, left, right string) string { return s + left + right }, false),
		"rjust":   padding(func(s, left, right string) string { return left + right + s }, false),
		"tr":      {2, 2, translate},
		"delete":  {1, 1, removing(func(in, _ bool) bool { return in })},
		"squeeze": {0, 1, removing(func(in, again bool) bool { return in && again })},
		"count": withStr(func(c *call, s, arg string) (any, error) {
			set, err := c.charSet(arg)
			n := int64(0)
			for _, r := range s {
				if set.has(r) {
					n++
				}
			}
			return n, err
		}),
		"encode":         {0, -1, func(c *call) (any, error) { return c.recv, nil }},
		"force_encoding": {1, 1, func(c *call) (any, error) { return c.recv, nil }},
		"clear":          {0, 0, func(c *call) (any, error) { return c.change("") }},
	}
	comparisons(t)
	for name, of := range map[string]string{"size": "length", "next": "succ", "to_str": "to_s", "intern": "to_sym", "scrub": "encode", "unicode_normalize": "encode"} {
		t[name] = t[of]
	}
	patternMethods(t)
	for _, name := range []string{"upcase", "downcase", "swapcase", "capitalize", "strip", "lstrip", "rstrip", "chop", "chomp", "reverse", "gsub", "sub", "tr", "delete", "squeeze", "delete_prefix", "delete_suffix"} {
		t[name+"!"] = bang(t[name])
	}
	return t
}

// bang makes a method that changes its string from a method that returns
// another string. If the string does not change, it returns nil.
func bang(m method) method {
	return method{m.min, m.max, func(c *call) (any, error) {
		v, err := m.run(c)
		if err != nil {
			return nil, err
		}
		s := v.(*text).s
		if s == c.recv.(*text).s {
			return nil, nil
		}
		return c.change(s)
	}}
}

// change sets the content of a string.
func (c *call) change(s string) (any, error) {
	if err := c.fits(len(s)); err != nil {
		return nil, err
	}
	c.recv.(*text).s = s
	return c.recv, nil
}

func appendText(c *call) (any, error) {
	s := c.recv.(*text).s
	for i, a := range c.args {
		more, is := a.(*text)
		if n, char := a.(int64); char && n >= 0 && n <= utf8.MaxRune {
			more, is = &text{string(rune(n))}, true
		}
		if !is {
			return nil, c.raise("TypeError", "no implicit conversion of %s into String", orNil(c.args[i]))
		}
		s += more.s
	}
	return c.change(s)
}

func orNil(v any) string {
	if v == nil {
		return "nil"
	}
	return className(v)
}

// texts returns an array of strings.
func (c *call) texts(list []string) (any, error) {
	if err := c.fits(16 * len(list)); err != nil {
		return nil, err
	}
	a := &array{make([]any, len(list))}
	for i, s := range list {
		a.e[i] = &text{s}
	}
	return a, nil
}

func lines(s string) []string {
	list := strings.SplitAfter(s, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

func affix(f func(s, part string) bool) method {
	return method{0, -1, func(c *call) (any, error) {
		for i := range c.args {
			part, err := c.str(i)
			if err != nil {
				return nil, err
			}
			if f(c.recv.(*text).s, part) {
				return true, nil
			}
		}
		return false, nil
	}}
}

func startWith() method {
	plain := affix(strings.HasPrefix)
	return method{0, -1, func(c *call) (any, error) {
		for _, a := range c.args {
			if p, is := a.(*pattern); is {
				m, err := c.match(p, c.recv.(*text).s, 0)
				if err != nil || m != nil && m.loc[0] == 0 {
					return m != nil, err
				}
				return false, nil
			}
		}
		return plain.run(c)
	}}
}

// leadingInt returns the number at the beginning of a string.
func leadingInt(c *call, s string, base int) (any, error) {
	if base < 2 || base > 36 {
		return nil, c.raise("ArgumentError", "invalid radix %d", base)
	}
	s = strings.TrimLeft(s, spaces[:6])
	end := 0
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	if prefix := map[int]string{16: "0x", 2: "0b", 8: "0o"}[base]; prefix != "" && strings.HasPrefix(strings.ToLower(s[end:]), prefix) {
		s = s[:end] + s[end+2:]
	}
	for end < len(s) {
		d := s[end]
		if d == '_' && end > 0 && s[end-1] != '_' {
			end++
			continue
		}
		if _, err := strconv.ParseUint(string(rune(d)), base, 8); err != nil {
			break
		}
		end++
	}
	digits := strings.ReplaceAll(s[:end], "_", "")
	if digits == "" || digits == "-" || digits == "+" {
		return int64(0), nil
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return nil, c.subset("an Integer of more than 64 bits")
	}
	return n, nil
}

func leadingFloat(s string) float64 {
	s = strings.TrimLeft(s, spaces[:6])
	best := 0.0
	for end := 1; end <= min(len(s), 400); end++ {
		if c := s[end-1]; !isDigit(c) && strings.IndexByte("+-.eE_", c) < 0 {
			break
		}
		if isDigit(s[end-1]) {
			if f, err := strconv.ParseFloat(strings.ReplaceAll(s[:end], "_", ""), 64); err == nil {
				best = f
			}
		}
	}
	return best
}

func padding(f func(s, left, right string) string, both bool) method {
	return method{1, 2, func(c *call) (any, error) {
		width, err := c.int(0)
		if err != nil {
			return nil, err
		}
		fill := []rune(" ")
		if len(c.args) == 2 {
			p, err := c.str(1)
			if err != nil {
				return nil, err
			}
			if fill = []rune(p); len(fill) == 0 {
				return nil, c.raise("ArgumentError", "zero width padding")
			}
		}
		s := c.recv.(*text).s
		n := width - utf8.RuneCountInString(s)
		if n <= 0 {
			return &text{s}, nil
		}
		if err := c.host.Size(4*min(n, 1<<40) + len(s)); err != nil {
			return nil, err
		}
		pad := func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteRune(fill[i%len(fill)])
			}
			return b.String()
		}
		if both {
			return c.rendering.str(f(s, pad(n/2), pad(n-n/2)))
		}
		return c.rendering.str(f(s, pad(n), ""))
	}}
}

// A charSet is the set of characters in an argument of tr, delete or count.
type charSet struct {
	ranges []charRange
	not    bool
}

// charRange is a range of characters. index is the index of the first one.
type charRange struct {
	lo, hi rune
	index  int
}

func (c *call) charSet(s string) (charSet, error) {
	var set charSet
	r := []rune(s)
	if len(r) > 1 && r[0] == '^' {
		set.not, r = true, r[1:]
	}
	n := 0
	for i := 0; i < len(r); i++ {
		lo, hi := r[i], r[i]
		switch {
		case r[i] == '\\' && i+1 < len(r):
			i++
			lo, hi = r[i], r[i]
		case i+2 < len(r) && r[i+1] == '-' && r[i+2] >= r[i]:
			hi = r[i+2]
			i += 2
		}
		set.ranges = append(set.ranges, charRange{lo, hi, n})
		n += int(hi-lo) + 1
	}
	return set, c.work(1 + len(c.recv.(*text).s)/64*(1+len(set.ranges)))
}

func (s charSet) index(r rune) int {
	for i := len(s.ranges) - 1; i >= 0; i-- {
		if x := s.ranges[i]; x.lo <= r && r <= x.hi {
			return x.index + int(r-x.lo)
		}
	}
	return -1
}

// at returns the character with an index. If the index is too large, it returns
// the last character.
func (s charSet) at(i int) rune {
	for _, x := range s.ranges {
		if i-x.index <= int(x.hi-x.lo) {
			return x.lo + rune(i-x.index)
		}
	}
	return s.ranges[len(s.ranges)-1].hi
}

func (s charSet) has(r rune) bool { return (s.index(r) >= 0) != s.not }

func translate(c *call) (any, error) {
	from, err := c.str(0)
	if err != nil {
		return nil, err
	}
	to, err := c.str(1)
	if err != nil {
		return nil, err
	}
	set, err := c.charSet(from)
	if err != nil {
		return nil, err
	}
	other, err := c.charSet(strings.TrimPrefix(to, "^"))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, r := range c.recv.(*text).s {
		switch {
		case !set.has(r):
			b.WriteRune(r)
		case len(other.ranges) == 0:
		case set.not:
			b.WriteRune(other.ranges[len(other.ranges)-1].hi)
		default:
			b.WriteRune(other.at(set.index(r)))
		}
	}
	return c.rendering.str(b.String())
}

// removing removes characters. drop is called for each character. in is set if
// it is in the set, again if it is equal to the previous character.
func removing(drop func(in, again bool) bool) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		set := charSet{not: true}
		if len(c.args) > 0 {
			arg, err := c.str(0)
			if err != nil {
				return nil, err
			}
			if set, err = c.charSet(arg); err != nil {
				return nil, err
			}
		}
		var b strings.Builder
		last := rune(-1)
		for _, r := range c.recv.(*text).s {
			if !drop(set.has(r), r == last) {
				b.WriteRune(r)
			}
			last = r
		}
		return c.rendering.str(b.String())
	}
}

func symbolMethods() map[string]method {
	t := map[string]method{}
	strs := stringMethods()
	for _, name := range []string{"length", "size", "upcase", "downcase", "capitalize", "to_s", "start_with?", "end_with?", "empty?", "[]", "=~", "match", "match?"} {
		m := strs[name]
		t[name] = method{m.min, m.max, func(c *call) (any, error) {
			in := *c
			in.recv = &text{string(c.recv.(symbol))}
			v, err := m.run(&in)
			if s, is := v.(*text); is && (name == "upcase" || name == "downcase" || name == "capitalize") {
				return symbol(s.s), err
			}
			return v, err
		}}
	}
	t["id2name"], t["name"] = t["to_s"], t["to_s"]
	t["to_sym"] = method{0, 0, func(c *call) (any, error) { return c.recv, nil }}
	t["to_proc"] = method{0, 0, func(c *call) (any, error) { return c.symbolProc(c.recv.(symbol)), nil }}
	comparisons(t)
	return t
}
