package regexp

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// special reports whether \c, outside of a class, is something other than a
// character.
func (p *parser) special(c byte) bool {
	switch c {
	case 'w', 'W', 'd', 'D', 's', 'S', 'h', 'H', 'b', 'B', 'A', 'Z', 'z', 'G', 'K', 'R', 'X':
		return true
	case 'p', 'P':
		return p.pos+1 < len(p.src) && p.src[p.pos+1] == '{'
	case 'k', 'g':
		return p.pos+1 < len(p.src) && (p.src[p.pos+1] == '<' || p.src[p.pos+1] == '\'')
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.backrefAhead()
	}
	return false
}

// backrefAhead distinguishes \1 from an octal character: a number of two
// digits or more is a reference if there are at least as many groups before
// it.
func (p *parser) backrefAhead() bool {
	saved := p.pos
	n, _ := p.number()
	p.pos = saved
	if v, digits := p.octalAhead(); digits == 3 && v > 0o177 {
		return false
	}
	return n <= 9 || n < len(p.groups)
}

func (p *parser) octalAhead() (v, digits int) {
	for digits < 3 && p.pos+digits < len(p.src) && p.src[p.pos+digits]-'0' < 8 {
		v = v*8 + int(p.src[p.pos+digits]-'0')
		digits++
	}
	return v, digits
}

// escape parses the text after a backslash. If it is a character, escape
// returns nil and consumes nothing.
func (p *parser) escape(start int) *node {
	if !p.more() {
		p.fail(start, "the pattern ends with a backslash")
	}
	c := p.peek()
	if !p.special(c) {
		return nil
	}
	assert := func(a assertion) *node {
		return &node{kind: kAssert, assert: a, pos: start}
	}
	if '1' <= c && c <= '9' {
		n, _ := p.number()
		return p.backref(&node{groups: []int{n}, numbered: true, pos: start})
	}
	if c|0x20 == 'p' {
		ranges, neg, _ := p.propertyEscape(start)
		if p.flags.fold {
			ranges = foldClosure(ranges, ranges)
		}
		if neg {
			ranges = p.other(ranges)
		}
		return &node{kind: kSet, set: p.set(start, ranges), pos: start}
	}
	if ranges, _, ok := p.typeEscape(start); ok {
		n := &node{kind: kSet, set: p.set(start, ranges), pos: start}
		if c|0x20 == 'w' {
			n.size = 1 // Onigmo has an instruction for it
		}
		return n
	}
	p.pos++
	switch c {
	case 'b':
		if p.flags.chars == rangeASCII {
			return assert(asciiBoundary)
		}
		return assert(wordBoundary)
	case 'B':
		if p.flags.chars == rangeASCII {
			return assert(notASCIIBoundary)
		}
		return assert(notWordBoundary)
	case 'A':
		return assert(beginText)
	case 'Z':
		return assert(endTextNewline)
	case 'z':
		return assert(endText)
	case 'G':
		return assert(searchStart)
	case 'K':
		return &node{kind: kKeep, pos: start}
	case 'R':
		return p.ours(lineBreak)
	case 'X':
		return p.ours(graphemeCluster)
	case 'g':
		open := p.peek()
		p.pos++
		return p.call(start, closing(open))
	}
	open := p.peek() // \k
	p.pos++
	return p.backref(p.reference(start, closing(open)))
}

// ours returns the tree of one of this package's own patterns.
func (p *parser) ours(src string) *node {
	n := p.fixed[src]
	if n == nil {
		sub := parser{src: src, pattern: pattern{groups: []*node{nil}}}
		n = sub.alternatives()
		if p.fixed == nil {
			p.fixed = make(map[string]*node)
		}
		p.fixed[src] = n
	}
	return n
}

// namedSet returns the ranges that find returns for a name, and caches them,
// because large ones take some time.
func (p *parser) namedSet(kind, name string, find func(string) []rune) []rune {
	key := kind + name
	ranges, ok := p.sets[key]
	if !ok {
		ranges = find(name)
		if p.sets == nil {
			p.sets = make(map[string][]rune)
		}
		p.sets[key] = ranges
	}
	return ranges
}

