package output

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"bolt/internal/safetext"
)

// A filter passes text on, changed, and has a Flush for its end.
type filter interface {
	io.Writer
	Flush() error
}

// indenter puts two blanks before each line, empty ones too, as Bolt does.
type indenter struct {
	w       io.Writer
	midline bool
}

func (n *indenter) Write(p []byte) (int, error) {
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
func (n *indenter) Flush() error {
	if !n.midline {
		return nil
	}
	n.midline = false
	_, err := io.WriteString(n.w, "\n")
	return err
}

// farSide returns the filter for text that comes from a target.
func farSide(w io.Writer, terminal, color bool) filter {
	if terminal {
		return safetext.NewTerminal(w, color)
	}
	return safetext.NewUTF8(w)
}

// plural is n with a noun: "1 target", "2 targets".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// durationText is d as Puppet Bolt words it: "0.3 sec", "2 min, 5 sec",
// "1 hr, 0 min, 9 sec".
func durationText(d time.Duration) string {
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
