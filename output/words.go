package output

import (
	"bufio"
	"time"

	"bolt/output/layout"
)

// The colours.
const (
	red    = layout.Red
	green  = layout.Green
	yellow = layout.Yellow
	cyan   = layout.Cyan
)

func paint(color string, on bool, s string) string { return layout.Paint(color, on, s) }

func plural(n int, noun string) string { return layout.Plural(n, noun) }

func durationText(d time.Duration) string { return layout.Duration(d) }

func oneLine(v any) string { return layout.OneLine(v) }

func truncated(text string) string { return layout.Truncated(text) }

func writeLine(w *bufio.Writer, v any) error { return layout.WriteLine(w, v) }
