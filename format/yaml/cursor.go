package yaml

import (
	"bytes"
	"unicode/utf8"
)

// A cursor moves forward in a text. It counts lines and columns like the library.
type cursor struct {
	rest         []byte
	off          int // bytes before rest
	line, column int // of rest
}

func begin(data []byte) cursor { return cursor{rest: data, line: 1, column: 1} }

// offset moves to a line and column, unless the cursor is past them, and returns the offset.
func (c *cursor) offset(line, column int) int {
	for len(c.rest) > 0 && (c.line < line || c.line == line && c.column < column) {
		c.next()
	}
	return c.off
}

// next moves one character forward.
func (c *cursor) next() {
	r, size := utf8.DecodeRune(c.rest)
	switch {
	case r == '\r' && bytes.HasPrefix(c.rest, []byte("\r\n")):
		size = 2
		fallthrough
	case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
		c.line, c.column = c.line+1, 1
	case r == '\ufeff' && c.off == 0: // a byte order mark does not count as a column
	default:
		c.column++
	}
	c.rest, c.off = c.rest[size:], c.off+size
}
