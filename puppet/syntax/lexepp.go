package syntax

import (
	"bytes"
	"strings"
)

// An eppMode is the part of a template that the lexer is in.
type eppMode uint8

const (
	eppNone   eppMode = iota // not a template
	eppText                  // outside of tags
	eppCode                  // <% … %>
	eppRender                // <%= … %>
)

func (l *lexer) inEPP() bool { return l.epp != eppNone && len(l.frames) == 0 }

// startEPP queues the first tokens of a template.
func (l *lexer) startEPP() {
	l.epp = eppText
	l.queue = append(l.queue, token{kind: tEPPStart})
	l.templateText(false)
}

// endTag reads %> or, with trim, -%> and the text after it. It returns the
// first token in t, or tEOF if there is none.
func (l *lexer) endTag(t *token, trim bool) {
	start := l.pos
	l.pos += 2
	if trim {
		l.pos++
	}
	n := len(l.queue)
	if l.epp == eppRender {
		var end token
		l.set(&end, tEPPEnd, start)
		l.queue = append(l.queue, end)
	}
	if !trim {
		l.epp = eppText
	}
	l.templateText(trim)
	t.kind = tEOF
	if len(l.queue) > n {
		*t = l.queue[n]
		l.queue = append(l.queue[:n], l.queue[n+1:]...)
		if len(l.strs) == 0 {
			l.after = t.kind
		}
	}
}

// templateText reads the text of a template up to the next tag and queues it.
// If the tag removes blanks before it, the text is trimmed. <%% and %%> become
// <% and %>, and comments are removed.
func (l *lexer) templateText(trim bool) {
	start := l.pos
	if start >= len(l.src) {
		l.eppOpen = false
		return
	}
	var text joined
	emit := func(kinds ...kind) {
		if text := text.String(); text != "" {
			var t token
			l.set(&t, tRenderText, start)
			t.text = text
			l.queue = append(l.queue, t)
		}
		for _, k := range kinds {
			t := token{kind: k, off: l.at(start), end: l.at(start)}
			l.queue = append(l.queue, t)
		}
		l.eppOpen = true
	}
	problem := func(kind, msg string) {
		var t token
		l.endsIn(&t, l.pos, kind, msg)
		l.queue = append(l.queue, t)
	}
	for l.pos < len(l.src) {
		i := strings.Index(l.src[l.pos:], "<%")
		part := l.src[l.pos:]
		if i >= 0 {
			part = part[:i]
			l.pos += i + 2
		} else {
			l.pos = len(l.src)
		}
		if trim {
			part = trimLineStart(part)
			trim = false
		}
		part = strings.ReplaceAll(part, "%%>", "%>")
		text.add(part)
		if i < 0 {
			text := text.String()
			if strings.HasSuffix(text, "<%") { // <%% at the end, as in Puppet
				problem("unclosed-tag", "the template ends behind <%: %> is missing")
				return
			}
			var t token
			l.set(&t, tRenderText, start)
			t.text = text
			l.queue = append(l.queue, t)
			l.eppOpen = false
			return
		}
		if l.pos == len(l.src) {
			problem("unclosed-tag", "the template ends behind <%: %> is missing")
			return
		}
		switch l.src[l.pos] {
		case '-':
			l.pos++
			text.trim()
			l.epp = eppCode
			emit()
			return
		case '=':
			l.pos++
			l.epp = eppRender
			emit(tRenderExpr)
			return
		case '%':
			l.pos++
			text.add("<%")
		case '#':
			end := commentEnd(l.src, l.pos)
			if end < 0 {
				problem("unclosed-comment", "the template ends inside a comment: %> is missing behind <%#")
				return
			}
			if l.src[l.pos+1] == '-' {
				text.trim()
			}
			trim = l.src[end-3] == '-'
			l.pos = end
		default:
			l.epp = eppCode
			emit()
			return
		}
	}
	// The template ends with a comment or <%%. As in Puppet, the text before it
	// is lost.
	l.eppOpen = false
}

// A joined is a text that is built from parts. Usually it is one part of the
// source, which is then not copied.
type joined struct {
	one  string
	more []byte // all parts, if there are several
}

func (j *joined) add(s string) {
	switch {
	case j.more != nil:
		j.more = append(j.more, s...)
	case j.one == "":
		j.one = s
	case s != "":
		j.more = append([]byte(j.one), s...)
	}
}

// trim removes the blanks at the end.
func (j *joined) trim() {
	if j.one = strings.TrimRight(j.one, " \t"); j.more != nil {
		j.more = bytes.TrimRight(j.more, " \t")
	}
}

func (j *joined) String() string {
	if j.more != nil {
		return string(j.more)
	}
	return j.one
}

// trimLineStart removes blanks at the beginning, and the line end if the line
// contains nothing else.
func trimLineStart(s string) string {
	s = strings.TrimLeft(s, " \t")
	if strings.HasPrefix(s, "\r\n") {
		return s[2:]
	}
	s = strings.TrimPrefix(s, "\r")
	return strings.TrimPrefix(s, "\n")
}

// commentEnd returns the end of the comment whose # is at pos: after the next
// %> that is not %%>. If there is none, it returns -1.
func commentEnd(src string, pos int) int {
	for i := pos + 1; ; {
		n := strings.Index(src[i:], "%>")
		if n < 0 {
			return -1
		}
		i += n
		if src[i-1] != '%' {
			return i + 2
		}
		i += 2
	}
}
