package yaml

import (
	"fmt"
	"strings"

	"bolt/internal/lazyregexp"
)

// A mistake is an error of the library, with the text around it. hint uses it.
type mistake struct {
	data    []byte
	at      int    // the offset of the error
	ends    bool   // whether only white space follows the offset
	problem string // the message of the library
	before  string // the line, up to the column
	text    string // the line
	column  int    // from 1
	context place  // the begin of the value that the library was reading; zero if unknown
}

// A place is a line and a column, from 1.
type place struct{ line, column int }

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }

// tightKey matches a line with a key, a colon, and a value without a space before it.
var tightKey = lazyregexp.New(`^[ \t]*(?:- +)*([\w.-]+):([^\s:/\\][^:]*)$`)

// hint returns a hint for the correction, or "".
func (m *mistake) hint() string {
	if hint := m.character(); hint != "" {
		return hint
	}
	switch m.problem {
	case "found unexpected end of stream", "found unexpected document indicator":
		if m.context.line > 0 {
			return fmt.Sprintf("Close the quote of %s.", m.context)
		}
	case "did not find expected ',' or ']'":
		return fmt.Sprintf("Close the [ of %s, or separate its items with commas.", m.context)
	case "did not find expected ',' or '}'":
		return fmt.Sprintf("Close the { of %s, or separate its pairs with commas.", m.context)
	case "did not find expected node content":
		if m.ends && m.context.line > 0 {
			return fmt.Sprintf("Close the bracket of %s.", m.context)
		}
	case "could not find expected ':'":
		if hint := colonHint(m.text); hint != "" {
			return hint
		}
		return "Write a colon and a space after a key: \"key: value\"."
	case "mapping values are not allowed in this context":
		return m.secondColon()
	case "did not find expected key", "did not find expected '-' indicator":
		return m.unexpected()
	case "found a comment without preceding whitespace":
		return "Write a space before #."
	case "found unknown escape character":
		return `In double quotes, \ begins an escape: write \\, or use single quotes.`
	case "did not find expected <document start>":
		return "Check the indentation: the value ended before this line."
	}
	switch {
	case strings.Contains(m.problem, "unknown anchor"):
		return "If the value is a string, put it in quotes: * begins an alias."
	case strings.Contains(m.problem, "UTF-8"):
		return "Save the file as UTF-8."
	}
	return ""
}

// character returns the hint for a character that cannot be at this position.
func (m *mistake) character() string {
	if m.at == len(m.data) {
		return ""
	}
	c := m.data[m.at]
	tab := strings.Contains(m.problem, "tab") || c == '\t'
	switch {
	case tab && strings.TrimLeft(m.before, " \t") == "":
		return "Indent with spaces: YAML does not allow tabs there."
	case m.problem == "found character that cannot start any token" && strings.IndexByte("@`%", c) >= 0:
		return fmt.Sprintf("Put the value in quotes: a string without quotes cannot begin with %c.", c)
	}
	return ""
}

// secondColon returns the hint for a colon where the library does not expect a key.
func (m *mistake) secondColon() string {
	if strings.Contains(m.before, ": ") {
		return "If the value contains a colon and a space, put it in quotes."
	}
	if hint := colonHint(m.previous()); hint != "" {
		return hint
	}
	return "Check the indentation: this line continues the value of the line before it."
}

// previous returns the line before the mistake that is not blank or a comment.
func (m *mistake) previous() string {
	lines := strings.Split(string(m.data[:m.at]), "\n")
	for i := len(lines) - 2; i >= 0; i-- {
		if text := strings.TrimSpace(lines[i]); text != "" && text[0] != '#' {
			return lines[i]
		}
	}
	return ""
}

// unexpected returns the hint for text that does not belong to the mapping or list around it.
func (m *mistake) unexpected() string {
	rest := strings.TrimPrefix(m.text, m.before)
	switch {
	case rest != "" && strings.IndexByte("]}", rest[0]) >= 0:
		return fmt.Sprintf("Remove the %c, or open its bracket.", rest[0])
	case strings.TrimLeft(m.before, " ") == "" && colonHint(m.previous()) != "":
		return colonHint(m.previous())
	case strings.TrimLeft(m.before, " ") == "" && m.context.line > 0 && m.column != m.context.column:
		what := "keys"
		if strings.Contains(m.problem, "'-'") {
			what = "list items (-)"
		}
		return fmt.Sprintf("Check the indentation: the %s around this line begin in column %d (line %d), and it begins in column %d.",
			what, m.context.column, m.context.line, m.column)
	case strings.HasPrefix(rest, "- "):
		return "Check the indentation: a list item (-) cannot be between the keys of a mapping."
	case strings.TrimLeft(m.before, " ") == "":
		return "Check the indentation: a key cannot be between the items of a list (-)."
	case strings.ContainsAny(m.before, `"'`):
		return `The value ends at the quote. If it contains quotes, use the other quotes ('…' or "…") around it.`
	}
	return ""
}

// colonHint returns the hint for a line with a key, a colon, and no space; "" for other lines.
func colonHint(line string) string {
	m := tightKey().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return ""
	}
	return fmt.Sprintf("Write a space after the colon: \"%s: …\".", m[1])
}

// opener returns the place of the last bracket in a text that is not closed, or the zero place.
// It does not ignore brackets in quotes.
func opener(data []byte) place {
	closed := 0
	for i := len(data) - 1; i >= 0; i-- {
		switch data[i] {
		case ']', '}':
			closed++
		case '[', '{':
			if closed--; closed < 0 {
				c := begin(data)
				for c.off < i {
					c.next()
				}
				return place{c.line, c.column}
			}
		}
	}
	return place{}
}
