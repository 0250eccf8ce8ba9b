// Package excerpt prints the part of a text at which something is wrong: one line of the text, and
// a caret below the position.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of characters of a line that an excerpt has if the width of the terminal is
// not known.
const Width = 160

// Of returns a line and, below it, a caret under a column, which is from 1 and in characters. Tabs
// stay tabs, so that the caret is at the right position. If the line has more than width
// characters, Of returns the part around the column, with … where the line was cut.
func Of(line string, column, width int) string {
	line, at := window(line, forward(line, 0, column-1), width)
	var pad strings.Builder
	for _, r := range line[:at] {
		if r != '\t' {
			r = ' '
		}
		pad.WriteRune(r)
	}
	return line + "\n" + pad.String() + "^"
}

// Begin returns the first width characters of a line, with … if the line was cut.
func Begin(line string, width int) string {
	line, _ = window(line, 0, width)
	return line
}

// window cuts a long line to the part around the byte at, and returns the offset of that byte in
// the part.
func window(line string, at, width int) (string, int) {
	// If there is little before or after the position, the part has more of the other side.
	end := forward(line, at, width/2)
	begin := min(backward(line, end, width), at)
	end = max(forward(line, begin, width), at)
	const cut = "…"
	part := line[begin:end]
	at -= begin
	if begin > 0 {
		part = cut + part
		at += len(cut)
	}
	if end < len(line) {
		part += cut
	}
	return part, at
}

// forward returns the offset n characters after another, at most the end.
func forward(line string, from, n int) int {
	for i := range line[from:] {
		if n--; n < 0 {
			return from + i
		}
	}
	return len(line)
}

// backward returns the offset n characters before another, at least 0.
func backward(line string, from, n int) int {
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:from])
		from -= size
	}
	return from
}
