package regexp

import (
	"unicode"
	"unicode/utf8"
)

// opcode is an instruction of the backtracking matcher. Each instruction
// except a jump continues with the next one, or fails: it goes back to the
// last choice.
type opcode uint8

const (
	opLit        opcode = iota // text
	opFold                     // runes, folded
	opSet                      // a character of set
	opAny                      // a character but a newline
	opAnyNewline               // a character
	opRun                      // min to max characters that opcode run takes
	opSplit                    // to x; if that fails, to y
	opJump                     // to x
	opOpen                     // group x begins; if y is not 0, register y stores the position
	opClose                    // group x ends; if y is not 0, it began at the position in y
	opAssert                   // a condition on the position
	opBackref                  // one of groups
	opTurn                     // a turn of a loop that may match nothing begins: register x
	opTurnEnd                  // it ends: if nothing was matched, to y
	opCount                    // register x counts turns from 0
	opLoop                     // the next turn, or to y: register x, min, max
	opMark                     // the choices that follow can be cut off: register x
	opCut                      // forget the choices since the mark in x
	opHere                     // register x stores the position
	opReturn                   // back to the position in x
	opTry                      // mark in x; if what follows fails, to y
	opRefuse                   // undo all since the mark in x, and fail
	opBack                     // x characters back
	opCall                     // the subroutine at x
	opRet                      // the end of a subroutine
	opIfGroup                  // to y unless group x has matched
	opKeep                     // the match begins here
	opMatch
)

type inst struct {
	op         opcode
	run        opcode // opRun: opSet, opAny, opAnyNewline, or opLit for the character char
	greedy     bool   // opRun, opLoop
	possessive bool   // opRun
	captures   bool   // opTurnEnd: there are groups in the loop
	tracked    bool   // opOpen
	fold       bool   // opBackref
	assert     assertion
	x, y       int32
	min, max   int32
	memo       int32 // number among the choices that are remembered, -1 for none
	char       rune
	set        *set
	text       string
	runes      []rune
	groups     []int
}

// A program is a pattern, compiled for the matcher.
type program struct {
	insts     []inst
	registers int // of a frame, its two words of linkage included
	groups    int // with the whole
	memos     int // choices that are remembered; 0: none can be
	anchored  bool
	first     *[256]bool // bytes a match begins with; nil: any, or none
	literals  []string   // one is in every match; nil: not known
}

// Registers 0 and 1 of a frame are the address and the frame to return to.
const linkage = 2

type compiler struct {
	pat   *pattern
	p     *program
	subs  []int32 // addresses of subroutines by group, 0 for none
	calls []int   // opCall instructions
	cut   int     // depth of parts whose choices are cut off
	plain bool    // the outcome depends on instruction and position only
}

func compile(pat *pattern) *program {
	c := compiler{pat: pat, p: &program{registers: linkage, groups: len(pat.groups)}, plain: true}
	c.node(pat.root)
	c.emit(inst{op: opMatch})
	c.subs = make([]int32, len(pat.groups))
	for i := 0; i < len(c.calls); i++ { // subroutines may call others
		at := c.calls[i]
		g := c.p.insts[at].x
		if c.subs[g] == 0 {
			c.subs[g] = int32(len(c.p.insts))
			c.node(pat.groups[g])
			c.emit(inst{op: opRet})
		}
		c.p.insts[at].x = c.subs[g]
	}
	if !c.plain {
		c.p.memos = 0
	}
	c.p.anchored = startsWith(pat.root, beginText)
	c.p.literals = literals(pat.root)
	var f firstBytes
	if !f.node(pat.root) {
		c.p.first = &f.bytes
	}
	return c.p
}

func (c *compiler) emit(i inst) int {
	c.p.insts = append(c.p.insts, i)
	return len(c.p.insts) - 1
}

func (c *compiler) here() int32 { return int32(len(c.p.insts)) }

func (c *compiler) register() int32 {
	c.p.registers++
	return int32(c.p.registers - 1)
}

// choice numbers an instruction that makes choices, if they can be remembered.
func (c *compiler) choice() int32 {
	if c.cut > 0 {
		return -1
	}
	c.p.memos++
	return int32(c.p.memos - 1)
}

