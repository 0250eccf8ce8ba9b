package regexp

import (
	"slices"
	"unicode/utf8"
)

// check completes a tree: it numbers groups, resolves references, and rejects
// errors that only show in the whole pattern.
func check(p *parser) {
	if len(p.names) > 0 {
		onlyNamed(p)
	}
	for _, n := range p.refs {
		resolve(p, n)
	}
	c := checker{parser: p, least: make([]int, len(p.groups)), known: make([]bool, len(p.groups))}
	c.measure(p.root)
	for _, n := range p.refs {
		switch n.kind {
		case kBackref:
			for _, g := range n.groups {
				p.groups[g].tracked = true
			}
		case kCall:
			p.groups[n.group].called = true
		}
	}
	track(p.root, false)
	if p.called {
		c.checkRecursion()
	}
	c.checkLookBehind(p.root)
}

// onlyNamed removes the numbers of groups without a name, because the pattern
// has groups with names, and renumbers the others.
func onlyNamed(p *parser) {
	groups := []*node{nil}
	renumber := make([]int, len(p.groups))
	for _, g := range p.groups[1:] {
		old := g.group
		g.group = 0
		if g.name != "" {
			g.group = len(groups)
			groups = append(groups, g)
		}
		renumber[old] = g.group
	}
	again := func(numbers []int) []int {
		out := make([]int, len(numbers))
		for i, n := range numbers {
			out[i] = renumber[n]
		}
		return out
	}
	for i := range p.names {
		p.names[i].groups = again(p.names[i].groups)
	}
	for _, n := range p.refs {
		if n.numbered {
			p.fail(n.pos, "a reference by number is not allowed beside groups with names")
		}
		n.groups = again(n.groups)
		if n.kind == kCond {
			n.group = renumber[n.group]
		}
	}
	groups[0] = p.groups[0]
	p.groups = groups
}

func resolve(p *parser, n *node) {
	if n.kind == kCall && n.name != "" {
		groups := p.lookup(n.name)
		switch len(groups) {
		case 0:
			p.fail(n.pos, "group <"+n.name+"> does not exist")
		case 1:
			n.group = groups[0]
		default:
			p.fail(n.pos, "there are several groups <"+n.name+">, so none can be called")
		}
	}
	if n.group >= len(p.groups) || slices.ContainsFunc(n.groups, func(g int) bool { return g >= len(p.groups) }) {
		p.fail(n.pos, "a group with this number does not exist")
	}
	if n.kind == kBackref {
		// If several groups have one name, the last that fits takes effect.
		n.groups = slices.Clone(n.groups)
		slices.Reverse(n.groups)
	}
}

// manyChars is the length from which all lengths are treated as equal.
const manyChars = 1 << 30

type checker struct {
	*parser
	least []int  // of groups
	known []bool // least is known, or is being computed
	steps int
	marks []mark
}

// measure sets least, captures and size of n and of all nodes below it.
func (c *checker) measure(n *node) int {
	sum, least := 0, manyChars
	for _, s := range n.subs {
		l := c.measure(s)
		sum = min(sum+l, manyChars)
		least = min(least, l)
		n.captures = n.captures || s.captures
	}
	switch n.kind {
	case kLit:
		n.least = len(n.runes)
		if n.fold {
			n.least = (len(n.runes) + 2) / 3 // ß may stand for ss
		}
	case kSet, kAny:
		n.least = 1
	case kSeq, kAtomic:
		n.least = sum
	case kAlt, kCond:
		n.least = least
	case kRepeat:
		n.least = min(n.min*sum, manyChars)
	case kGroup:
		n.least = sum
		n.captures = n.captures || n.group > 0
	case kLook:
		n.captures = false // groups in look-around do not affect loops
	case kCall:
		n.captures = true
		n.least = c.groupLeast(n.group)
	case kBackref:
		n.least = manyChars
		for _, g := range n.groups {
			n.least = min(n.least, c.groupLeast(g))
		}
	}
	n.size = min(n.codeSize(), manyChars)
	return n.least
}

