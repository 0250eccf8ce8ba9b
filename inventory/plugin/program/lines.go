package program

import (
	"bytes"
	"strings"

	"bolt/internal/safetext"
)

const (
	maxLine  = 500  // bytes of a logged line, by default
	maxLines = 1000 // of one program
)

// lines splits written data into lines for a log. It keeps at most one line.
type lines struct {
	log    func(line string)
	max    int // bytes of a line
	line   []byte
	logged int // lines
}

func (l *lines) write(p []byte) {
	if l.log == nil {
		return
	}
	for len(p) > 0 {
		rest, after, whole := bytes.Cut(p, []byte{'\n'})
		l.line = append(l.line, rest[:min(len(rest), l.max+1-len(l.line))]...)
		if whole {
			l.end()
		}
		p = after
	}
}

// end logs the last, unfinished line.
func (l *lines) end() {
	line := l.line
	l.line = l.line[:0]
	if len(line) == 0 || l.logged == maxLines {
		return
	}
	more := ""
	if len(line) > l.max {
		line, more = line[:l.max], "…"
	}
	if l.logged++; l.logged == maxLines {
		more += " (further lines are not logged)"
	}
	if text := strings.TrimSpace(safetext.TerminalString(string(line))); text != "" {
		l.log(text + more)
	}
}
