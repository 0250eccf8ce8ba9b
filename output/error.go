package output

import (
	"bufio"
	"io"

	"bolt/event"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// PrintError prints an error that kept an action from starting to w, which is
// standard output as for all fatal errors, unless a command's output is data: its text for people, and in JSON
// one line {"kind","msg","details"}. With NDJSON the line is an event of its
// own.
func PrintError(w io.Writer, f Format, color bool, err error) error {
	e := event.FailedBy(err)
	out := bufio.NewWriter(w)
	switch f {
	case JSON:
		if err := layout.WriteLine(out, e.Data); err != nil {
			return err
		}
	case NDJSON:
		return newNDJSON(Options{}, out).failed(e)
	default:
		_, _ = out.WriteString(layout.Paint(layout.Red, color, safetext.TerminalString(e.Msg)) + "\n")
	}
	return out.Flush()
}
