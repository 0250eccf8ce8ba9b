package shell

import "bytes"

// A script on the machine sends marks between the lines of a command's own
// output. A mark is a random token of 128 bits and a message:
//
//	TOKEN?            sudo asks for its password (the token is its prompt)
//	TOKEN+            the program that switches the user is about to start
//	TOKEN!            the script has begun, as its final user
//	TOKEN#step text TOKEN.   the step failed, with the shell's error text
//
// A line end after any mark but the first is part of the mark. A mark may
// follow an unfinished line of other output.

// mark is the kind of a mark: the byte after the token.
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
	// maxStepText limits the stored text of a step; the rest is dropped.
	maxStepText = 8 << 10
)

// piece is a run of plain output, or a mark.
type piece struct {
	mark mark
	text []byte // output, or the message of a stepMark
}

// scanner searches for marks in a stream that comes in pieces of any size. It
// holds back only data that may be the beginning of a mark, and at most
// maxStepText of a step's text.
//
// After the script has begun, only beganMark (which can come again) and
// stepMark are marks. If a command prints the text of sudo's prompt, that is
// output.
type scanner struct {
	token   []byte
	begun   bool
	pend    []byte
	inStep  bool
	step    []byte
	lineEnd bool // the next line end is part of the previous mark
}

// scan takes the next piece of the stream and calls emit for each piece that is
// decided. The argument of emit is valid only during the call.
func (s *scanner) scan(p []byte, emit func(piece)) {
	s.pend = append(s.pend, p...)
	for s.next(emit) {
	}
}

// end is called at the end of the stream: data that was held back is output.
func (s *scanner) end(emit func(piece)) {
	if s.inStep {
		emit(piece{mark: stepMark, text: s.addStep(s.pend)})
	} else if len(s.pend) > 0 {
		emit(piece{text: s.pend})
	}
	s.pend, s.step, s.inStep = nil, nil, false
}

// next takes one piece from pend and reports whether there may be another.
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
		return false // the kind has not arrived yet
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

// plain handles text between marks.
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

// skipLineEnd drops one line end ("\n" or, from a terminal, "\r\n"). It returns
// false if more data is needed to decide.
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

// overlap returns the length of the longest suffix of p that is a proper prefix
// of word.
func overlap(p, word []byte) int {
	for n := min(len(p), len(word)-1); n > 0; n-- {
		if bytes.HasPrefix(word, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// cutter removes every occurrence of a text from a stream, except for its first
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

// scanCutter removes a text from the output between marks.
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
