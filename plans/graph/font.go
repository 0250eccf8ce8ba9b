package graph

import "strings"

// fontSize and lineHeight are in pixels, as all that is drawn.
const (
	fontSize   = 13
	lineHeight = 17
)

// advances are the widths of the characters from ' ' to '~' in Helvetica, in
// thousandths of the font's size (Adobe's font metrics of 1989, Core 14).
var advances = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// advance is how wide a character may be, in thousandths of the font's size.
// Fonts that stand for Helvetica where it is not known are wider.
func advance(r rune, bold bool) int {
	width := 600
	switch {
	case r >= ' ' && r <= '~':
		width = advances[r-' ']
	case r >= 0x1100: // East Asian ones fill a square
		width = 1000
	}
	if bold {
		return width * 116 / 100
	}
	return width * 109 / 100
}

// textWidth is how wide a text may be.
func textWidth(s string, bold bool) int {
	sum := 0
	for _, r := range s {
		sum += advance(r, bold)
	}
	return (sum*fontSize + 999) / 1000
}

// wrapped breaks a text into lines of a width, behind a comma or at a
// blank where there is one.
// What does not fit onto so many lines is left out.
func wrapped(s string, bold bool, width, lines int) []string {
	var list []string
	for len(list) < lines-1 && textWidth(s, bold) > width {
		n := fitting(s, bold, width)
		if i := strings.LastIndex(s[:n], ", "); i > n/2 {
			n = i + 1
		} else if i := strings.LastIndexByte(s[:n], ' '); i > n/2 {
			n = i
		}
		list = append(list, strings.TrimSpace(s[:n]))
		s = strings.TrimSpace(s[n:])
	}
	if textWidth(s, bold) > width {
		s = strings.TrimSpace(s[:fitting(s, bold, width-fontSize)]) + "…"
	}
	return append(list, s)
}

// fitting is how many bytes of a text have room, at least one character.
func fitting(s string, bold bool, width int) int {
	sum := 0
	for i, r := range s {
		if sum += advance(r, bold); sum*fontSize > width*1000 && i > 0 {
			return i
		}
	}
	return len(s)
}
