package regexp

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A machine runs a program. It backtracks over a stack of its own, which contains
// the remaining choices and the changes to undo on the way back to them.
type machine struct {
	p     *program
	s     string
	from  int // where the search began
	keep  int // where the match begins
	end   int
	caps  []int32 // pairs by group, -1 unset
	regs  []int32
	base  int // of the frame among regs
	stack []frame

	steps int // left
	limit int // as it began
	pause int // when fewer steps are left, the match ends with an error, or the budget is called
	b     *Budget
	memo  []uint64

	memoAfter int // steps for each byte before positions are remembered
}

// frame is an entry of the stack.
type frame struct {
	kind    frameKind
	memo    int32 // of choices: their number, -1 without
	a, b, c int32
}

type frameKind uint8

const (
	choice     frameKind = iota // go on with instruction a at b
	shorten                     // a run: instruction a at one character before b, down to c
	extend                      // a lazy run: instruction a takes one more at b, c are left
	undoOpen                    // group a was b, c
	undoClose                   // the same, at its end
	undoReg                     // register a was b
	undoBase                    // the frame was at b, with a registers in all
	undoKeep                    // keep was a
	noteFailed                  // the choice of number a has failed at b
)

// Limits of one search: steps for any subject, steps for each byte of it, entries
// of the stack, and registers.
const (
	baseSteps    = 3_000_000
	pauseSteps   = 1 << 16 // between two calls of the budget
	stepsPerByte = 20
	charsPerStep = 8 // where characters are passed in a row
	maxFrames    = 2_000_000
	maxRegisters = 4_000_000
)

// The machine begins to remember failed choices after this many steps for each
// byte, if that needs at most this many words.
const (
	stepsBeforeMemo = 32
	maxMemoWords    = 1 << 21
)

func newMachine(p *program) *machine {
	return &machine{p: p, caps: make([]int32, 2*p.groups), memoAfter: stepsBeforeMemo}
}

// reset drops the references to the subject.
func (m *machine) reset() {
	m.s = ""
	m.b = nil
	m.memo = nil
	m.stack = m.stack[:0]
}

// loc returns the match as offsets.
func (m *machine) loc() []int {
	loc := make([]int, len(m.caps))
	loc[0], loc[1] = min(m.keep, m.end), m.end // \K in a look-ahead may be beyond
	for i := 2; i < len(loc); i += 2 {
		loc[i], loc[i+1] = int(m.caps[i]), int(m.caps[i+1])
		if loc[i] < 0 || loc[i+1] < 0 {
			loc[i], loc[i+1] = -1, -1
		}
	}
	return loc
}

// search finds a match that begins at from or later.
func (m *machine) search(s string, from int) (bool, error) {
	if len(s) > math.MaxInt32-1 {
		return false, ErrLimit
	}
	m.limit = baseSteps + stepsPerByte*len(s)
	m.steps = m.limit
	m.pause = m.limit - pauseSteps
	if len(m.p.literals) > 1 { // a search for all but one may find nothing
		m.steps -= (len(s) - from) / charsPerStep / 16
	}
	if m.p.literals != nil && !slices.ContainsFunc(m.p.literals, func(l string) bool { return strings.Contains(s[from:], l) }) {
		return false, nil
	}
	m.s, m.from = s, from
	if m.p.anchored && from > 0 {
		return false, nil
	}
	for at := from; at <= len(s); {
		if m.p.first != nil {
			for at < len(s) && !m.p.first[s[at]] {
				at++
			}
			if at == len(s) {
				return false, nil
			}
		}
		ok, err := m.run(at)
		if ok || err != nil {
			return ok, err
		}
		if m.steps--; m.steps < m.pause { // positions where the match fails at once cost little, but there may be many
			if err := m.ask(); err != nil {
				return false, err
			}
		}
		if m.p.anchored {
			return false, nil
		}
		at += charLen(s, at)
	}
	return false, nil
}

