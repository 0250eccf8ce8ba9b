package safetext

import (
	"strings"
	"sync"
	"unicode"
)

// maxMessage limits the bytes of one string from outside in a message.
const maxMessage = 1 << 10

// Message makes text from a server or another program fit for a message or a
// record: on one line, cut to 1 KiB, and without characters that control a
// terminal (control characters, marks of direction).
func Message(s string) string {
	cut := len(s) > maxMessage
	if cut {
		s = s[:maxMessage]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if cut {
		s += " …"
	}
	return s
}

// OneLine joins the lines of a text. A line without a punctuation mark at its end gets a full stop.
func OneLine(text string) string {
	var one strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if said := one.String(); said != "" {
			if !strings.ContainsAny(said[len(said)-1:], ".:;,!?") {
				one.WriteByte('.')
			}
			one.WriteByte(' ')
		}
		one.WriteString(line)
	}
	return one.String()
}

// Messages is Message for a list, all of it within the bound.
func Messages(list []string) string { return Message(strings.Join(list, ", ")) }

// A Tail stores the end of a program's standard error, for a message. The zero
// value is ready; it is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - maxMessage; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

// LastLine returns the last line that is not empty, as Message does.
func (t *Tail) LastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return Message(text[strings.LastIndexByte(text, '\n')+1:])
}

// String returns all stored text, as Message does.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Message(string(t.text))
}
