// Package excerpt prints the part of a text at which something is wrong: one line of the text, and
// a caret below the position.
package excerpt

import (
	"strings"
	"unicode/utf8"

	"bolt/internal/columns"
)

// Width is the number of columns of a line that an excerpt has if the width of the terminal is not
// known.
const Width = 160

// Of returns a line and, below it, a caret under a character, which is counted from 1. Tabs stay
// tabs, so that the caret is at the right position. If the line takes more than width columns of a
// terminal, Of returns the part around the character, with … where the line was cut.
func Of(line string, character, width int) string {
	line, at := window(line, offset(line, character-1), width)
	fields := strings.Split(line[:at], "\t")
	for i, field := range fields {
		fields[i] = strings.Repeat(" ", columns.Count(field))
	}
	return line + "\n" + strings.Join(fields, "\t") + "^"
}

// Begin returns the first width columns of a line, with … if the line was cut.
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

// offset returns the offset of a character, which is counted from 0; at most the end.
func offset(line string, character int) int {
	for i := range line {
		if character--; character < 0 {
			return i
		}
	}
	return len(line)
}

// forward returns the offset n columns after another, at most the end.
func forward(line string, from, n int) int { return from + len(columns.Cut(line[from:], n)) }

// backward returns the offset n columns before another, at least 0.
func backward(line string, from, n int) int {
	for from > 0 {
		_, size := utf8.DecodeLastRuneInString(line[:from])
		if n -= columns.Count(line[from-size : from]); n < 0 {
			break
		}
		from -= size
	}
	return from
}
