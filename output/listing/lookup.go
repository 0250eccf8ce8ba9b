package listing

import (
	"bufio"
	"io"

	"bolt/internal/safetext"
	"bolt/output/layout"
)

// PrintValue prints a value that was looked up without a target: text for
// people, data for programs, on one line.
func PrintValue(w io.Writer, f layout.Format, terminal bool, text string, data any) error {
	out := bufio.NewWriter(w)
	switch {
	case f.Data:
		if err := layout.WriteLine(out, data); err != nil {
			return err
		}
	case terminal:
		_, _ = out.WriteString(safetext.TerminalString(text))
	default:
		_, _ = out.WriteString(safetext.String(text))
	}
	return out.Flush()
}
