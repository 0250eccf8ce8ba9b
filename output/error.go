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
// error and an excerpt of the file that the error is about. In JSON, it prints one line
// {"kind","msg","details"}; with NDJSON the line is an event of its own.
func PrintError(o Options, err error) error {
	e := event.FailedBy(err)
	out := bufio.NewWriter(o.Out)
	switch o.Format {
	case JSON:
		if err := layout.WriteLine(out, e.Data); err != nil {
			return err
		}
	case NDJSON:
		return newNDJSON(Options{}, out).failed(e)
	default:
		_, _ = out.WriteString(failure(o, e))
	}
	return out.Flush()
}

// failure returns the lines that show an error to people: the problem and its place.
func failure(o Options, e event.Failed) string {
	text := safetext.TerminalString(e.Msg)
	if e.Place != "" {
		text += "\n  " + safetext.TerminalString(e.Place)
	}
	text = layout.Paint(layout.Red, o.Color, text) + "\n"
	const indent, cuts, least = "  ", 2, 20
	width := excerpt.Width
	if o.Width > 0 {
		width = max(o.Width-len(indent)-cuts, least)
	}
	for line := range strings.Lines(e.Excerpt(width)) {
		text += indent + strings.TrimSuffix(line, "\n") + "\n"
	}
	return text
}