// typeEscape parses \w \d \s \h \p{…} and their opposites. strict holds the
// characters that case folding may carry beyond ASCII; \w adds nothing to it.
func (p *parser) typeEscape(start int) (ranges, strict []rune, ok bool) {
	c := p.peek()
	switch c {
	case 'w', 'W', 'd', 'D', 's', 'S', 'h', 'H':
		p.pos++
		var name string
		switch c | 0x20 {
		case 'w':
			name = "word"
		case 'd':
			name = "digit"
		case 's':
			name = "space"
		case 'h':
			name = "xdigit"
		}
		if p.flags.chars == rangeUnicode {
			ranges = p.namedSet("posix ", name, posixRanges)
		} else {
			ranges = asciiRanges(name)
		}
		if c < 'a' {
			ranges = p.other(ranges)
		}
		if name != "word" {
			strict = ranges
		}
		return ranges, strict, true
	case 'p', 'P':
		ranges, neg, ok := p.propertyEscape(start)
		if neg {
			ranges = p.other(ranges)
		}
		return ranges, ranges, ok
	}
	return nil, nil, false
}

// propertyEscape reads \p{…} or \P{…}.
func (p *parser) propertyEscape(start int) (ranges []rune, neg, ok bool) {
	if p.pos+1 >= len(p.src) || p.src[p.pos+1] != '{' {
		return nil, false, false
	}
	end := strings.IndexByte(p.src[p.pos:], '}')
	if end < 0 {
		p.fail(start, "the name of a character property has no end")
	}
	name := p.src[p.pos+2 : p.pos+end]
	neg = p.src[p.pos] == 'P'
	p.pos += end + 1
	if strings.HasPrefix(name, "^") {
		name, neg = name[1:], !neg
	}
	ranges = p.namedSet("property ", name, property)
	if ranges == nil {
		p.fail(start, "the character property "+strconv.Quote(name)+
			" is not known; known are POSIX names, general categories, scripts and binary properties")
	}
	return ranges, neg, true
}

// literalEscape parses the characters after a backslash. Only \u{61 62} has
// more than one.
func (p *parser) literalEscape(start int, inClass bool) []rune {
	if !p.more() {
		p.fail(start, "the pattern ends with a backslash")
	}
	c := p.peek()
	switch c {
	case 'u':
		p.pos++
		return p.unicodeEscape(start)
	case '0', '1', '2', '3', '4', '5', '6', '7', 'x', 'c', 'C', 'M':
		return []rune{p.byteEscapes(start)}
	case 'b':
		if !inClass {
			break
		}
		p.pos++
		return []rune{'\b'}
	}
	r := p.rune()
	if i := strings.IndexRune("ntrfave", r); i >= 0 {
		r = rune("\n\t\r\f\a\v\x1b"[i])
	}
	return []rune{r}
}

func (p *parser) unicodeEscape(start int) []rune {
	var out []rune
	add := func(hex string) {
		v, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || v > utf8.MaxRune || 0xd800 <= v && v <= 0xdfff {
			p.fail(start, "a Unicode escape is \\u and four hexadecimal digits, or \\u{…} with numbers of characters")
		}
		out = append(out, rune(v))
	}
	if !p.accept("{") {
		end := min(p.pos+4, len(p.src))
		hex := p.src[p.pos:end]
		p.pos = end
		if len(hex) < 4 {
			hex = ""
		}
		add(hex)
		return out
	}
	end := strings.IndexByte(p.src[p.pos:], '}')
	if end < 0 {
		end = 0
	}
	for hex := range strings.FieldsSeq(p.src[p.pos : p.pos+end]) {
		add(hex)
	}
	p.pos += end + 1
	if len(out) == 0 {
		add("")
	}
	return out
}

