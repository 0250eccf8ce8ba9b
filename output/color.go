package output

import (
	"math"
	"strconv"
	"strings"

	"bolt/output/layout"
)

// rainbow colours bolt's own lines in changing hues.
type rainbow struct{ line int }

// rainbowStep is the number of characters that share a colour, so that the
// sequences are not most of the output.
const rainbowStep = 3

// text colours s, one line.
func (r *rainbow) text(s string) string {
	var b strings.Builder
	col := 0
	for _, c := range s {
		if col%rainbowStep == 0 {
			b.WriteString("\x1b[38;5;" + strconv.Itoa(hue(float64(r.line)+float64(col)/rainbowStep)) + "m")
		}
		b.WriteRune(c)
		col++
	}
	r.line++
	return b.String() + layout.ResetColor
}

// hue returns a colour of the 6×6×6 cube of 256-colour terminals, on a circle
// with x as its angle.
func hue(x float64) int {
	level := func(shift float64) int {
		return int(math.Round(2.5 + 2.5*math.Sin(0.3*x+shift*2*math.Pi/3)))
	}
	return 16 + 36*level(0) + 6*level(1) + level(2)
}
