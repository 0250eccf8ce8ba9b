package erb

import (
	"strings"
	"unicode/utf8"

	"bolt/internal/regexp"
)

// match matches a string, beginning at byte from, and sets $~.
func (r *rendering) match(p *pattern, s string, from int) (*match, error) {
	if err := r.work(1 + len(s)/64); err != nil {
		return nil, err
	}
	loc, err := p.re.Within(r.host.Budget).FindIndex(s, from)
	if err != nil {
		return nil, err
	}
	if loc == nil {
		r.last = nil
		return nil, nil
	}
	r.last = &match{s, append([]int{}, loc...), p.re.Names()}
	return r.last, nil
}

// patternArg returns argument i as a regular expression. A string is matched
// literally.
func (c *call) patternArg(i int) (*pattern, error) {
	switch v := c.args[i].(type) {
	case *pattern:
		return v, nil
	case *text:
		return newPattern(regexp.QuoteMeta(v.s), "")
	}
	return nil, c.raise("TypeError", "wrong argument type %s (expected Regexp)", orNil(c.args[i]))
}

// patternMethods are the methods of strings with a regular expression as
// argument.
func patternMethods(t map[string]method) {
	t["=~"] = method{1, 1, func(c *call) (any, error) {
		p, is := c.args[0].(*pattern)
		if !is {
			return nil, c.raise("TypeError", "type mismatch: %s given", orNil(c.args[0]))
		}
		return c.position(p, c.recv.(*text).s)
	}}
	t["match?"] = method{1, 1, func(c *call) (any, error) {
		p, err := c.pattern(0)
		if err != nil {
			return nil, err
		}
		last := c.last
		m, err := c.match(p, c.recv.(*text).s, 0)
		c.last = last
		return m != nil, err
	}}
	t["match"] = method{1, 1, func(c *call) (any, error) {
		p, err := c.pattern(0)
		if err != nil {
			return nil, err
		}
		return c.found(p, c.recv.(*text).s)
	}}
	t["gsub"] = method{1, 2, func(c *call) (any, error) { return substitute(c, true) }}
	t["sub"] = method{1, 2, func(c *call) (any, error) { return substitute(c, false) }}
	t["scan"] = method{1, 1, scan}
	t["split"] = method{0, 2, splitText}
	t["[]"] = method{1, 2, slice}
	t["slice"] = t["[]"]
	t["[]="] = method{2, 2, func(c *call) (any, error) {
		s := c.recv.(*text).s
		with, err := (&call{rendering: c.rendering, name: c.name, args: c.args[1:]}).str(0)
		if err != nil {
			return nil, err
		}
		if p, err := c.patternArg(0); err == nil {
			m, err := c.match(p, s, 0)
			if err != nil {
				return nil, err
			}
			if m == nil {
				return nil, c.raise("IndexError", "string not matched")
			}
			return c.change(s[:m.loc[0]] + with + s[m.loc[1]:])
		}
		chars := []rune(s)
		from, to, ok, err := c.extent(c.args[:1], len(chars))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.raise("IndexError", "index out of string")
		}
		return c.change(string(chars[:from]) + with + string(chars[to:]))
	}}
	t["slice!"] = method{1, 2, func(c *call) (any, error) {
		v, err := slice(c)
		if s, is := v.(*text); is && err == nil {
			old := c.recv.(*text).s
			if _, err := c.change(strings.Replace(old, s.s, "", 1)); err != nil {
				return nil, err
			}
		}
		return v, err
	}}
	index := func(last bool) method {
		return method{1, 2, func(c *call) (any, error) {
			s := c.recv.(*text).s
			from := 0
			if len(c.args) == 2 {
				n, err := c.int(1)
				if err != nil {
					return nil, err
				}
				for range max(n, 0) {
					_, size := utf8.DecodeRuneInString(s[from:])
					from += size
				}
			}
			at := -1
			if p, is := c.args[0].(*pattern); is && !last {
				m, err := c.match(p, s, from)
				if err != nil || m == nil {
					return nil, err
				}
				at = m.loc[0]
			} else {
				part, err := c.str(0)
				if err != nil {
					return nil, err
				}
				if last {
					at = strings.LastIndex(s, part)
				} else if at = strings.Index(s[from:], part); at >= 0 {
					at += from
				}
			}
			if at < 0 {
				return nil, nil
			}
			return int64(utf8.RuneCountInString(s[:at])), nil
		}}
	}
	t["index"], t["rindex"] = index(false), index(true)
	t["partition"] = method{1, 1, func(c *call) (any, error) {
		p, err := c.patternArg(0)
		if err != nil {
			return nil, err
		}
		s := c.recv.(*text).s
		m, err := c.match(p, s, 0)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return c.texts([]string{s, "", ""})
		}
		return c.texts([]string{s[:m.loc[0]], s[m.loc[0]:m.loc[1]], s[m.loc[1]:]})
	}}
	t["rpartition"] = withStr(func(c *call, s, arg string) (any, error) {
		if i := strings.LastIndex(s, arg); i >= 0 {
			return c.texts([]string{s[:i], arg, s[i+len(arg):]})
		}
		return c.texts([]string{"", "", s})
	})
}

