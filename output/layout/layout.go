// Package layout holds the common parts of all output: formats, colours, lines
// of JSON, and the text of numbers and times.
package layout

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bolt/format/safejson"
)

// A Format is an output format. The zero value is text for people without colours.
type Format struct {
	Name string // as in --format
	// Data is set if the format is for programs: standard output then contains nothing else, and lists are
	// JSON.
	Data bool
}

// String returns the name.
func (f Format) String() string { return f.Name }

// The formats that lists distinguish.
var (
	Human   = Format{Name: "human"}
	JSON    = Format{Name: "json", Data: true}
	NDJSON  = Format{Name: "ndjson", Data: true} // one event a line, see docs/ndjson.md
	Rainbow = Format{Name: "rainbow"}
)

// The colours, as parameters of "select graphic rendition".
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// ResetColor ends a colour.
const ResetColor = "\x1b[0m"

// Paint puts s in a colour if on.
func Paint(color string, on bool, s string) string {
	if !on {
		return s
	}
	return "\x1b[" + color + "m" + s + ResetColor
}

// WriteLine prints a value as one line of JSON.
func WriteLine(w *bufio.Writer, v any) error {
	if err := safejson.Write(w, v); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// WriteDocument prints a value as one line of JSON that is the whole output.
func WriteDocument(w io.Writer, v any) error {
	out := bufio.NewWriter(w)
	if err := WriteLine(out, v); err != nil {
		return err
	}
	return out.Flush()
}

// Plural returns n with a noun: "1 target", "2 targets".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Duration returns d as Puppet Bolt prints it: "0.3 sec", "2 min, 5 sec", "1
// hr, 0 min, 9 sec".
func Duration(d time.Duration) string {
	hours, minutes := int(d/time.Hour), int(d%time.Hour/time.Minute)
	seconds := (d % time.Minute).Seconds()
	whole := strconv.Itoa(int(math.Round(seconds))) + " sec"
	switch {
	case hours > 0:
		return strconv.Itoa(hours) + " hr, " + strconv.Itoa(minutes) + " min, " + whole
	case minutes > 0:
		return strconv.Itoa(minutes) + " min, " + whole
	}
	s := strconv.FormatFloat(math.Round(seconds*100)/100, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s + " sec"
}

// maxText is the maximum number of characters in the result of OneLine.
const maxText = 200

// OneLine returns a value on one line: a string as it is, other values as JSON.
func OneLine(v any) string {
	text, ok := v.(string)
	if ok {
		text = strings.ReplaceAll(text, "\n", `\n`)
	} else {
		var b strings.Builder
		if safejson.Write(&b, v) != nil {
			return "?" // the results of targets are valid JSON
		}
		text = b.String()
	}
	if utf8.RuneCountInString(text) > maxText {
		text = string([]rune(text)[:maxText]) + "…"
	}
	return text
}
