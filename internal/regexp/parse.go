package regexp

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a pattern. Onigmo has the same bounds for numbers. Its own bound for
// nesting is higher, but no pattern written by hand exceeds this one.
const (
	maxRepeat = 100000
	maxGroups = 32767
	maxNest   = 1000
)

// flags are the options in force at a position of the pattern.
type flags struct {
	fold, multi, extended bool
	chars                 charRange
}

// charRange selects the classes that are limited to ASCII.
type charRange uint8

const (
	rangeDefault charRange = iota // \d \s \w \h do, [[:alpha:]] and \b do not
	rangeASCII                    // (?a): all do
	rangeUnicode                  // (?u): none does
)

// A pattern is the result of parsing a source.
type pattern struct {
	root   *node
	groups []*node // by number, from 1
	names  []groupName
	named  map[string]int // index in names
	refs   []*node        // kBackref, kCall, kCond
	called bool           // there is a \g
}

type groupName struct {
	name   string
	groups []int
}

func (p *pattern) lookup(name string) []int {
	if i, is := p.named[name]; is {
		return p.names[i].groups
	}
	return nil
}

type parser struct {
	src     string
	pos     int
	flags   flags
	depth   int
	sets    map[string][]rune      // classes by name, made once
	others  map[*rune][]rune       // complements of these
	classes map[string][]madeClass // classes by their beginning
	made    map[*rune]*set         // of ranges that were used before
	wide    int                    // number of ranges of the sets
	fixed   map[string]*node       // trees of this package's own patterns
	pattern
}

// parse reads a pattern of Ruby. The error is an *Error.
func parse(src string) (pat *pattern, err error) {
	if i := invalidUTF8(src); i >= 0 {
		return nil, &Error{Pos: i, Msg: "the pattern is not valid UTF-8"}
	}
	p := &parser{src: src}
	defer func() {
		if e := recover(); e != nil {
			perr, ours := e.(*Error)
			if !ours {
				panic(e)
			}
			pat, err = nil, perr
		}
	}()
	p.groups = []*node{nil}
	p.root = p.alternatives()
	if p.pos < len(src) {
		p.fail(p.pos, "this closing parenthesis has no opening one")
	}
	p.groups[0] = p.root
	check(p)
	return &p.pattern, nil
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, w := utf8.DecodeRuneInString(s[i:]); w == 1 {
				return i
			}
		}
	}
	return -1
}

func (p *parser) fail(pos int, msg string) {
	panic(&Error{Pos: pos, Msg: msg})
}

func (p *parser) more() bool { return p.pos < len(p.src) }

// peek returns the byte at the current position, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) rune() rune {
	r, w := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += w
	return r
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxNest {
		p.fail(p.pos, "the pattern is nested too deeply")
	}
}

// skip passes comments and, with x, white space.
func (p *parser) skip() {
	for p.more() {
		switch c := p.peek(); {
		case c == '(' && strings.HasPrefix(p.src[p.pos:], "(?#"):
			start := p.pos
			for p.pos += 3; ; p.pos++ {
				if !p.more() {
					p.fail(start, "this comment has no end")
				}
				if p.peek() == ')' {
					p.pos++
					break
				}
				if p.peek() == '\\' && p.pos+1 < len(p.src) {
					p.pos++
				}
			}
		case p.flags.extended && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'):
			p.pos++
		case p.flags.extended && c == '#':
			if i := strings.IndexByte(p.src[p.pos:], '\n'); i >= 0 {
				p.pos += i + 1
			} else {
				p.pos = len(p.src)
			}
		default:
			return
		}
	}
}

// alternatives = sequence { "|" sequence }
//
// It ends before the closing parenthesis or at the end.
func (p *parser) alternatives() *node {
	p.enter()
	n := p.sequence()
	if p.peek() == '|' {
		n = &node{kind: kAlt, subs: []*node{n}, pos: n.pos}
		for p.accept("|") {
			n.subs = append(n.subs, p.sequence())
		}
	}
	p.depth--
	return n
}

// sequence = { item [ quantifier... ] }
func (p *parser) sequence() *node {
	start := p.pos
	var subs []*node
	for {
		p.skip()
		if !p.more() || p.peek() == '|' || p.peek() == ')' {
			break
		}
		if on, ok := p.isolatedOptions(); ok {
			// The options are in force until the end of the group, including all its
			// further alternatives: a(?i)b|c is a(?i:b|c).
			saved := p.flags
			p.flags = on
			subs = append(subs, p.plainGroup(p.alternatives()))
			p.flags = saved
			break
		}
		it, sealed := p.item()
		if it.kind == kLit && len(it.runes) > 1 && !sealed && p.quantifierAhead() {
			head, last := splitLit(it)
			subs = append(subs, head)
			it = last
		}
		subs = append(subs, p.quantified(p.folded(it), sealed))
	}
	n := seqOf(subs)
	if n.kind == kEmpty {
		n.pos = start
	}
	return n
}

