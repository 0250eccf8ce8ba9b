package output

import (
	"io"

	"bolt/internal/safetext"
)

// A filter passes text on, changed, and has a Flush for its end.
type filter interface {
	io.Writer
	Flush() error
}

// farSide returns the filter for text that comes from a target.
func farSide(w io.Writer, terminal, color bool) filter {
	if terminal {
		return safetext.NewTerminal(w, color)
	}
	return safetext.NewUTF8(w)
}
