package regexp

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// classState is the position within a class while it is parsed.
type classState uint8

const (
	classStart classState = iota // at its begin, or after &&
	classValue                   // after a character that may begin a range
	classType                    // after \w and the like
	classRange                   // after the - of a range
	classDone                    // after a range
)

// classParts are the characters of a class, not in order. strict are the characters that
// folding may carry from ASCII to other characters and back.
type classParts struct {
	all, strict []rune
}

func (c *classParts) add(lo, hi rune) {
	c.all = append(c.all, lo, hi)
	c.strict = append(c.strict, lo, hi)
}

func (c *classParts) and(o classParts) {
	c.all = intersect(canonical(c.all), canonical(o.all))
	c.strict = intersect(canonical(c.strict), canonical(o.strict))
}

// A madeClass is a class that was parsed before. The same source text with the same flags
// always means the same class.
type madeClass struct {
	text   string
	flags  flags
	ranges []rune
	one    bool
}

// maxMade is the number of classes with the same beginning that are cached.
const maxMade = 4

// class parses a bracket expression after its "[" and returns its ranges. If one is true, the
// class is a single character and belongs to the literal around it.
func (p *parser) class() (ranges []rune, one bool) {
	rest := p.src[p.pos:]
	begin := rest[:min(len(rest), 8)]
	for _, m := range p.classes[begin] {
		if m.flags == p.flags && strings.HasPrefix(rest, m.text) {
			p.pos += len(m.text)
			if m.one {
				return slices.Clone(m.ranges), true
			}
			return m.ranges, false
		}
	}
	from := p.pos
	ranges, one = p.readClass()
	if p.classes == nil {
		p.classes = make(map[string][]madeClass)
	}
	if list := p.classes[begin]; len(list) < maxMade {
		p.classes[begin] = append(list, madeClass{p.src[from:p.pos], p.flags, ranges, one})
	}
	return ranges, one
}

func (p *parser) readClass() (ranges []rune, one bool) {
	parts, neg := p.classBody()
	ranges = canonical(parts.all)
	if len(ranges) == 2 && ranges[0] == ranges[1] && !neg {
		return ranges, true
	}
	if p.flags.fold {
		ranges = foldClosure(ranges, canonical(parts.strict))
	}
	if neg {
		ranges = complement(ranges)
	}
	return ranges, false
}

// classBody = [ "^" ] { character | range | type | "[:" name ":]" | "[" classBody | "&&" } "]"
func (p *parser) classBody() (result classParts, neg bool) {
	p.enter()
	start := p.pos - 1
	neg = p.accept("^")
	var (
		cur, prev classParts
		anded     bool
		state     classState
		from      rune // with classValue and classRange
		first     = true
	)
	value := func(r rune) {
		switch state {
		case classValue:
			cur.add(from, from)
			from = r
		case classRange:
			if from > r {
				p.fail(start, "a range of this character class ends before it begins")
			}
			cur.add(from, r)
			state = classDone
			return
		}
		from, state = r, classValue
	}
	flush := func() {
		if state == classValue {
			cur.add(from, from)
		}
	}
	for ; ; first = false {
		if !p.more() {
			p.fail(start, "this character class is not closed")
		}
		at := p.pos
		switch c := p.peek(); {
		case c == ']':
			if first {
				if !p.bracketAhead() {
					p.fail(start, "this character class is empty")
				}
				p.pos++
				value(']')
				continue
			}
			p.pos++
			p.depth--
			flush()
			if anded {
				prev.and(cur)
				return prev, neg
			}
			return cur, neg
		case c == '-':
			p.pos++
			last := p.peek() == ']' || strings.HasPrefix(p.src[p.pos:], "&&")
			switch state {
			case classValue:
				if last {
					value('-')
				} else {
					state = classRange
				}
			case classType:
				if !last {
					p.fail(at, "a range of a character class begins with a class")
				}
				value('-')
			default:
				value('-')
			}
		case c == '&' && strings.HasPrefix(p.src[p.pos:], "&&"):
			p.pos += 2
			flush()
			if anded {
				prev.and(cur)
			} else {
				prev, anded = cur, true
			}
			cur, state = classParts{}, classStart
		case c == '[':
			if ranges, strict, ok := p.posixBracket(); ok {
				p.addType(&cur, ranges, strict, state, at, flush)
				state = classType
				continue
			}
			p.pos++
			inner, innerNeg := p.classBody()
			if innerNeg {
				inner.all = complement(canonical(inner.all))
				inner.strict = complement(canonical(inner.strict))
			}
			cur.all = append(cur.all, inner.all...)
			cur.strict = append(cur.strict, inner.strict...)
		case c == '\\':
			p.pos++
			if ranges, strict, ok := p.typeEscape(at); ok {
				p.addType(&cur, ranges, strict, state, at, flush)
				state = classType
				continue
			}
			for _, r := range p.literalEscape(at, true) {
				value(r)
			}
		default:
			r, w := utf8.DecodeRuneInString(p.src[p.pos:])
			p.pos += w
			value(r)
		}
	}
}

func (p *parser) addType(cur *classParts, ranges, strict []rune, state classState, at int, flush func()) {
	if state == classRange {
		p.fail(at, "a range of a character class ends with a class")
	}
	flush()
	cur.all = append(cur.all, ranges...)
	cur.strict = append(cur.strict, strict...)
}

// bracketAhead reports whether another "]" follows the one here.
func (p *parser) bracketAhead() bool {
	for i := p.pos + 1; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case ']':
			return true
		}
	}
	return false
}

// posixBracket reads [:name:] or [:^name:].
func (p *parser) posixBracket() (ranges, strict []rune, ok bool) {
	rest := p.src[p.pos:]
	if !strings.HasPrefix(rest, "[:") {
		return nil, nil, false
	}
	end := strings.IndexByte(rest, ']')
	if end < 3 || rest[end-1] != ':' {
		return nil, nil, false
	}
	name, neg := strings.CutPrefix(rest[2:end-1], "^")
	ranges = p.namedSet("posix ", name, posixRanges)
	if ranges == nil || strings.IndexByte(rest[2:end], '\\') >= 0 {
		p.fail(p.pos, "unknown POSIX bracket; known are alnum, alpha, ascii, blank, cntrl, digit, "+
			"graph, lower, print, punct, space, upper, word, xdigit")
	}
	ascii := p.flags.chars == rangeASCII
	if ascii {
		ranges = asciiRanges(name)
	}
	if neg {
		ranges = complement(ranges)
	}
	p.pos += end + 1
	if name != "word" && name != "ascii" && !ascii {
		strict = ranges
	}
	return ranges, strict, true
}
