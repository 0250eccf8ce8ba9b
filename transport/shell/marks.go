package shell

import "bytes"

// Marks are how a script on the machine speaks to us between the lines of a
// command's own output: a random token of 128 bits, then what it says.
//
//	TOKEN?            sudo asks for its password (the token is its prompt)
//	TOKEN+            the program that changes the user is about to start
//	TOKEN!            the script has begun, as the user it is to run as
//	TOKEN#step text TOKEN.   the step failed, and what the shell said of it
//
// A line end behind all but the first belongs to them. A mark may follow half a line
// of other output.

// mark is the kind of a mark: the byte behind the token.
type mark byte

const (
	noMark     mark = 0
	promptMark mark = '?'
	takenMark  mark = '+'
	beganMark  mark = '!'
	stepMark   mark = '#'
)

const (
	endOfStep = '.'
	// maxStepText bounds what is kept of a step's text; the rest is dropped.
	maxStepText = 8 << 10
)

// piece is a run of plain output, or a mark.
type piece struct {
	mark mark
	text []byte // output; or what a stepMark says
}

// scanner finds marks in a stream that comes in pieces of any size. It holds
// back no more than what may be the beginning of a mark, and of a step's text
// no more than maxStepText.
//
// Once the script has begun, its beginning (which may be told again) and steps
// alone are marks: a command that prints what looks like sudo's prompt prints text.
type scanner struct {
	token   []byte
	begun   bool
	pend    []byte
	inStep  bool
	step    []byte
	lineEnd bool // the next line end belongs to the mark before it
}

// scan takes the next piece of the stream and calls emit for what is certain.
// What emit is given is valid only during the call.
func (s *scanner) scan(p []byte, emit func(piece)) {
	s.pend = append(s.pend, p...)
	for s.next(emit) {
	}
}

// end tells that the stream has ended: what was held back is output.
func (s *scanner) end(emit func(piece)) {
	if s.inStep {
		emit(piece{mark: stepMark, text: s.addStep(s.pend)})
	} else if len(s.pend) > 0 {
		emit(piece{text: s.pend})
	}
	s.pend, s.step, s.inStep = nil, nil, false
}

// next takes one piece off pend and reports whether there may be another.
func (s *scanner) next(emit func(piece)) bool {
	if s.lineEnd && !s.skipLineEnd() {
		return false
	}
	i := bytes.Index(s.pend, s.token)
	if i < 0 {
		keep := overlap(s.pend, s.token)
		s.plain(s.pend[:len(s.pend)-keep], emit)
		s.drop(len(s.pend) - keep)
		return false
	}
	after := i + len(s.token)
	if i > 0 {
		s.plain(s.pend[:i], emit)
		s.drop(i)
		return true
	}
	if after == len(s.pend) {
		return false // its kind has not come yet
	}
	kind := s.pend[after]
	switch {
	case s.inStep && kind == endOfStep:
		emit(piece{mark: stepMark, text: s.step})
		s.step, s.inStep, s.lineEnd = nil, false, true
	case !s.inStep && kind == byte(stepMark):
		s.inStep = true
	case !s.begun && !s.inStep && kind == byte(promptMark):
		emit(piece{mark: promptMark})
	case !s.begun && !s.inStep && kind == byte(takenMark):
		emit(piece{mark: takenMark})
		s.lineEnd = true
	case !s.inStep && kind == byte(beganMark):
		emit(piece{mark: beganMark})
		s.begun, s.lineEnd = true, true
	default:
		s.plain(s.pend[:after], emit)
		s.drop(after)
		return true
	}
	s.drop(after + 1)
	return true
}

// plain is text between marks.
func (s *scanner) plain(text []byte, emit func(piece)) {
	switch {
	case s.inStep:
		s.step = s.addStep(text)
	case len(text) > 0:
		emit(piece{text: text})
	}
}

func (s *scanner) addStep(text []byte) []byte {
	return append(s.step, text[:min(len(text), maxStepText-len(s.step))]...)
}

// skipLineEnd drops one line end ("\n" or, from a terminal, "\r\n") and
// reports whether it is clear that there is none left to drop.
func (s *scanner) skipLineEnd() bool {
	switch {
	case len(s.pend) == 0, len(s.pend) == 1 && s.pend[0] == '\r':
		return false
	case s.pend[0] == '\n':
		s.drop(1)
	case s.pend[0] == '\r' && s.pend[1] == '\n':
		s.drop(2)
	}
	s.lineEnd = false
	return true
}

func (s *scanner) drop(n int) {
	s.pend = s.pend[:copy(s.pend, s.pend[n:])]
}

// overlap is the length of the longest end of p that word begins with, short
// of the whole word.
func overlap(p, word []byte) int {
	for n := min(len(p), len(word)-1); n > 0; n-- {
		if bytes.HasPrefix(word, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// cutter takes every occurrence of a text out of a stream, but for its first
// keep bytes.
type cutter struct {
	text []byte
	keep int
	pend []byte
}

func (c *cutter) scan(p []byte, emit func(piece)) {
	c.pend = append(c.pend, p...)
	for {
		i := bytes.Index(c.pend, c.text)
		if i < 0 {
			break
		}
		if i+c.keep > 0 {
			emit(piece{text: c.pend[:i+c.keep]})
		}
		c.pend = c.pend[:copy(c.pend, c.pend[i+len(c.text):])]
	}
	held := overlap(c.pend, c.text)
	if n := len(c.pend) - held; n > 0 {
		emit(piece{text: c.pend[:n]})
		c.pend = c.pend[:copy(c.pend, c.pend[n:])]
	}
}

func (c *cutter) end(emit func(piece)) {
	if len(c.pend) > 0 {
		emit(piece{text: c.pend})
	}
	c.pend = nil
}

// scanCutter takes a text out of what is no mark.
type scanCutter struct {
	scanner scanner
	cutter  cutter
}

func (s *scanCutter) scan(p []byte, emit func(piece)) { s.scanner.scan(p, s.cut(emit)) }

func (s *scanCutter) end(emit func(piece)) {
	s.scanner.end(s.cut(emit))
	s.cutter.end(emit)
}

func (s *scanCutter) cut(emit func(piece)) func(piece) {
	return func(p piece) {
		if p.mark != noMark {
			emit(p)
			return
		}
		s.cutter.scan(p.text, emit)
	}
}