// run matches at one position.
func (m *machine) run(at int) (bool, error) {
	m.keep = at
	for i := range m.caps {
		m.caps[i] = -1
	}
	m.stack = m.stack[:0]
	m.regs = m.regs[:0]
	m.base = 0
	m.frame()
	s, pos, pc := m.s, at, int32(0)
	for {
		m.steps--
		if m.steps < m.pause || len(m.stack) > maxFrames || len(m.regs) > maxRegisters {
			if err := m.ask(); err != nil {
				return false, err
			}
		}
		in := &m.p.insts[pc]
		pc++
		ok := true
		switch in.op {
		case opLit:
			if ok = strings.HasPrefix(s[pos:], in.text); ok {
				pos += len(in.text)
				m.steps -= len(in.text) / charsPerStep
			}
		case opFold:
			var n int
			n, ok = foldPrefix(s[pos:], in.runes)
			pos += n
			m.steps -= n / charsPerStep
		case opSet, opAny, opAnyNewline:
			n := m.take(in, in.op, pos)
			ok = n > 0
			pos += n
		case opRun:
			pos, ok = m.runOf(in, pc, pos)
		case opSplit:
			if ok = !m.failed(in.memo, int32(pos)); !ok {
				break
			}
			m.push(frame{kind: choice, memo: in.memo, a: in.y, b: int32(pos)})
			pc = in.x
		case opJump:
			pc = in.x
		case opOpen:
			m.open(in, pos)
			if in.y != 0 {
				m.set(in.y, int32(pos))
			}
		case opClose:
			m.push(frame{kind: undoClose, a: in.x, b: m.caps[2*in.x], c: m.caps[2*in.x+1]})
			m.caps[2*in.x+1] = int32(pos)
			if in.y != 0 { // it may have called itself in between
				m.caps[2*in.x] = m.get(in.y)
			}
		case opAssert:
			ok = m.assertion(in.assert, pos)
		case opBackref:
			pos, ok = m.backref(in, pos)
		case opTurn:
			m.set(in.x, int32(pos))
			m.set(in.x+1, int32(len(m.stack)))
		case opTurnEnd:
			var out bool
			if out, ok = m.turnEnd(in, pos); out {
				pc = in.y
			}
		case opCount:
			m.set(in.x, 0)
		case opLoop:
			pc = m.loop(in, pc, pos)
		case opMark:
			m.set(in.x, int32(len(m.stack)))
		case opCut:
			m.cut(int(m.get(in.x)))
		case opHere:
			m.set(in.x, int32(pos))
		case opReturn:
			pos = int(m.get(in.x))
		case opTry:
			m.push(frame{kind: choice, memo: -1, a: in.y, b: int32(pos)})
			m.set(in.x, int32(len(m.stack)-1))
		case opRefuse:
			m.unwind(int(m.get(in.x)))
			ok = false
		case opBack:
			pos, ok = m.back(pos, int(in.x))
		case opCall:
			m.call(pc)
			pc = in.x
		case opRet:
			pc = m.ret()
		case opIfGroup:
			if m.caps[2*in.x] < 0 || m.caps[2*in.x+1] < 0 {
				pc = in.y
			}
		case opKeep:
			m.push(frame{kind: undoKeep, a: int32(m.keep)})
			m.keep = pos
		case opMatch:
			m.end = pos
			return true, nil
		}
		if !ok {
			if pc, pos, ok = m.backtrack(); !ok {
				return false, nil
			}
		}
	}
}

// ask returns an error if the search has exceeded its limits, or if the budget
// ends it.
func (m *machine) ask() error {
	if m.steps < 0 || len(m.stack) > maxFrames || len(m.regs) > maxRegisters {
		return ErrLimit
	}
	m.pause = max(m.steps-pauseSteps, 0)
	return m.b.spend(pauseSteps)
}

// spent reports to the budget the steps since the last report.
func (m *machine) spent() error {
	return m.b.spend(max(m.pause+pauseSteps-m.steps, 0))
}

func (m *machine) push(f frame) { m.stack = append(m.stack, f) }

func (m *machine) get(r int32) int32 { return m.regs[m.base+int(r)] }

func (m *machine) set(r, v int32) {
	i := int32(m.base) + r
	m.push(frame{kind: undoReg, a: i, b: m.regs[i]})
	m.regs[i] = v
}

// frame allocates the registers of a subroutine, or of the whole pattern.
func (m *machine) frame() {
	m.base = len(m.regs)
	for range m.p.registers {
		m.regs = append(m.regs, 0)
	}
}

func (m *machine) call(ret int32) {
	old := m.base
	m.push(frame{kind: undoBase, a: int32(len(m.regs)), b: int32(old)})
	m.frame()
	m.regs[m.base] = ret
	m.regs[m.base+1] = int32(old)
}

// ret returns to the caller of a subroutine. It keeps the registers, because the
// matcher can backtrack into the subroutine.
func (m *machine) ret() int32 {
	m.push(frame{kind: undoBase, a: int32(len(m.regs)), b: int32(m.base)})
	to := m.regs[m.base]
	m.base = int(m.regs[m.base+1])
	return to
}

