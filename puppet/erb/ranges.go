package erb

// elementSize is the approximate memory of a string in a list.
const elementSize = 64

// spanElements returns the elements of a range.
func (r *rendering) spanElements(s *span) ([]any, error) {
	switch lo := s.lo.(type) {
	case int64:
		hi, is := s.hi.(int64)
		if f, float := s.hi.(float64); float {
			hi, is = int64(f), true
		}
		if !is {
			return nil, r.subset("the elements of the range %s", inspect(s))
		}
		if s.exclusive {
			hi--
		}
		if hi < lo {
			return nil, nil
		}
		if err := r.fits(int(16 * min(uint64(hi-lo)+1, 1<<40))); err != nil {
			return nil, err
		}
		list := make([]any, 0, hi-lo+1)
		for n := lo; ; n++ {
			list = append(list, n)
			if n == hi {
				return list, nil
			}
		}
	case *text:
		hi, is := s.hi.(*text)
		if !is {
			break
		}
		var list []any
		if lo.s > hi.s {
			return nil, nil
		}
		for x := lo.s; len(x) <= len(hi.s); x = successor(x) {
			if x == hi.s && s.exclusive {
				break
			}
			list = append(list, &text{x})
			if err := r.host.Size(elementSize * len(list)); err != nil {
				return nil, err
			}
			if err := r.made(elementSize); err != nil {
				return nil, err
			}
			if x == hi.s || x == "" {
				break
			}
		}
		return list, nil
	}
	return nil, r.raise("TypeError", "can't iterate from %s", className(s.lo))
}

// successor returns the string after s, as Ruby's String#succ does for letters
// and digits.
func successor(s string) string {
	b := []byte(s)
	last := -1 // the letter or digit that was changed last
	for i := len(b) - 1; i >= 0; i-- {
		c := b[i]
		if !isDigit(c) && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			if last >= 0 && !hasAlnum(b[:i]) {
				break
			}
			continue
		}
		last = i
		switch c {
		case 'z':
			b[i] = 'a'
		case 'Z':
			b[i] = 'A'
		case '9':
			b[i] = '0'
		default:
			b[i]++
			return string(b)
		}
	}
	if last < 0 {
		if len(b) > 0 {
			b[len(b)-1]++
		}
		return string(b)
	}
	head := b[last]
	if head == '0' {
		head = '1'
	}
	return string(b[:last]) + string(head) + string(b[last:])
}

// hasAlnum reports whether b contains a letter or a digit.
func hasAlnum(b []byte) bool {
	for _, c := range b {
		if isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return true
		}
	}
	return false
}

// covers reports whether a value is between the bounds of a range.
func covers(s *span, v any) bool {
	if s.lo != nil {
		if n, ok := compare(s.lo, v); !ok || n > 0 {
			return false
		}
	}
	if s.hi != nil {
		n, ok := compare(v, s.hi)
		if !ok || n > 0 || n == 0 && s.exclusive {
			return false
		}
	}
	return true
}

func rangeMethods() map[string]method {
	cover := method{1, 1, func(c *call) (any, error) { return covers(c.recv.(*span), c.args[0]), nil }}
	lo := method{0, 0, func(c *call) (any, error) { return c.recv.(*span).lo, nil }}
	hi := method{0, 0, func(c *call) (any, error) { return c.recv.(*span).hi, nil }}
	t := map[string]method{
		"each":     over(0, 0, each),
		"include?": cover, "member?": cover, "cover?": cover, "===": cover,
		"begin": lo, "end": hi,
		"size": of(0, 0, func(c *call, list []any) (any, error) { return int64(len(list)), nil }),
		"last": of(0, 1, func(c *call, list []any) (any, error) { return c.send(&array{list}, "last", c.args, nil) }),
		"exclude_end?": {0, 0, func(c *call) (any, error) {
			return c.recv.(*span).exclusive, nil
		}},
		"step": {1, 1, func(c *call) (any, error) {
			s := c.recv.(*span)
			n, err := c.int(0)
			from, is := s.lo.(int64)
			to, ok := s.hi.(int64)
			if err != nil || !is || !ok || n <= 0 {
				return nil, c.subset("step of this range")
			}
			if s.exclusive {
				to--
			}
			return c.count(from, to, int64(n))
		}},
	}
	return t
}
