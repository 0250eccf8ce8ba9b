package ssh

import (
	"strings"
	"unicode"
)

// maxFarText bounds what one piece of text from the other side adds to a
// message.
const maxFarText = 1 << 10

// farText makes text from a server, an agent or a proxy command fit for a
// message or a record: on one line, cut to maxFarText bytes, and without what
// a terminal would obey (control characters, marks of direction).
func farText(s string) string {
	cut := len(s) > maxFarText
	if cut {
		s = s[:maxFarText]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if cut {
		s += " …"
	}
	return s
}

// farTexts is farText for a list, all of it within the bound.
func farTexts(list []string) string { return farText(strings.Join(list, ", ")) }
