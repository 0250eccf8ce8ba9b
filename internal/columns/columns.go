// Package columns counts the columns that text takes on a terminal, and cuts text to a number of columns.
//
// East Asian wide and fullwidth characters, which include most emoji, take two columns (UAX #11). Combining
// characters and invisible formatting characters take none. Terminals do not agree on all characters, so
// a caller must not rely on the count for its control of the cursor.
package columns

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"bolt/internal/safetext"
)

// firstSpecial is the first character that can take none or two columns.
const firstSpecial = '\u0300'

// of returns the number of columns of a character that is not a control character.
func of(r rune) int {
	if r < firstSpecial {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Count returns the number of columns of a text without control characters.
func Count(s string) int {
	n := 0
	for _, r := range s {
		n += of(r)
	}
	return n
}

// Cut returns the longest beginning of s that takes at most n columns.
func Cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	for i, r := range s {
		if n -= of(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// Pad returns s with blanks up to n columns. A longer text is not changed.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-Count(s)))
}

// maxBytes is the number of bytes of a string that Row reads for each column. A character with its
// combining characters can have more bytes, but no word of a language has such characters.
const maxBytes = 16

// Row returns a string of unknown origin as safe text on one row of at most n columns. If the string is
// longer, the row ends with an ellipsis. The work does not grow with the length of s.
func Row(s string, n int) string {
	if n <= 0 {
		return ""
	}
	long := len(s) > n*maxBytes
	if long {
		s = strings.TrimRightFunc(s[:n*maxBytes], func(r rune) bool { return r == utf8.RuneError })
	}
	row := strings.Join(strings.Fields(safetext.TerminalString(s)), " ")
	if cut := Cut(row, n); long || len(cut) < len(row) {
		return strings.TrimRight(Cut(row, n-1), " ") + "…"
	}
	return row
}