// byteEscapes reads \x, octal and control escapes. Bytes beyond ASCII must
// make up a character together.
func (p *parser) byteEscapes(start int) rune {
	buf := []byte{p.byteEscape(start)}
	for buf[0] >= utf8.RuneSelf && !utf8.FullRune(buf) {
		if !p.accept(`\`) || strings.IndexByte("01234567xcCM", p.peek()) < 0 || !p.more() {
			p.fail(start, "these bytes do not make up a whole character of UTF-8")
		}
		buf = append(buf, p.byteEscape(start))
	}
	r, w := utf8.DecodeRune(buf)
	if r == utf8.RuneError && w < 2 {
		p.fail(start, "these bytes are not a character of UTF-8")
	}
	return r
}

func (p *parser) byteEscape(start int) byte {
	c := p.peek()
	switch c {
	case 'x':
		p.pos++
		end := p.pos
		for end < len(p.src) && end < p.pos+2 && isHex(p.src[end]) {
			end++
		}
		v, err := strconv.ParseUint(p.src[p.pos:end], 16, 8)
		if err != nil {
			p.fail(start, "a hexadecimal escape is \\x and one or two hexadecimal digits")
		}
		p.pos = end
		return byte(v)
	case 'c', 'C', 'M':
		return p.controlEscape(start)
	}
	v, digits := p.octalAhead()
	if v > 0xff {
		p.fail(start, "an octal escape is at most \\377")
	}
	p.pos += digits
	return byte(v)
}

// controlEscape reads \cx and \C-x, refuses \M-x.
func (p *parser) controlEscape(start int) byte {
	if p.peek() == 'M' {
		p.fail(start, "\\M-x is a byte that no character of UTF-8 has alone")
	}
	if !p.accept("C-") && !p.accept("c") {
		p.fail(start, "a control escape is \\cx or \\C-x")
	}
	if !p.more() {
		p.fail(start, "the pattern ends within a control escape")
	}
	c := p.peek()
	switch {
	case c == '\\':
		p.pos++
		r := p.literalEscape(start, true)
		if len(r) != 1 || r[0] >= utf8.RuneSelf {
			p.fail(start, "a control escape is \\cx or \\C-x")
		}
		return byte(r[0]) & 0x1f
	case c >= utf8.RuneSelf:
		p.fail(start, "a control escape is \\cx or \\C-x")
	}
	p.pos++
	return c & 0x1f
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// reference parses the number or name of a \k<…> or of a condition.
func (p *parser) reference(start int, end byte) *node {
	n := &node{pos: start}
	at := p.pos
	neg := p.accept("-")
	if num, ok := p.number(); ok {
		if p.peek() == '+' || p.peek() == '-' {
			p.fail(start, "a reference to a level of recursion is not supported")
		}
		if p.peek() != end || num == 0 {
			p.fail(at, "this is neither the number nor the name of a group")
		}
		p.pos++
		if neg {
			num = len(p.groups) - num
			if num <= 0 {
				p.fail(at, "the group does not exist before this reference")
			}
		}
		n.groups, n.numbered = []int{num}, true
		return n
	}
	if neg {
		p.fail(at, "this is neither the number nor the name of a group")
	}
	if i := strings.IndexByte(p.src[at:], end); i > 0 {
		if k := strings.LastIndexAny(p.src[at:at+i], "+-"); k > 0 && digitsOnly(p.src[at+k+1:at+i]) {
			p.fail(start, "a reference to a level of recursion is not supported")
		}
	}
	name := p.groupName(end)
	groups := p.lookup(name)
	if groups == nil {
		p.fail(at, "group <"+name+"> does not exist before this reference")
	}
	n.groups = groups
	return n
}

func digitsOnly(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (p *parser) backref(n *node) *node {
	n.kind, n.fold = kBackref, p.flags.fold
	p.refs = append(p.refs, n)
	return n
}

// call parses the number or name of a \g<…>. check resolves it later, because
// the group may come later in the pattern.
func (p *parser) call(start int, end byte) *node {
	n := &node{kind: kCall, pos: start}
	p.refs = append(p.refs, n)
	p.called = true
	at := p.pos
	sign := byte(0)
	if c := p.peek(); c == '+' || c == '-' {
		sign = c
		p.pos++
	}
	num, ok := p.number()
	switch {
	case ok && p.peek() == end:
		p.pos++
		n.numbered = num != 0
		switch {
		case sign == '+' && num > 0:
			num += len(p.groups) - 1
		case sign == '-' && num > 0:
			num = len(p.groups) - num
		}
		if num < 0 || sign != 0 && num == 0 {
			p.fail(at, "the group does not exist")
		}
		n.group = num
	case ok || sign != 0:
		p.fail(at, "this is neither the number nor the name of a group")
	default:
		n.name = p.groupName(end)
	}
	return n
}