// pattern returns argument i as a regular expression. A string is the source of
// one.
func (c *call) pattern(i int) (*pattern, error) {
	if s, is := c.args[i].(*text); is {
		p, err := newPattern(s.s, "")
		if err != nil {
			return nil, c.raise("RegexpError", "%v", err)
		}
		return p, nil
	}
	return c.patternArg(i)
}

// position returns the index of the character at which a match begins, or nil.
func (r *rendering) position(p *pattern, s string) (any, error) {
	m, err := r.match(p, s, 0)
	if m == nil || err != nil {
		return nil, err
	}
	return int64(utf8.RuneCountInString(s[:m.loc[0]])), nil
}

// found returns a match, or nil.
func (r *rendering) found(p *pattern, s string) (any, error) {
	m, err := r.match(p, s, 0)
	if m == nil || err != nil {
		return nil, err
	}
	return m, nil
}

// substitute implements sub. If all is set, it implements gsub.
func substitute(c *call, all bool) (any, error) {
	s := c.recv.(*text).s
	p, err := c.patternArg(0)
	if err != nil {
		return nil, err
	}
	re := p.re.Within(c.host.Budget)
	var table *hash
	if len(c.args) == 2 {
		if table, _ = c.args[1].(*hash); table == nil {
			template, err := c.str(1)
			if err != nil {
				return nil, err
			}
			out, err := re.Replace(s, template, all)
			if err != nil {
				return nil, err
			}
			return c.rendering.str(out)
		}
	} else if c.block == nil {
		return nil, c.subset("%s without a replacement", c.name)
	}
	var b strings.Builder
	end := 0
	for loc, err := range re.All(s) {
		if err != nil {
			return nil, err
		}
		c.last = &match{s, append([]int{}, loc...), p.re.Names()}
		whole := c.last.group(0)
		var v any
		if table != nil {
			v, _ = table.get(whole)
		} else if v, err = c.yield(c.block, whole); err != nil {
			return nil, err
		}
		with, err := c.toS(v)
		if err != nil {
			return nil, err
		}
		b.WriteString(s[end:loc[0]])
		b.WriteString(with)
		end = loc[1]
		if err := c.host.Size(b.Len()); err != nil {
			return nil, err
		}
		if !all {
			break
		}
	}
	b.WriteString(s[end:])
	return c.rendering.str(b.String())
}

func scan(c *call) (any, error) {
	p, err := c.patternArg(0)
	if err != nil {
		return nil, err
	}
	s := c.recv.(*text).s
	out := &array{}
	for loc, err := range p.re.Within(c.host.Budget).All(s) {
		if err != nil {
			return nil, err
		}
		m := &match{s, append([]int{}, loc...), p.re.Names()}
		c.last = m
		v := m.group(0)
		if len(loc) > 2 {
			v = m.captures()
		}
		if c.block != nil {
			if _, err := c.yield(c.block, v); err != nil {
				return nil, err
			}
			continue
		}
		out.e = append(out.e, v)
		if err := c.made(32); err != nil {
			return nil, err
		}
	}
	if c.block != nil {
		return c.recv, nil
	}
	return out, nil
}

func (m *match) captures() *array {
	a := &array{}
	for i := 1; 2*i < len(m.loc); i++ {
		a.e = append(a.e, m.group(i))
	}
	return a
}

// splitText implements split.
func splitText(c *call) (any, error) {
	s := c.recv.(*text).s
	limit := 0
	if len(c.args) == 2 {
		var err error
		if limit, err = c.int(1); err != nil {
			return nil, err
		}
	}
	if limit == 1 {
		return c.texts([]string{s})
	}
	if len(c.args) == 0 || c.args[0] == nil || equal(c.args[0], &text{" "}) {
		s = strings.TrimLeft(s, spaces)
		if limit == 0 {
			return c.texts(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(spaces, r) }))
		}
		p, err := newPattern(`[ \t\n\v\f\r\0]+`, "")
		if err != nil {
			return nil, err
		}
		list, err := p.re.Within(c.host.Budget).Split(s, limit)
		if err != nil {
			return nil, err
		}
		return c.texts(list)
	}
	p, err := c.patternArg(0)
	if err != nil {
		return nil, err
	}
	list, err := p.re.Within(c.host.Budget).Split(s, limit)
	if err != nil {
		return nil, err
	}
	return c.texts(list)
}