// codeSize returns the size in bytes of Onigmo's code for n. The size decides
// which repeats Onigmo unrolls. Unrolling changes the result if the body of a
// repeat can match nothing: an empty turn ends a loop, although the next turn
// might have matched something.
func (n *node) codeSize() int {
	const jump = 5
	sum := 0
	for _, s := range n.subs {
		sum = min(sum+s.size, manyChars)
	}
	switch n.kind {
	case kLit:
		if k := len(string(n.runes)); k <= 5 && (!n.fold || k == 1) {
			return 1 + k
		} else {
			return 5 + k
		}
	case kSet:
		switch k := len(n.set.ranges); {
		case n.size > 0:
			return n.size
		case k == 0 || n.set.ranges[k-1] < utf8.RuneSelf || n.set.ranges[k-2] <= utf8.RuneSelf:
			return 33
		}
		return 60
	case kAlt:
		return sum + 2*jump*(len(n.subs)-1)
	case kRepeat:
		return n.repeatSize(n.subs[0].size)
	case kGroup:
		if n.group == 0 {
			return sum
		}
		return sum + 6
	case kAtomic:
		return sum + 2
	case kLook:
		switch {
		case n.behind && n.neg:
			return sum + 10
		case n.behind:
			return sum + jump
		case n.neg:
			return sum + 6
		}
		return sum + 2
	case kCall:
		return jump
	case kCond:
		return sum + 7 + jump
	case kEmpty, kSeq:
		return sum
	}
	return 1
}

// track marks the groups that Onigmo keeps on its stack, where its loops see
// them: groups that a match can leave and come back to, and groups that are
// referred to or called.
func track(n *node, in bool) {
	switch n.kind {
	case kAlt, kCond:
		in = true
	case kLook:
		in = in || n.neg
	case kRepeat:
		in = in || n.min != n.max
	case kGroup:
		n.tracked = n.tracked || in || n.called
		in = in || n.called
	}
	for _, s := range n.subs {
		track(s, in)
	}
}

const (
	maxExpanded = 50 // bytes that Onigmo generates for a repeat without a counter
	turnSize    = 6
)

func (n *node) repeatSize(body int) int {
	turn := body
	if n.subs[0].least == 0 {
		turn += turnSize
	}
	switch {
	case n.max == 0:
		return 0
	case n.max == unlimited && n.unrolled():
		if n.min == 1 && body > maxExpanded {
			return turn + 15
		}
		if n.greedy && n.subs[0].kind == kAny {
			return body*n.min + 1
		}
		return body*n.min + turn + 10
	case n.unrolled():
		return body*n.max + 5*(n.max-n.min)
	}
	return turn + 10
}

// unrolled reports whether a repeat is made without a counter, by copies.
func (n *node) unrolled() bool {
	size := n.subs[0].size
	if n.max == unlimited {
		return n.min <= 1 || size*n.min <= maxExpanded
	}
	return n.min == 0 && n.max == 1 || n.greedy && (size+5)*n.max <= maxExpanded
}

// groupLeast returns the least length of a referenced group. For a group that
// refers to itself, the inner reference counts as unknown.
func (c *checker) groupLeast(g int) int {
	if !c.known[g] {
		c.known[g] = true
		c.least[g] = c.measure(c.groups[g])
	}
	return c.least[g]
}

// Recursion as Onigmo defines it: a called group must not call itself again
// without a character in between, nor on every path.

type mark uint8

const (
	unmarked mark = iota
	searched      // the group in question
	visited       // on the way
)

type recursion uint8

const (
	recNone recursion = iota
	recAlways
	recAtOnce
)

// maxCallSteps bounds the search through groups that call many others.
const maxCallSteps = 200000

func (c *checker) checkRecursion() {
	c.marks = make([]mark, len(c.groups))
	for _, n := range c.refs {
		if n.kind != kCall || c.marks[n.group] == searched {
			continue
		}
		c.marks[n.group] = searched
		if r, _ := c.recurses(c.groups[n.group].body(), true); r != recNone {
			c.fail(n.pos, "this recursion never ends")
		}
		c.marks[n.group] = unmarked
	}
}

// body returns the node that a call of the group n runs.
func (n *node) body() *node {
	if n.kind == kGroup {
		return n.subs[0]
	}
	return n
}