// undo reverts the change that f records. It returns false for choices.
func (m *machine) undo(f frame) bool {
	switch f.kind {
	case undoOpen, undoClose:
		m.caps[2*f.a], m.caps[2*f.a+1] = f.b, f.c
	case undoReg:
		m.regs[f.a] = f.b
	case undoBase:
		m.base = int(f.b)
		m.regs = m.regs[:f.a]
	case undoKeep:
		m.keep = int(f.a)
	case noteFailed:
		bit := m.bit(f.a, f.b)
		m.memo[bit/64] |= 1 << (bit % 64)
	default:
		return false
	}
	return true
}

// unwind reverts the stack to a height.
func (m *machine) unwind(height int) {
	for len(m.stack) > height {
		f := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		m.undo(f)
	}
}

// cut removes the choices above a height, and leaves the entries to undo.
func (m *machine) cut(height int) {
	kept := m.stack[:height]
	for _, f := range m.stack[height:] {
		if f.kind > extend {
			kept = append(kept, f)
		}
	}
	m.steps -= (len(m.stack) - height) / charsPerStep
	m.stack = kept
}

// backtrack goes back to the last choice.
func (m *machine) backtrack() (pc int32, pos int, ok bool) {
	for len(m.stack) > 0 {
		f := &m.stack[len(m.stack)-1]
		switch f.kind {
		case choice:
			pc, pos = f.a, int(f.b)
			m.stack = m.stack[:len(m.stack)-1]
			return pc, pos, true
		case shorten:
			_, w := utf8.DecodeLastRuneInString(m.s[:f.b])
			f.b -= int32(w)
			pc, at, memo := f.a, f.b, f.memo
			if f.b <= f.c {
				m.stack = m.stack[:len(m.stack)-1]
			}
			if m.steps--; m.failed(memo, at) {
				continue
			}
			return pc, int(at), true
		case extend:
			in := &m.p.insts[f.a-1]
			n := m.take(in, in.run, int(f.b))
			if n == 0 {
				m.stack = m.stack[:len(m.stack)-1]
				continue
			}
			f.b += int32(n)
			pc, at, memo := f.a, f.b, f.memo
			if f.c > 0 {
				f.c--
			}
			if f.c == 0 {
				m.stack = m.stack[:len(m.stack)-1]
			}
			if m.steps--; m.failed(memo, at) {
				continue
			}
			return pc, int(at), true
		default:
			m.undo(*f)
			m.stack = m.stack[:len(m.stack)-1]
		}
	}
	return 0, 0, false
}

// failed reports whether a choice failed when it was made before at this position.
// If not, it pushes a note on the stack. The note is reached when everything that
// follows from the choice has failed.
func (m *machine) failed(memo, pos int32) bool {
	if memo < 0 || m.p.memos == 0 {
		return false
	}
	if m.memo == nil {
		if m.limit-m.steps < m.memoAfter*(len(m.s)+64) {
			return false
		}
		words := (m.p.memos*(len(m.s)+1) + 63) / 64
		if words > maxMemoWords {
			return false
		}
		m.memo = make([]uint64, words)
	}
	bit := m.bit(memo, pos)
	if m.memo[bit/64]&(1<<(bit%64)) != 0 {
		return true
	}
	m.push(frame{kind: noteFailed, a: memo, b: pos})
	return false
}

func (m *machine) bit(memo, pos int32) int { return int(memo)*(len(m.s)+1) + int(pos) }

// take returns the length of the character at pos if op matches it, else 0.
func (m *machine) take(in *inst, op opcode, pos int) int {
	if pos >= len(m.s) {
		return 0
	}
	r, w := rune(m.s[pos]), 1
	if r >= utf8.RuneSelf {
		r, w = utf8.DecodeRuneInString(m.s[pos:])
	}
	switch op {
	case opSet:
		if !in.set.has(r) {
			return 0
		}
	case opAny:
		if r == '\n' {
			return 0
		}
	case opLit:
		if r != in.char {
			return 0
		}
	}
	return w
}

// runOf matches as many characters as it can, or as few as it must if it is lazy,
// and pushes a choice for the others.
func (m *machine) runOf(in *inst, next int32, pos int) (int, bool) {
	count := int32(0)
	for count < in.min {
		n := m.take(in, in.run, pos)
		if n == 0 {
			return pos, false
		}
		pos += n
		count++
	}
	m.steps -= int(count) / charsPerStep
	if in.max == count {
		return pos, true
	}
	if !in.greedy {
		left := int32(unlimited)
		if in.max != unlimited {
			left = in.max - count
		}
		m.push(frame{kind: extend, memo: in.memo, a: next, b: int32(pos), c: left})
		return pos, true
	}
	least := pos
	for count != in.max {
		n := m.take(in, in.run, pos)
		if n == 0 {
			break
		}
		pos += n
		count++
	}
	m.steps -= int(count) / charsPerStep
	if pos > least && !in.possessive {
		m.push(frame{kind: shorten, memo: in.memo, a: next, b: int32(pos), c: int32(least)})
	}
	return pos, true
}