// slice implements []. It returns a character, a substring or a match.
func slice(c *call) (any, error) {
	s := c.recv.(*text).s
	switch v := c.args[0].(type) {
	case *text:
		if strings.Contains(s, v.s) {
			return &text{v.s}, nil
		}
		return nil, nil
	case *pattern:
		m, err := c.match(v, s, 0)
		if m == nil || err != nil {
			return nil, err
		}
		if len(c.args) == 1 {
			return m.group(0), nil
		}
		return c.groupOf(m, c.args[1])
	}
	chars := []rune(s)
	if err := c.made(len(s)); err != nil {
		return nil, err
	}
	from, to, ok, err := c.extent(c.args, len(chars))
	if _, one := c.args[0].(int64); one && len(c.args) == 1 && from == len(chars) {
		ok = false
	}
	if !ok || err != nil {
		return nil, err
	}
	return &text{string(chars[from:to])}, nil
}

// extent returns the begin and the end of a part of a sequence with the given
// size. The arguments are an index, a begin and a length, or a range.
func (c *call) extent(args []any, size int) (from, to int, ok bool, err error) {
	if s, is := args[0].(*span); is {
		var lo, hi any = s.lo, s.hi
		if lo == nil {
			lo = int64(0)
		}
		if hi == nil {
			hi = int64(-1)
		}
		a, isA := lo.(int64)
		b, isB := hi.(int64)
		if !isA || !isB {
			return 0, 0, false, c.raise("TypeError", "no implicit conversion into Integer")
		}
		if a < 0 {
			a += int64(size)
		}
		if b < 0 {
			b += int64(size)
		}
		if !s.exclusive || s.hi == nil {
			b++
		}
		if a < 0 || a > int64(size) {
			return 0, 0, false, nil
		}
		return int(a), int(min(max(b, a), int64(size))), true, nil
	}
	in := *c
	in.args = args
	if from, err = in.int(0); err != nil {
		return 0, 0, false, err
	}
	if from < 0 {
		from += size
	}
	length := 1
	if len(args) == 2 {
		if length, err = in.int(1); err != nil {
			return 0, 0, false, err
		}
	}
	if from < 0 || from > size || length < 0 {
		return from, 0, false, nil
	}
	return from, from + min(length, size-from), true, nil
}

// groupOf returns a group of a match by number or name.
func (r *rendering) groupOf(m *match, which any) (any, error) {
	if n, is := which.(int64); is {
		if n < 0 {
			n += int64(len(m.loc) / 2)
		}
		return m.group(int(n)), nil
	}
	name := toS(which)
	for i, known := range m.names {
		if known == name {
			return m.group(i + 1), nil
		}
	}
	return nil, r.raise("IndexError", "undefined group name reference: %s", name)
}

func regexpMethods() map[string]method {
	return map[string]method{
		"=~": {1, 1, func(c *call) (any, error) {
			if c.args[0] == nil {
				return nil, nil
			}
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.position(c.recv.(*pattern), s)
		}},
		"match": {1, 1, func(c *call) (any, error) {
			if c.args[0] == nil {
				return nil, nil
			}
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.found(c.recv.(*pattern), s)
		}},
		"match?": {1, 1, func(c *call) (any, error) {
			if c.args[0] == nil {
				return false, nil
			}
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			last := c.last
			m, err := c.match(c.recv.(*pattern), s, 0)
			c.last = last
			return m != nil, err
		}},
		"source": {0, 0, func(c *call) (any, error) { return &text{c.recv.(*pattern).src}, nil }},
	}
}

func matchMethods() map[string]method {
	return map[string]method{
		"[]":       {1, 1, func(c *call) (any, error) { return c.groupOf(c.recv.(*match), c.args[0]) }},
		"captures": {0, 0, func(c *call) (any, error) { return c.recv.(*match).captures(), nil }},
		"to_a": {0, 0, func(c *call) (any, error) {
			m := c.recv.(*match)
			return &array{append([]any{m.group(0)}, m.captures().e...)}, nil
		}},
		"names": {0, 0, func(c *call) (any, error) { return c.texts(c.recv.(*match).names) }},
		"named_captures": {0, 0, func(c *call) (any, error) {
			m, h := c.recv.(*match), newHash(0)
			for i, name := range m.names {
				h.set(&text{name}, m.group(i+1))
			}
			return h, nil
		}},
		"pre_match": {0, 0, func(c *call) (any, error) {
			m := c.recv.(*match)
			return &text{m.s[:m.loc[0]]}, nil
		}},
		"post_match": {0, 0, func(c *call) (any, error) {
			m := c.recv.(*match)
			return &text{m.s[m.loc[1]:]}, nil
		}},
	}
}