// recurses reports whether n calls the searched group. head is true if no
// character has been matched so far; recurses returns it for the nodes after
// n.
func (c *checker) recurses(n *node, head bool) (recursion, bool) {
	if c.steps++; c.steps > maxCallSteps {
		c.fail(n.pos, "too many calls of groups in groups")
	}
	after := head && n.least == 0
	switch n.kind {
	case kSeq:
		r := recNone
		for _, s := range n.subs {
			var one recursion
			one, head = c.recurses(s, head)
			if one == recAtOnce {
				return one, head
			}
			r = max(r, one)
		}
		return r, after
	case kAlt, kCond:
		r := recAlways
		for _, s := range n.subs {
			one, _ := c.recurses(s, head)
			if one == recAtOnce {
				return one, after
			}
			r = min(r, one)
		}
		return r, after
	case kRepeat:
		r, _ := c.recurses(n.subs[0], head)
		if r == recAlways && n.min == 0 {
			r = recNone
		}
		return r, after
	case kLook, kAtomic:
		r, _ := c.recurses(n.subs[0], head)
		return r, after
	case kCall:
		return c.enterGroup(n.group, c.groups[n.group].body(), head), after
	case kGroup:
		if n.group == 0 {
			r, _ := c.recurses(n.subs[0], head)
			return r, after
		}
		return c.enterGroup(n.group, n.subs[0], head), after
	}
	return recNone, after
}

func (c *checker) enterGroup(g int, body *node, head bool) recursion {
	switch c.marks[g] {
	case searched:
		if head {
			return recAtOnce
		}
		return recAlways
	case visited:
		return recNone
	}
	c.marks[g] = visited
	r, _ := c.recurses(body, head)
	c.marks[g] = unmarked
	return r
}

// checkLookBehind checks that look-behinds can be run: each must consist of
// alternatives of a fixed width.
func (c *checker) checkLookBehind(n *node) {
	for _, s := range n.subs {
		c.checkLookBehind(s)
	}
	if n.kind == kLook && n.behind {
		c.lookBehindParts(n, n.subs[0])
		for _, s := range n.subs[0].alternatives(nil) {
			w := widths{groups: c.groups}
			if _, ok := w.of(s); !ok {
				c.fail(s.pos, "a look-behind must have a fixed width, or be of alternatives that have")
			}
		}
	}
}

// lookBehindParts rejects nodes that Onigmo does not allow in a look-behind.
func (c *checker) lookBehindParts(look, n *node) {
	bad := false
	switch n.kind {
	case kBackref, kAtomic, kCond:
		bad = true
	case kGroup:
		bad = look.neg && n.group > 0
	case kLook:
		bad = !n.behind
	case kAssert:
		bad = n.assert == endText || n.assert == endTextNewline
	}
	if bad {
		c.fail(n.pos, "this is not allowed in a look-behind")
	}
	for _, s := range n.subs {
		c.lookBehindParts(look, s)
	}
}

// alternatives appends the alternatives of n. Alternatives directly inside an
// alternative are appended as if they had no parentheses.
func (n *node) alternatives(list []*node) []*node {
	if n.kind != kAlt {
		return append(list, n)
	}
	for _, s := range n.subs {
		list = s.alternatives(list)
	}
	return list
}

// widths finds fixed widths.
type widths struct {
	groups []*node
	busy   []int // calls on the way
	steps  int
}

// of returns the number of characters that n matches, if the number is fixed.
func (w *widths) of(n *node) (width int, ok bool) {
	if w.steps++; w.steps > maxCallSteps {
		return 0, false
	}
	switch n.kind {
	case kLit:
		if n.fold {
			return n.width, true
		}
		return len(n.runes), true
	case kSet, kAny:
		return 1, true
	case kSeq:
		for _, s := range n.subs {
			one, ok := w.of(s)
			if !ok {
				return 0, false
			}
			width = min(width+one, manyChars)
		}
		return width, true
	case kAlt:
		for i, s := range n.subs {
			one, ok := w.of(s)
			if !ok || i > 0 && one != width {
				return 0, false
			}
			width = one
		}
		return width, true
	case kRepeat:
		one, ok := w.of(n.subs[0])
		return min(n.min*one, manyChars), ok && n.min == n.max
	case kGroup:
		return w.of(n.subs[0])
	case kCall:
		if slices.Contains(w.busy, n.group) {
			return 0, false
		}
		w.busy = append(w.busy, n.group)
		width, ok = w.of(w.groups[n.group].body())
		w.busy = w.busy[:len(w.busy)-1]
		return width, ok
	}
	return 0, true
}