func (c *compiler) node(n *node) {
	switch n.kind {
	case kLit:
		if n.fold {
			c.emit(inst{op: opFold, runes: n.runes})
		} else {
			c.emit(inst{op: opLit, text: string(n.runes)})
		}
	case kSet:
		c.emit(inst{op: opSet, set: n.set})
	case kAny:
		c.emit(inst{op: anyOp(n)})
	case kSeq:
		for _, s := range n.subs {
			c.node(s)
		}
	case kAlt:
		c.alternatives(n.subs, c.node)
	case kRepeat:
		c.repeat(n)
	case kGroup:
		if n.group == 0 {
			c.node(n.subs[0])
			return
		}
		start := int32(0)
		if c.pat.called {
			start = c.register()
		}
		c.emit(inst{op: opOpen, x: int32(n.group), y: start, tracked: n.tracked})
		c.node(n.subs[0])
		c.emit(inst{op: opClose, x: int32(n.group), y: start})
	case kAtomic:
		if s := n.subs[0]; s.kind == kRepeat && s.greedy && s.max != 0 && s.subs[0].single() {
			c.run(s, true)
			return
		}
		r := c.register()
		c.emit(inst{op: opMark, x: r})
		c.cut++
		c.node(n.subs[0])
		c.cut--
		c.emit(inst{op: opCut, x: r})
	case kLook:
		c.look(n)
	case kBackref:
		c.plain = false
		c.emit(inst{op: opBackref, groups: n.groups, fold: n.fold})
	case kCall:
		c.plain = false
		c.calls = append(c.calls, c.emit(inst{op: opCall, x: int32(n.group)}))
	case kCond:
		c.plain = false
		test := c.emit(inst{op: opIfGroup, x: int32(n.group)})
		c.node(n.subs[0])
		jump := c.emit(inst{op: opJump})
		c.p.insts[test].y = c.here()
		c.node(n.subs[1])
		c.p.insts[jump].x = c.here()
	case kAssert:
		c.emit(inst{op: opAssert, assert: n.assert})
	case kKeep:
		c.emit(inst{op: opKeep})
	}
}

func anyOp(n *node) opcode {
	if n.multi {
		return opAnyNewline
	}
	return opAny
}

func (c *compiler) alternatives(subs []*node, each func(*node)) {
	var jumps []int
	for i, s := range subs {
		if i == len(subs)-1 {
			each(s)
			break
		}
		split := c.emit(inst{op: opSplit, memo: c.choice()})
		c.p.insts[split].x = c.here()
		each(s)
		jumps = append(jumps, c.emit(inst{op: opJump}))
		c.p.insts[split].y = c.here()
	}
	for _, j := range jumps {
		c.p.insts[j].x = c.here()
	}
}

func (c *compiler) look(n *node) {
	mark := c.register()
	c.cut++
	defer func() { c.cut-- }()
	body := func() {
		if !n.behind {
			c.node(n.subs[0])
			return
		}
		c.alternatives(n.subs[0].alternatives(nil), func(s *node) {
			w := widths{groups: c.pat.groups}
			back, _ := w.of(s)
			c.emit(inst{op: opBack, x: int32(back)})
			c.node(s)
		})
	}
	if n.neg {
		try := c.emit(inst{op: opTry, x: mark})
		body()
		c.emit(inst{op: opRefuse, x: mark})
		c.p.insts[try].y = c.here()
		return
	}
	place := c.register()
	c.emit(inst{op: opMark, x: mark})
	c.emit(inst{op: opHere, x: place})
	body()
	c.emit(inst{op: opCut, x: mark})
	c.emit(inst{op: opReturn, x: place})
}

func (c *compiler) repeat(n *node) {
	body := n.subs[0]
	if n.max == 0 {
		return
	}
	if body.single() {
		c.run(n, false)
		return
	}
	if !n.unrolled() {
		c.counted(n)
		return
	}
	if n.max == unlimited && n.min == 1 && body.size > maxExpanded {
		c.plus(n)
		return
	}
	for range n.min {
		c.node(body)
	}
	if n.max == unlimited {
		c.star(n)
		return
	}
	var splits []int
	for i := n.min; i < n.max; i++ {
		splits = append(splits, c.emit(inst{op: opSplit, memo: c.choice()}))
		c.node(body)
	}
	for _, s := range splits {
		c.branch(s, n.greedy, int32(s)+1, c.here())
	}
}

// branch makes a split prefer the body of a loop, or the way out.
func (c *compiler) branch(split int, greedy bool, body, out int32) {
	i := &c.p.insts[split]
	i.x, i.y = body, out
	if !greedy {
		i.x, i.y = out, body
	}
}

// run repeats a single character without a choice for each.
func (c *compiler) run(n *node, possessive bool) {
	body := n.subs[0]
	i := inst{op: opRun, greedy: n.greedy, possessive: possessive, min: int32(n.min), max: int32(n.max), memo: -1}
	if n.greedy || n.max == unlimited { // else the choice depends on the turns so far
		i.memo = c.choice()
	}
	switch body.kind {
	case kSet:
		i.run, i.set = opSet, body.set
	case kAny:
		i.run = anyOp(body)
	default:
		i.run, i.char = opLit, body.runes[0]
	}
	c.emit(i)
}

// star repeats any number of times. A turn that matches nothing is the last.
func (c *compiler) star(n *node) {
	body := n.subs[0]
	split := c.emit(inst{op: opSplit, memo: c.choice()})
	turn := c.turn(body)
	c.node(body)
	end := c.turnEnd(body, turn)
	c.emit(inst{op: opJump, x: int32(split)})
	c.branch(split, n.greedy, int32(split)+1, c.here())
	if end >= 0 {
		c.p.insts[end].y = c.here()
	}
}

