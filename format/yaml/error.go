package yaml

import (
	"errors"
	"fmt"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"bolt/internal/excerpt"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

// Error is a problem in YAML text.
type Error struct {
	File    string // the name of the file for messages, or ""
	Line    int    // from 1; 0 if it is not known
	Column  int    // from 1; 0 if it is not known
	Problem string
	// Alias is set if the text is valid YAML but has an alias.
	Alias bool
	// Hint is a hint for the correction, or "".
	Hint string

	text string // the line
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("parse ")
	if e.File != "" {
		b.WriteString(e.File)
	} else {
		b.WriteString("YAML")
	}
	b.WriteString(e.position())
	b.WriteString(": " + e.Problem)
	return b.String()
}

// position returns ", line L, column C", without the parts that are not known.
func (e *Error) position() string {
	switch {
	case e.Line > 0 && e.Column > 0:
		return fmt.Sprintf(", line %d, column %d", e.Line, e.Column)
	case e.Line > 0:
		return fmt.Sprintf(", line %d", e.Line)
	}
	return ""
}

// secretKey matches a line up to the value of a key whose name is that of a secret.
var secretKey = lazyregexp.New(`(?i)^.*?(?:pass(?:word|phrase|wd)|secret|token|credential|private[-_]key|key[-_]data)[\w-]*["']?\s*:\s*`)

// Excerpt returns the line and a caret below the column, safe for a terminal. It has at most width
// characters of the line. A mark (…) shows that the line was cut. Excerpt leaves out values of keys
// with names like password, because bolt knows the secrets of a file only after it has parsed it.
// Excerpt returns "" if the position is not known.
func (e *Error) Excerpt(width int) string {
	if e.Line == 0 || strings.TrimSpace(e.text) == "" {
		return ""
	}
	line, at := e.text, len(e.text)
	if c := begin([]byte(line)); e.Column > 0 {
		at = c.offset(1, e.Column)
	}
	if key := secretKey().FindString(line); key != "" {
		line, at = key+"…", min(at, len(key))
	}
	before := safetext.TerminalString(line[:at])
	line = before + safetext.TerminalString(line[at:])
	if e.Column == 0 {
		return excerpt.Begin(line, width)
	}
	return excerpt.Of(line, len([]rune(before))+1, width)
}

// Excerpt returns the excerpt of an Error at a position of a text: for a mistake in a value of the text.
func Excerpt(data []byte, line, column, width int) string {
	e := &Error{Line: line, Column: column}
	_ = withLine(e, data)
	return e.Excerpt(width)
}

// withLine adds the line of the text to an *Error.
func withLine(err error, data []byte) error {
	if e, is := errors.AsType[*Error](err); is && e.Line > 0 {
		c := begin(data)
		off := c.offset(e.Line, 1)
		e.text = string(data[off:c.offset(e.Line+1, 1)])
		e.text = strings.TrimRight(e.text, lineEnds)
	}
	return err
}

// lineEnds are the characters that end a line.
const lineEnds = "\r\n\u0085\u2028\u2029"

// syntaxError converts an error of the library to an Error.
func syntaxError(err error, data []byte, file string) error {
	l, is := errors.AsType[*yamlv4.LoadError](err)
	if !is {
		return &Error{File: file, Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	e := &Error{File: file, Line: l.Mark.Line, Column: l.Mark.Column, Problem: l.Message}
	if e.Line == 0 { // errors about invalid bytes have an offset only
		c := begin(data)
		for len(c.rest) > 0 && c.off < l.Mark.Index {
			c.next()
		}
		e.Line, e.Column = c.line, c.column
	}
	e.Alias = strings.Contains(e.Problem, "unknown anchor")
	c := begin(data)
	at := c.offset(e.Line, e.Column)
	ends := strings.TrimSpace(string(data[at:])) == ""
	context := place{l.ContextMark.Line, l.ContextMark.Column}
	if ends && e.Problem == "did not find expected node content" {
		context = opener(data)
	}
	// If a closing quote, a bracket or the colon of a key is missing, the library reports the end
	// of the file or the next line. The mistake is in the line where the value begins.
	if (ends || e.Problem == "could not find expected ':'") && context.line > 0 && context.line <= e.Line {
		e.Line, e.Column = context.line, context.column
	}
	_ = withLine(e, data)
	from := begin([]byte(e.text))
	m := mistake{
		data: data, at: at, ends: ends, problem: e.Problem,
		text: e.text, before: e.text[:from.offset(1, e.Column)], column: e.Column,
		context: context,
	}
	e.Hint = m.hint()
	return e
}
