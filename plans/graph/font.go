package graph

import "strings"

// fontSize and lineHeight are in pixels, like all lengths in the picture.
const (
	fontSize   = 13
	lineHeight = 17
)

// regular and bold are the widths of the characters from ' ' to '~' in thousandths of the font's size: the advances of DejaVu Sans 2.37.
// It is the widest of the fonts that replace a missing Helvetica. So text fits its box with all of them.
var regular = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
	1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
	603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
	500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

var bold = [...]int{
	348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365,
	696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580,
	1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
	733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500,
	500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
	716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
}

// advance returns the maximum width of a character, in thousandths of the font's size.
func advance(r rune, strong bool) int {
	switch {
	case r >= ' ' && r <= '~' && strong:
		return bold[r-' ']
	case r >= ' ' && r <= '~':
		return regular[r-' ']
	}
	return 1000 // East Asian characters and the ellipsis fill a square; others are narrower
}

// textWidth returns the maximum width of a string.
func textWidth(s string, bold bool) int {
	sum := 0
	for _, r := range s {
		sum += advance(r, bold)
	}
	return (sum*fontSize + 999) / 1000
}

// wrapped breaks a string into lines of a width, after a comma or at a space if
// possible. Text that does not fit into that many lines is left out.
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

// fitting returns how many bytes of a string fit, at least one character.
func fitting(s string, bold bool, width int) int {
	sum := 0
	for i, r := range s {
		if sum += advance(r, bold); sum*fontSize > width*1000 && i > 0 {
			return i
		}
	}
	return len(s)
}
