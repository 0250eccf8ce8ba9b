package safetext

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Terminal is a filter for text that people read on a terminal. It removes every control character except
// line feed and tab, and every control sequence (ECMA-48 section 5: cursor movements, titles, clipboard,
// queries that the terminal would answer). If colours are kept, "select graphic rendition" passes.
//
// Terminal also removes the characters that change the order of others, or end lines (isDeceptive). It
// switches colours off at the end of each line and on again in the next, so that text around a line does not
// take its colours. A carriage return becomes a line feed, together with a line feed that follows it, so that
// it cannot overwrite printed text.
type Terminal struct {
	u     UTF8
	strip stripper
}

// NewTerminal returns a filter that writes to w. With colors the sequences
// that set colours pass.
func NewTerminal(w io.Writer, colors bool) *Terminal {
	t := &Terminal{strip: stripper{w: w, colors: colors}}
	t.u.w = &t.strip
	return t
}

// Write filters p.
func (t *Terminal) Write(p []byte) (int, error) { return t.u.Write(p) }

// Flush writes what was held back and resets colours that are on. An
// unfinished control sequence is dropped.
func (t *Terminal) Flush() error {
	if err := t.u.Flush(); err != nil {
		return err
	}
	s := &t.strip
	on := s.on()
	s.state, s.cr, s.off, s.active = ground, false, false, s.active[:0]
	if !on {
		return nil
	}
	_, err := io.WriteString(s.w, resetSGR)
	return err
}

// TerminalString filters a short string and removes its colours.
func TerminalString(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	t := NewTerminal(&b, false)
	_, _ = io.WriteString(t, s) // a Builder never returns an error
	_ = t.Flush()
	return b.String()
}

// plain reports whether s is ASCII without control characters other than line feed and tab.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// isDeceptive reports whether a character can make a text look like another text. Such
// characters are the explicit directional formatting characters of Unicode's
// bidirectional algorithm (UAX #9, section 2) and the line and paragraph separators.
func isDeceptive(r rune) bool {
	switch {
	case r == 0x061c, r == 0x200e, r == 0x200f, 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return true
	}
	return false
}

// The states of a stripper.
const (
	ground     = iota
	escaped    // after ESC
	sequence   // in a control sequence: ESC [ …
	controlStr // in a control string (OSC, DCS, SOS, PM, APC), up to BEL or ST
	strEscape  // after ESC in a control string
)

// maxSequence limits the stored bytes of a control sequence: longer sequences do not set colours.
const maxSequence = 64

// maxActive limits the bytes of colour sequences that are remembered from line to line.
const maxActive = 4 * maxSequence

const resetSGR = "\x1b[0m"

// stripper does Terminal's work on valid UTF-8.
type stripper struct {
	w      io.Writer
	colors bool
	state  int
	seq    []byte // parameters of the control sequence so far
	cr     bool   // the last byte was a carriage return
	active []byte // the sequences that set the active attributes
	off    bool   // active was switched off at the end of a line
}

// on reports whether the terminal shows a colour now.
func (s *stripper) on() bool { return len(s.active) > 0 && !s.off }

func (s *stripper) Write(p []byte) (int, error) {
	start := 0
	text := func(end int) error { // writes plain text before end
		if end <= start {
			return nil
		}
		if s.off {
			s.off = false
			if _, err := s.w.Write(s.active); err != nil {
				return err
			}
		}
		_, err := s.w.Write(p[start:end])
		return err
	}
	for i := 0; i < len(p); {
		c, size := p[i], 1
		if s.state == ground {
			if c >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRune(p[i:])
				if r > 0x9f && !isDeceptive(r) { // not a C1 control character
					s.cr = false
					i += size
					continue
				}
			} else if c >= ' ' && c != 0x7f || c == '\t' || c == '\n' && !s.cr && len(s.active) == 0 {
				s.cr = false
				i++
				continue
			}
			if err := text(i); err != nil {
				return 0, err
			}
			i += size
			start = i
			if c < utf8.RuneSelf {
				if err := s.control(c); err != nil {
					return 0, err
				}
			}
			continue
		}
		start = i
		if c >= utf8.RuneSelf && s.state <= sequence {
			s.state = ground // not part of a sequence: it ended here
			continue
		}
		i++
		start = i
		if err := s.inside(c); err != nil {
			return 0, err
		}
	}
	if s.state == ground {
		if err := text(len(p)); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// control handles a control character in plain text.
func (s *stripper) control(c byte) error {
	wasCR := s.cr
	s.cr = c == '\r'
	switch c {
	case 0x1b:
		s.state = escaped
	case '\r':
		return s.newline()
	case '\n':
		if !wasCR { // else it has already been written
			return s.newline()
		}
	}
	return nil
}

func (s *stripper) newline() error {
	end := "\n"
	if s.on() {
		end, s.off = resetSGR+"\n", true
	}
	_, err := io.WriteString(s.w, end)
	return err
}

// color handles a "select graphic rendition" with the parameters seq.
func (s *stripper) color() error {
	code := "\x1b[" + string(s.seq) + "m"
	if isReset(s.seq) {
		wasOn := s.on()
		s.active, s.off = s.active[:0], false
		if !wasOn {
			return nil
		}
		_, err := io.WriteString(s.w, code)
		return err
	}
	if len(s.active)+len(code) > maxActive {
		s.active = s.active[:0]
	}
	s.active = append(s.active, code...)
	if s.off {
		return nil // is written with the others before the next text
	}
	_, err := io.WriteString(s.w, code)
	return err
}

// inside handles a byte of an escape sequence.
func (s *stripper) inside(c byte) error {
	switch s.state {
	case escaped:
		switch {
		case c == '[':
			s.state, s.seq = sequence, s.seq[:0]
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			s.state = controlStr
		case c == 0x1b || c >= 0x20 && c <= 0x2f: // again, or an intermediate byte
		default:
			s.state = ground
		}
	case sequence:
		switch {
		case c >= 0x40 && c <= 0x7e:
			s.state = ground
			if c == 'm' && s.colors && isSGR(s.seq) {
				return s.color()
			}
		case c == 0x1b:
			s.state = escaped
		case c < ' ' || c == 0x7f: // also not part of it
			s.state = ground
			if c == '\n' || c == '\r' {
				return s.control(c)
			}
		case len(s.seq) < maxSequence:
			s.seq = append(s.seq, c)
		}
	case controlStr:
		switch c {
		case 0x07:
			s.state = ground
		case 0x1b:
			s.state = strEscape
		case '\n': // an unclosed string must not remove the rest of the output
			s.state = ground
			return s.control(c)
		}
	case strEscape:
		s.state = controlStr
		if c == '\\' {
			s.state = ground
		}
	}
	return nil
}

// isSGR reports whether seq holds parameters of "select graphic rendition".
func isSGR(seq []byte) bool {
	for _, c := range seq {
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return len(seq) < maxSequence
}

// isReset reports whether the parameters switch everything off.
func isReset(seq []byte) bool {
	return strings.Trim(string(seq), "0;") == ""
}
