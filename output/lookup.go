package output

import (
	"bufio"
	"io"

	"bolt/internal/safetext"
)

// PrintValue prints a value that was looked up for no target: text for people,
// data for programs, in one line.
func PrintValue(w io.Writer, f Format, terminal bool, text string, data any) error {
	out := bufio.NewWriter(w)
	switch {
	case f.IsJSON():
		if err := writeLine(out, data); err != nil {
			return err
		}
	case terminal:
		_, _ = out.WriteString(safetext.TerminalString(text))
	default:
		_, _ = out.WriteString(safetext.String(text))
	}
	return out.Flush()
}
