package regexp

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// linear is a pattern's translation for Go's regexp.
type linear struct {
	re  *regexp.Regexp
	src string

	ascii     bool // right for subjects of ASCII only
	noNewline bool // right for subjects that do not end with a newline only
	context   bool // the text before the start of the search matters

	laterOnce sync.Once
	later     *regexp.Regexp // one character of context, anything, the pattern
}

// Limits of the translation: Go's regexp allows no more repetitions, and takes
// much memory for larger patterns.
const (
	maxLinearRepeat = 1000
	maxLinearSource = 1 << 16
	maxLinearNodes  = 1 << 15 // repeats written out
)

// translate returns nil if Go's regexp cannot match the pattern in the same way.
func translate(p *pattern) *linear {
	t := translator{l: &linear{}, turns: 1}
	if !t.node(p.root, false) || t.b.Len() > maxLinearSource {
		return nil
	}
	t.l.src = t.b.String()
	re, err := regexp.Compile(t.l.src)
	if err != nil {
		return nil // too large for it
	}
	t.l.re = re
	return t.l
}

// fits reports whether the translation is right for s.
func (l *linear) fits(s string) bool {
	return (!l.noNewline || !strings.HasSuffix(s, "\n")) && (!l.ascii || isASCII(s))
}

func isASCII(s string) bool {
	for len(s) >= 8 {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// find returns the first match at from or later. ok is false if the translation
// cannot search there.
func (l *linear) find(s string, from int) (loc []int, ok bool) {
	if from == 0 {
		return l.re.FindStringSubmatchIndex(s), true
	}
	if !l.context {
		return shift(l.re.FindStringSubmatchIndex(s[from:]), from), true
	}
	// Go's regexp cannot begin in the middle of a string. So the search begins one
	// character earlier; ^ and \b need no more context.
	l.laterOnce.Do(func() { l.later, _ = regexp.Compile(`\A(?s:.)(?s:.*?)(` + l.src + `)`) })
	if l.later == nil {
		return nil, false // too large by that much
	}
	_, w := utf8.DecodeLastRuneInString(s[:from])
	if loc = l.later.FindStringSubmatchIndex(s[from-w:]); loc == nil {
		return nil, true
	}
	return shift(loc[2:], from-w), true
}

func shift(loc []int, by int) []int {
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += by
		}
	}
	return loc
}

type translator struct {
	l     *linear
	b     strings.Builder
	turns int // of the repeats around
	nodes int
}

// node writes n, and reports whether it could. consumes is true if every path to a
// match consumes at least one character after n.
func (t *translator) node(n *node, consumes bool) bool {
	if t.nodes += t.turns * (1 + len(n.runes)); t.nodes > maxLinearNodes || t.b.Len() > maxLinearSource {
		return false
	}
	switch n.kind {
	case kEmpty:
		t.b.WriteString("(?:)")
	case kLit:
		if slices.Contains(n.runes, utf8.RuneError) {
			return false // Go's regexp sometimes matches invalid UTF-8 bytes with it
		}
		t.literal(n)
	case kSet:
		t.set(n.set)
	case kAny:
		if n.multi {
			t.b.WriteString("(?s:.)")
		} else {
			t.b.WriteByte('.')
		}
	case kAssert:
		return t.assertion(n.assert, consumes)
	case kSeq:
		return t.sequence(n, consumes)
	case kAlt:
		t.b.WriteString("(?:")
		for i, s := range n.subs {
			if i > 0 {
				t.b.WriteByte('|')
			}
			if !t.node(s, consumes) {
				return false
			}
		}
		t.b.WriteByte(')')
	case kRepeat:
		return t.repeat(n, consumes)
	case kGroup:
		if n.group > 0 {
			t.b.WriteByte('(')
		} else {
			t.b.WriteString("(?:")
		}
		if !t.node(n.subs[0], consumes) {
			return false
		}
		t.b.WriteByte(')')
	default:
		return false
	}
	return true
}

func (t *translator) sequence(n *node, consumes bool) bool {
	rest := 0
	for _, s := range n.subs {
		rest = min(rest+s.least, manyChars)
	}
	for _, s := range n.subs {
		rest -= s.least // may be less than there is: then it counts as 0
		if !t.node(s, consumes || rest > 0) {
			return false
		}
	}
	return true
}

func (t *translator) literal(n *node) {
	if n.fold {
		t.l.ascii = t.l.ascii || foldsTogether(n.runes)
		t.b.WriteString("(?i:")
	}
	for _, r := range n.runes {
		t.char(r)
	}
	if n.fold {
		t.b.WriteByte(')')
	}
}

func (t *translator) char(r rune) {
	if r < utf8.RuneSelf && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') ||
		r == utf8.RuneError || !utf8.ValidRune(r) {
		t.b.WriteString(`\x{`)
		t.b.WriteString(strconv.FormatInt(int64(r), 16))
		t.b.WriteByte('}')
		return
	}
	t.b.WriteRune(r)
}

func (t *translator) set(s *set) {
	if len(s.ranges) == 0 {
		t.b.WriteString(`[^\x{0}-\x{10ffff}]`)
		return
	}
	t.b.WriteByte('[')
	for i := 0; i < len(s.ranges); i += 2 {
		t.char(s.ranges[i])
		if s.ranges[i] != s.ranges[i+1] {
			t.b.WriteByte('-')
			t.char(s.ranges[i+1])
		}
	}
	t.b.WriteByte(']')
}

func (t *translator) assertion(a assertion, consumes bool) bool {
	switch a {
	case beginLine:
		// In Ruby no line begins after the last newline.
		t.l.noNewline = t.l.noNewline || !consumes
		t.l.context = true
		t.b.WriteString("(?m:^)")
	case endLine:
		t.b.WriteString("(?m:$)")
	case beginText:
		t.l.context = true
		t.b.WriteString(`\A`)
	case endText:
		t.b.WriteString(`\z`)
	case endTextNewline:
		t.l.noNewline = true
		t.b.WriteString(`\z`)
	case wordBoundary, asciiBoundary:
		t.l.ascii = t.l.ascii || a == wordBoundary
		t.l.context = true
		t.b.WriteString(`\b`)
	case notWordBoundary, notASCIIBoundary:
		t.l.ascii = t.l.ascii || a == notWordBoundary
		t.l.context = true
		t.b.WriteString(`\B`)
	default:
		return false
	}
	return true
}

func (t *translator) repeat(n *node, consumes bool) bool {
	body := n.subs[0]
	if n.min > maxLinearRepeat || n.max > maxLinearRepeat {
		return false
	}
	// Loops whose body can match nothing end differently in Onigmo.
	if n.max == unlimited && body.least == 0 || n.max != 1 && body.least == 0 && body.captures {
		return false
	}
	t.b.WriteString("(?:")
	outer := t.turns
	t.turns *= max(n.min, n.max, 1)
	if !t.node(body, consumes) {
		return false
	}
	t.turns = outer
	t.b.WriteByte(')')
	switch {
	case n.min == 0 && n.max == unlimited:
		t.b.WriteByte('*')
	case n.min == 1 && n.max == unlimited:
		t.b.WriteByte('+')
	case n.min == 0 && n.max == 1:
		t.b.WriteByte('?')
	default:
		t.b.WriteByte('{')
		t.b.WriteString(strconv.Itoa(n.min))
		if n.max != n.min {
			t.b.WriteByte(',')
			if n.max != unlimited {
				t.b.WriteString(strconv.Itoa(n.max))
			}
		}
		t.b.WriteByte('}')
	}
	if !n.greedy {
		t.b.WriteByte('?')
	}
	return true
}
