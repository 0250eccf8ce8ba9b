package erb

import (
	"bytes"
	"strconv"
	"strings"
)

// Marks in the Ruby program of a template. They replace the calls on the output
// that ERB generates.
const (
	markText   = "\x00T" // followed by the index of a text and \x00
	markInsert = "\x00I" // <%=
	markEnd    = "\x00E" // the %> of a <%=
)

// split returns the Ruby program of a template, in which texts are marks, and
// the texts. As in ERB, semicolons separate the parts of one line. So a comment
// in a tag ends with the line, and hides the parts of ERB that follow on the
// line.
func split(src string) (code string, texts []string) {
	s := &splitter{}
	s.run(src)
	return s.code.String(), s.texts
}

type splitter struct {
	code  bytes.Buffer
	texts []string
	line  bool   // the line is not empty
	text  []byte // the bytes so far
}

func (s *splitter) push(code string) {
	if s.line {
		s.code.WriteString("; ")
	}
	s.code.WriteString(code)
	s.line = true
}

func (s *splitter) newLine() {
	s.code.WriteByte('\n')
	s.line = false
}

// flush writes the collected text.
func (s *splitter) flush() {
	if len(s.text) == 0 {
		return
	}
	s.push(markText + strconv.Itoa(len(s.texts)) + "\x00" + strings.Repeat("\n", bytes.Count(s.text, []byte("\n"))))
	s.texts = append(s.texts, string(s.text))
	s.text = nil
}

func (s *splitter) run(src string) {
	for src != "" {
		at := strings.Index(src, "<%")
		if at < 0 {
			s.text = append(s.text, src...)
			break
		}
		before, rest := src[:at], src[at+2:]
		if strings.HasPrefix(rest, "%") {
			s.text = append(append(s.text, before...), "<%"...)
			src = rest[1:]
			continue
		}
		kind := byte(0)
		if rest != "" {
			kind = rest[0]
		}
		switch kind {
		case '-':
			// Blanks before <%- are not part of the text if they follow a line
			// end or another tag.
			blank := strings.TrimRight(before, " \t")
			if blank == "" || strings.HasSuffix(blank, "\n") {
				before = blank
			}
			rest = rest[1:]
		case '=', '#':
			rest = rest[1:]
		}
		s.text = append(s.text, before...)
		s.flush()
		src = s.tag(kind, rest)
	}
	s.flush()
}

// tag writes a tag and returns the text after it.
func (s *splitter) tag(kind byte, src string) string {
	var content []byte
	for {
		at := strings.Index(src, "%>")
		if at < 0 {
			// ERB drops a tag that is not closed.
			return ""
		}
		switch {
		case at > 0 && src[at-1] == '%':
			content = append(append(content, src[:at-1]...), "%>"...)
			src = src[at+2:]
			continue
		case at > 0 && src[at-1] == '-':
			content = append(content, src[:at-1]...)
			src = src[at+2:]
			s.close(kind, string(content))
			if rest, ok := strings.CutPrefix(src, "\n"); ok {
				s.newLine()
				return rest
			}
			if rest, ok := strings.CutPrefix(src, "\r\n"); ok {
				s.newLine()
				return rest
			}
			if src == "" {
				s.newLine()
			}
			return src
		default:
			content = append(content, src[:at]...)
			s.close(kind, string(content))
			return src[at+2:]
		}
	}
}

func (s *splitter) close(kind byte, content string) {
	switch kind {
	case '#':
		// Differs from Puppet: the lines of a comment are included in the line
		// numbers of errors.
		for range strings.Count(content, "\n") {
			s.newLine()
		}
	case '=':
		s.push(markInsert + content + markEnd)
	default:
		if rest, ok := strings.CutSuffix(content, "\n"); ok {
			s.push(rest)
			s.newLine()
			return
		}
		s.push(content)
	}
}