// splitLit cuts the last character off, which a quantifier applies to.
func splitLit(n *node) (head, last *node) {
	k := len(n.runes) - 1
	h, l := *n, *n
	h.runes, l.runes = n.runes[:k:k], n.runes[k:]
	if h.fold {
		foldLit(&h)
	}
	return &h, &l
}

// folded completes a literal of item, which until then has the characters of the
// pattern.
func (p *parser) folded(n *node) *node {
	if n.kind == kLit && n.fold && n.width == 0 {
		foldLit(n)
	}
	return n
}

func foldLit(n *node) {
	n.width = len(n.runes)
	var out []rune
	for _, r := range n.runes {
		out = appendFold(out, r)
	}
	n.runes = out
}

func (p *parser) quantifierAhead() bool {
	saved := p.pos
	p.skip()
	_, ok := p.quantifier()
	p.pos = saved
	return ok
}

type quantifier struct {
	min, max   int
	greedy     bool
	possessive bool
}

// quantifier = ( "*" | "+" | "?" | "{" [n] [ "," [m] ] "}" ) [ "?" | "+" ]
//
// Intervals have no possessive form, and {n} has no lazy form: a "?" or "+" after them
// is another quantifier.
func (p *parser) quantifier() (q quantifier, ok bool) {
	q.greedy = true
	switch p.peek() {
	case '*':
		q.max = unlimited
	case '+':
		q.min, q.max = 1, unlimited
	case '?':
		q.max = 1
	case '{':
		return p.interval()
	default:
		return q, false
	}
	p.pos++
	switch {
	case p.accept("?"):
		q.greedy = false
	case p.accept("+"):
		q.possessive = true
	}
	return q, true
}

func (p *parser) interval() (q quantifier, ok bool) {
	start := p.pos
	p.pos++
	q.greedy = true
	lo, hasLo := p.number()
	hi, hasHi := lo, hasLo
	exact := true
	if p.accept(",") {
		exact = false
		hi, hasHi = p.number()
	}
	if !hasLo && !hasHi || !p.accept("}") {
		p.pos = start
		return q, false
	}
	if lo > maxRepeat || hi > maxRepeat {
		p.fail(start, "more than "+strconv.Itoa(maxRepeat)+" repetitions")
	}
	q.min, q.max = lo, hi
	if !hasHi {
		q.max = unlimited
	} else if lo > hi {
		p.fail(start, "the least number of repetitions is greater than the most")
	}
	if !exact && p.accept("?") {
		q.greedy = false
	}
	return q, true
}

// number reads decimal digits; a number that is too large is cut.
func (p *parser) number() (n int, ok bool) {
	for p.more() && p.peek()-'0' <= 9 {
		n = min(n*10+int(p.peek()-'0'), 1<<30)
		p.pos++
		ok = true
	}
	return n, ok
}

// quantified applies the quantifiers that follow n. If sealed is true, n has
// parentheses, so its own quantifier is not reduced.
func (p *parser) quantified(n *node, sealed bool) *node {
	depth := p.depth
	for {
		p.skip()
		q, ok := p.quantifier()
		if !ok {
			p.depth = depth
			return n
		}
		p.enter()
		if q.min == 1 && q.max == 1 {
			continue
		}
		n = repeat(n, q, sealed)
		sealed = false
		if q.possessive {
			n = &node{kind: kAtomic, subs: []*node{n}, pos: n.pos}
		}
	}
}

// repeat makes a repetition of n. As in Onigmo, two simple quantifiers in a row become
// one: (?:a+)? is a*. Both match the same strings, only in a different order; repeat
// keeps the order.
func repeat(n *node, q quantifier, sealed bool) *node {
	r := &node{kind: kRepeat, min: q.min, max: q.max, greedy: q.greedy, subs: []*node{n}, pos: n.pos}
	if n.kind != kRepeat || sealed {
		return r
	}
	outer, inner := simpleQuantifier(r), simpleQuantifier(n)
	if outer < 0 || inner < 0 {
		return r
	}
	over := func(min, max int, greedy bool, sub *node) *node {
		return &node{kind: kRepeat, min: min, max: max, greedy: greedy, subs: []*node{sub}, pos: n.pos}
	}
	body := n.subs[0]
	switch reductions[inner][outer] {
	case redInner:
		return n
	case redStar:
		return over(0, unlimited, true, body)
	case redLazyStar:
		return over(0, unlimited, false, body)
	case redLazyOpt:
		return over(0, 1, false, body)
	case redLazyOptPlus:
		return over(0, 1, false, over(1, unlimited, true, body))
	}
	return r
}

