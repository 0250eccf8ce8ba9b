package output

import (
	"bufio"
	"strings"

	"bolt/event"
	"bolt/internal/excerpt"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// PrintError prints an error that kept an action from starting to o.Out, which is standard output
// as for all fatal errors, unless a command's output is data. For people, it prints the text of the
// error, an excerpt of the file that the error is about, and the hint. In JSON, it prints one line
// {"kind","msg","details"}; with NDJSON the line is an event of its own.
func PrintError(o Options, err error) error {
	e := event.FailedBy(err)
	out := bufio.NewWriter(o.Out)
	switch o.Format {
	case JSON:
		err = layout.WriteLine(out, e.Data)
	case NDJSON:
		err = newNDJSON(Options{}, out).failed(e)
	default:
		newHuman(o, out).failed(e)
		err = nil
	}
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if o.apart() {
		printApart(o, e)
	}
	return nil
}

// failed prints an error that ended an action: the problem, its place, and the hint.
func (h *human) failed(e event.Failed) {
	text := safetext.TerminalString(e.Msg)
	if e.Place != "" {
		text += "\n  " + safetext.TerminalString(e.Place)
	}
	h.println(layout.Paint(layout.Red, h.o.Color, text))
	if !h.o.apart() {
		_, _ = h.out.WriteString(excerptOf(h.o, e))
	}
	h.explain(e)
}

// excerptOf returns the excerpt of the file that an error is about, indented.
func excerptOf(o Options, e event.Failed) string {
	const indent, cuts, least = "  ", 2, 20
	width := excerpt.Width
	if o.Width > 0 {
		width = max(o.Width-len(indent)-cuts, least)
	}
	var b strings.Builder
	for line := range strings.Lines(e.Excerpt(width)) {
		b.WriteString(indent + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// explain prints the calls that led to an error, and the hint, below the error.
func (h *human) explain(e event.Failed) {
	if !h.o.apart() {
		printLines(h.out, e.Trace)
	}
	h.hint("", e.Hint)
}