// loop begins the next turn of a counted repeat, or ends it.
func (m *machine) loop(in *inst, body int32, pos int) int32 {
	n := m.get(in.x)
	switch {
	case n < in.min:
		m.set(in.x, n+1)
		return body
	case n == in.max:
		return in.y
	case in.greedy:
		m.push(frame{kind: choice, memo: -1, a: in.y, b: int32(pos)})
		m.set(in.x, n+1)
		return body
	}
	// The choice leads into the body with the register raised. So the register is
	// raised first; the way out does not use it.
	m.set(in.x, n+1)
	m.push(frame{kind: choice, memo: -1, a: body, b: int32(pos)})
	return in.y
}

// open begins a group. In Onigmo, an open group that is tracked has no end;
// otherwise it has the end of its last turn.
func (m *machine) open(in *inst, pos int) {
	f := frame{kind: undoClose, a: in.x, b: m.caps[2*in.x], c: m.caps[2*in.x+1]}
	if in.tracked {
		f.kind = undoOpen
		m.caps[2*in.x+1] = -1
	}
	m.push(f)
	m.caps[2*in.x] = int32(pos)
}

// turnEnd reports whether a loop is left after a turn that matched nothing. If
// tracked groups were captured in the turn, the loop is only left if they had the
// same captures before. Otherwise there is one more turn or, if they were empty
// elsewhere, this path fails (ok is false).
func (m *machine) turnEnd(in *inst, pos int) (out, ok bool) {
	if int(m.get(in.x)) != pos {
		return false, true
	}
	if !in.captures {
		return true, true
	}
	ok = true
	turn := m.stack[m.get(in.x+1):]
	m.steps -= len(turn) / charsPerStep
	for _, f := range turn {
		if f.kind != undoOpen {
			continue
		}
		switch {
		case f.c < 0:
			return false, true
		case f.b == f.c:
			ok = ok && int(f.c) == pos
		case m.caps[2*f.a] != f.b || m.caps[2*f.a+1] != f.c:
			return false, true
		}
	}
	return true, ok
}

func (m *machine) back(pos, n int) (int, bool) {
	m.steps -= min(pos, n) / charsPerStep
	for range n {
		if pos == 0 {
			return pos, false
		}
		_, w := utf8.DecodeLastRuneInString(m.s[:pos])
		pos -= w
	}
	return pos, true
}

func (m *machine) backref(in *inst, pos int) (int, bool) {
	for _, g := range in.groups {
		from, to := m.caps[2*g], m.caps[2*g+1]
		if from < 0 || to < 0 {
			continue
		}
		text := m.s[from:to]
		m.steps -= len(text) / charsPerStep
		if n, ok := samePrefix(m.s[pos:], text, in.fold); ok {
			return pos + n, true
		}
	}
	return pos, false
}

// samePrefix reports whether s begins with text, and the length of that prefix in
// s.
func samePrefix(s, text string, fold bool) (n int, ok bool) {
	if !fold {
		return len(text), strings.HasPrefix(s, text)
	}
	for _, want := range text {
		if n >= len(s) {
			return 0, false
		}
		r, w := utf8.DecodeRuneInString(s[n:])
		if foldRune(r) != foldRune(want) {
			return 0, false
		}
		n += w
	}
	return n, true
}

func (m *machine) assertion(a assertion, pos int) bool {
	s := m.s
	switch a {
	case beginLine:
		return pos == 0 || pos < len(s) && s[pos-1] == '\n'
	case endLine:
		return pos == len(s) || s[pos] == '\n'
	case beginText:
		return pos == 0
	case endText:
		return pos == len(s)
	case endTextNewline:
		return pos == len(s) || pos == len(s)-1 && s[pos] == '\n'
	case searchStart:
		return pos == m.from
	}
	ascii := a == asciiBoundary || a == notASCIIBoundary
	var before, after bool
	if pos > 0 {
		r, _ := utf8.DecodeLastRuneInString(s[:pos])
		before = isWord(r) && !(ascii && r >= utf8.RuneSelf)
	}
	if pos < len(s) {
		r, _ := utf8.DecodeRuneInString(s[pos:])
		after = isWord(r) && !(ascii && r >= utf8.RuneSelf)
	}
	return (before != after) == (a == wordBoundary || a == asciiBoundary)
}

// isWord reports whether r is part of words: [[:word:]].
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic)
}