// simpleQuantifier numbers ? * + ?? *? +?, -1 for others.
func simpleQuantifier(n *node) int {
	k := -1
	switch {
	case n.min == 0 && n.max == 1:
		k = 0
	case n.min == 0 && n.max == unlimited:
		k = 1
	case n.min == 1 && n.max == unlimited:
		k = 2
	}
	if k >= 0 && !n.greedy {
		k += 3
	}
	return k
}

type reduction uint8

const (
	redNone reduction = iota
	redInner
	redStar
	redLazyStar
	redLazyOpt
	redLazyOptPlus
)

// reductions maps a quantifier (column) on a quantifier (row) to the result, both in
// the order of simpleQuantifier.
var reductions = [6][6]reduction{
	{redInner, redStar, redStar, redLazyOpt, redLazyStar, redNone},
	{redInner, redInner, redInner, redLazyOptPlus, redLazyOptPlus, redInner},
	{redStar, redStar, redInner, redNone, redLazyOptPlus, redInner},
	{redInner, redLazyStar, redLazyStar, redInner, redLazyStar, redLazyStar},
	{redInner, redInner, redInner, redInner, redInner, redInner},
	{redNone, redNone, redNone, redLazyStar, redLazyStar, redInner},
}

// item = literal... | "." | "[" class | "(" group | "\" escape | "^" | "$"
//
// sealed is set for groups: quantifiers apply to them as a whole.
func (p *parser) item() (n *node, sealed bool) {
	start := p.pos
	switch c := p.peek(); c {
	case '(':
		return p.group()
	case '[':
		p.pos++
		ranges, one := p.class()
		if one {
			return p.literal(start, ranges[:1:1]), false
		}
		return &node{kind: kSet, set: p.set(start, ranges), pos: start}, false
	case '.':
		p.pos++
		return &node{kind: kAny, multi: p.flags.multi, pos: start}, false
	case '^':
		p.pos++
		return &node{kind: kAssert, assert: beginLine, pos: start}, false
	case '$':
		p.pos++
		return &node{kind: kAssert, assert: endLine, pos: start}, false
	case '*', '+', '?', '{':
		if _, ok := p.quantifier(); ok {
			p.fail(start, "this quantifier must follow an expression to repeat")
		}
	case '\\':
		p.pos++
		if n := p.escape(start); n != nil {
			return n, false
		}
		return p.literal(start, p.literalEscape(start, false)), false
	}
	return p.literal(start, []rune{p.rune()}), false
}

// literal collects the characters that follow runes.
func (p *parser) literal(start int, runes []rune) *node {
	for {
		saved := p.pos
		p.skip()
		at := p.pos
		switch c := p.peek(); c {
		case '.', '*', '+', '?', '(', ')', '|', '[', '^', '$':
			p.pos = saved
			return p.lit(start, runes)
		case '{':
			if _, ok := p.quantifier(); ok {
				p.pos = saved
				return p.lit(start, runes)
			}
			p.pos++
			runes = append(runes, '{')
		case '\\':
			p.pos++
			if p.more() && p.special(p.peek()) {
				p.pos = saved
				return p.lit(start, runes)
			}
			runes = append(runes, p.literalEscape(at, false)...)
		default:
			if !p.more() {
				return p.lit(start, runes)
			}
			runes = append(runes, p.rune())
		}
	}
}

func (p *parser) lit(start int, runes []rune) *node {
	return &node{kind: kLit, runes: runes, fold: p.flags.fold, pos: start}
}

// isolatedOptions reads (?imx-imx), which is not a group.
func (p *parser) isolatedOptions() (f flags, ok bool) {
	saved := p.pos
	if !p.accept("(?") || !p.more() || !strings.ContainsRune("imxadu-", rune(p.peek())) {
		p.pos = saved
		return f, false
	}
	f, end := p.options()
	if end != ')' {
		p.pos = saved
		return f, false
	}
	return f, true
}

// options reads imxadu-imx up to the ")" or ":" after it.
func (p *parser) options() (f flags, end byte) {
	f = p.flags
	on := true
	for {
		if !p.more() {
			p.fail(p.pos, "the pattern ends within a group")
		}
		c := p.peek()
		at := p.pos
		p.pos++
		switch c {
		case '-':
			on = false
		case 'i':
			f.fold = on
		case 'm':
			f.multi = on
		case 'x':
			f.extended = on
		case 'a', 'd', 'u':
			if !on {
				p.fail(at, "the option "+string(c)+" cannot be switched off")
			}
			switch c {
			case 'a':
				f.chars = rangeASCII
			case 'd':
				f.chars = rangeDefault
			case 'u':
				f.chars = rangeUnicode
			}
		case ')', ':':
			return f, c
		default:
			p.pos = at
			p.fail(at, "unknown group option "+strconv.QuoteRune(p.rune())+"; known are i, m, x, a, d, u")
		}
	}
}

