package layout

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"bolt/internal/lazyregexp"
)

// An Indenter puts two blanks before each line, empty ones too, as Bolt does.
type Indenter struct {
	w       io.Writer
	midline bool
}

// NewIndenter returns an Indenter that writes to w.
func NewIndenter(w io.Writer) *Indenter { return &Indenter{w: w} }

// Write indents p and writes it.
func (n *Indenter) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		if !n.midline {
			if _, err := io.WriteString(n.w, "  "); err != nil {
				return 0, err
			}
		}
		line := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line = p[:i+1]
		}
		if _, err := n.w.Write(line); err != nil {
			return 0, err
		}
		n.midline = line[len(line)-1] != '\n'
		p = p[len(line):]
	}
	return size, nil
}

// Flush ends the last line.
func (n *Indenter) Flush() error {
	if !n.midline {
		return nil
	}
	n.midline = false
	_, err := io.WriteString(n.w, "\n")
	return err
}

// maxDescription is the maximum number of characters of a description in a
// list.
const maxDescription = 72

var lastWord = lazyregexp.New(`(?m)\s\w+\s*$`)

// Truncated returns a description for a list, shortened as in Bolt: of a longer
// text, only the beginning of the first line remains, and dots replace its last
// word, which may be incomplete.
func Truncated(text string) string {
	if utf8.RuneCountInString(text) > maxDescription {
		text, _, _ = strings.Cut(text, "\n")
		if runes := []rune(text); len(runes) > maxDescription {
			text = string(runes[:maxDescription])
		}
		text = lastWord().ReplaceAllString(text, "...")
	}
	return strings.TrimRight(text, "\n")
}