// plus repeats one time or more, without copying a large body.
func (c *compiler) plus(n *node) {
	jump := c.emit(inst{op: opJump})
	c.p.insts[jump].x = int32(jump) + 2
	split := c.emit(inst{op: opSplit, memo: c.choice()})
	turn := c.turn(n.subs[0])
	c.node(n.subs[0])
	end := c.turnEnd(n.subs[0], turn)
	c.emit(inst{op: opJump, x: int32(split)})
	c.branch(split, n.greedy, int32(split)+1, c.here())
	if end >= 0 {
		c.p.insts[end].y = c.here()
	}
}

func (c *compiler) turn(body *node) int32 {
	if body.least > 0 {
		return -1
	}
	r := c.register()
	c.register() // the height of the stack
	c.emit(inst{op: opTurn, x: r})
	return r
}

func (c *compiler) turnEnd(body *node, turn int32) int {
	if turn < 0 {
		return -1
	}
	return c.emit(inst{op: opTurnEnd, x: turn, captures: body.captures})
}

// counted repeats with a counter.
func (c *compiler) counted(n *node) {
	c.plain = false
	body := n.subs[0]
	r := c.register()
	c.emit(inst{op: opCount, x: r})
	loop := c.emit(inst{op: opLoop, x: r, greedy: n.greedy, min: int32(n.min), max: int32(n.max), memo: -1})
	turn := c.turn(body)
	c.node(body)
	end := c.turnEnd(body, turn)
	c.emit(inst{op: opJump, x: int32(loop)})
	c.p.insts[loop].y = c.here()
	if end >= 0 {
		c.p.insts[end].y = c.here()
	}
}

// startsWith reports whether every match begins with the assertion a, at the
// first node.
func startsWith(n *node, a assertion) bool {
	switch n.kind {
	case kAssert:
		return n.assert == a
	case kSeq, kGroup, kAtomic:
		return startsWith(n.subs[0], a)
	case kAlt:
		for _, s := range n.subs {
			if !startsWith(s, a) {
				return false
			}
		}
		return true
	}
	return false
}

// maxLiterals bounds the strings that are searched for before a match.
const maxLiterals = 8

// literals returns strings of which every match contains one, nil if there are
// none.
func literals(n *node) []string {
	switch n.kind {
	case kLit:
		if !n.fold {
			return []string{string(n.runes)}
		}
	case kSeq:
		var best []string
		for _, s := range n.subs {
			if l := literals(s); l != nil && (best == nil || shortest(l) > shortest(best)) {
				best = l
			}
		}
		return best
	case kAlt:
		var all []string
		for _, s := range n.subs {
			l := literals(s)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	case kRepeat:
		if n.min > 0 {
			return literals(n.subs[0])
		}
	case kGroup, kAtomic:
		return literals(n.subs[0])
	}
	return nil
}

func shortest(list []string) int {
	least := len(list[0])
	for _, s := range list {
		least = min(least, len(s))
	}
	return least
}

// firstBytes finds the bytes that a match can begin with.
type firstBytes struct {
	bytes [256]bool
}

func (f *firstBytes) rune(r rune) {
	var buf [utf8.UTFMax]byte
	utf8.EncodeRune(buf[:], r)
	f.bytes[buf[0]] = true
}

func (f *firstBytes) beyondASCII() {
	for b := utf8.RuneSelf; b < 256; b++ {
		f.bytes[b] = true
	}
}

// node adds the first bytes of n, and reports whether n can match nothing.
func (f *firstBytes) node(n *node) (empty bool) {
	switch n.kind {
	case kLit:
		r := n.runes[0]
		if n.fold {
			// The folding of k and s includes characters beyond ASCII: the
			// Kelvin sign and the long s.
			f.beyondASCII()
			if r >= utf8.RuneSelf {
				return false
			}
			f.rune(unicode.ToLower(r))
		}
		f.rune(r)
	case kSet:
		for b := range rune(utf8.RuneSelf) {
			f.bytes[b] = f.bytes[b] || n.set.has(b)
		}
		if k := len(n.set.ranges); k > 0 && n.set.ranges[k-1] >= utf8.RuneSelf {
			f.beyondASCII()
		}
	case kAny:
		for b := range f.bytes {
			f.bytes[b] = f.bytes[b] || n.multi || b != '\n'
		}
	case kSeq:
		for _, s := range n.subs {
			if !f.node(s) {
				return false
			}
		}
		return true
	case kAlt, kCond:
		for _, s := range n.subs {
			if f.node(s) {
				empty = true
			}
		}
		return empty
	case kRepeat:
		if n.max == 0 {
			return true
		}
		return f.node(n.subs[0]) || n.min == 0
	case kGroup, kAtomic:
		return f.node(n.subs[0])
	case kBackref, kCall:
		for b := range f.bytes {
			f.bytes[b] = true
		}
		return true
	default:
		return true // a condition on the position
	}
	return false
}