// group = "(" [ "?" kind ] alternatives ")"
func (p *parser) group() (n *node, sealed bool) {
	start := p.pos
	p.pos++
	if !p.accept("?") {
		n = p.capture(start)
		return p.close(start, n), true
	}
	if !p.more() {
		p.fail(start, "the pattern ends within a group")
	}
	switch c := p.peek(); c {
	case ':':
		p.pos++
		sub := p.alternatives()
		p.expectClose(start)
		// Not sealed: a quantifier and the one inside may become one.
		if sub.kind == kRepeat {
			return sub, false
		}
		return sub, true
	case '=', '!':
		p.pos++
		n = &node{kind: kLook, neg: c == '!', pos: start}
	case '>':
		p.pos++
		n = &node{kind: kAtomic, pos: start}
	case '~':
		p.fail(start, "the absent operator (?~…) is not supported")
	case '(':
		return p.conditional(start), true
	case '\'':
		p.pos++
		n = p.named(start, '\'')
	case '<':
		p.pos++
		switch {
		case p.accept("="):
			n = &node{kind: kLook, behind: true, pos: start}
		case p.accept("!"):
			n = &node{kind: kLook, behind: true, neg: true, pos: start}
		default:
			n = p.named(start, '>')
		}
	default:
		on, _ := p.options() // ":", because sequence has tried ")"
		saved := p.flags
		p.flags = on
		sub := p.alternatives()
		p.flags = saved
		p.expectClose(start)
		return p.plainGroup(sub), true
	}
	return p.close(start, n), true
}

// plainGroup puts n into a group that does not capture. Options make such a group:
// alternatives in it are not directly alternatives of a look-behind.
func (p *parser) plainGroup(n *node) *node {
	return &node{kind: kGroup, subs: []*node{n}, pos: n.pos}
}

// close parses the content of the group n.
func (p *parser) close(start int, n *node) *node {
	n.subs = []*node{p.alternatives()}
	p.expectClose(start)
	return n
}

func (p *parser) expectClose(start int) {
	if !p.accept(")") {
		p.fail(start, "this parenthesis is not closed")
	}
}

func (p *parser) capture(start int) *node {
	if len(p.groups) > maxGroups {
		p.fail(start, "more than "+strconv.Itoa(maxGroups)+" groups")
	}
	n := &node{kind: kGroup, group: len(p.groups), pos: start}
	p.groups = append(p.groups, n)
	return n
}

func (p *parser) named(start int, end byte) *node {
	at := p.pos
	name := p.groupName(end)
	if first, _ := utf8.DecodeRuneInString(name); unicode.IsDigit(first) {
		p.fail(at, "the name of a group begins with a digit")
	}
	n := p.capture(start)
	n.name = name
	if i, is := p.pattern.named[name]; is {
		p.names[i].groups = append(p.names[i].groups, n.group)
		return n
	}
	if p.pattern.named == nil {
		p.pattern.named = make(map[string]int)
	}
	p.pattern.named[name] = len(p.names)
	p.names = append(p.names, groupName{name, []int{n.group}})
	return n
}

// groupName reads a name of letters, digits and underscores up to end.
func (p *parser) groupName(end byte) string {
	start := p.pos
	for p.more() && p.peek() != end {
		at := p.pos
		if r := p.rune(); !isWord(r) {
			p.fail(at, "the name of a group must consist of letters, digits and underscores")
		}
	}
	if !p.more() {
		p.fail(start, "the name of a group has no end")
	}
	name := p.src[start:p.pos]
	p.pos++
	if name == "" {
		p.fail(start, "the name of a group is empty")
	}
	return name
}

// conditional = "(?(" ( number | "<" name ">" | "'" name "'" ) ")" yes [ "|" no ] ")"
func (p *parser) conditional(start int) *node {
	p.pos++
	at := p.pos
	n := &node{kind: kCond, pos: start}
	switch c := p.peek(); {
	case c == '<' || c == '\'':
		p.pos++
		ref := p.reference(at, closing(c))
		n.group, n.numbered = ref.groups[0], ref.numbered
	default:
		var ok bool
		if n.group, ok = p.number(); !ok {
			p.fail(at, "a condition must be the number or the <name> of a group")
		}
		n.numbered = true
	}
	if !p.accept(")") {
		p.fail(at, "a condition must be the number or the <name> of a group")
	}
	p.refs = append(p.refs, n)
	sub := p.alternatives()
	p.expectClose(start)
	switch {
	case sub.kind != kAlt:
		n.subs = []*node{sub, {kind: kEmpty, pos: p.pos}}
	case len(sub.subs) == 2:
		n.subs = sub.subs
	default:
		p.fail(start, "a conditional group has more than two alternatives")
	}
	return n
}

func closing(open byte) byte {
	if open == '<' {
		return '>'
	}
	return open
}
