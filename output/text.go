package output

import (
	"io"

	"bolt/internal/safetext"
)

// A filter passes changed text to its writer. Flush ends the text.
type filter interface {
	io.Writer
	Flush() error
}

// farSide returns the filter for text from a target.
func farSide(w io.Writer, terminal, color bool) filter {
	if terminal {
		return safetext.NewTerminal(w, color)
	}
	return safetext.NewUTF8(w)
}
