// Package yamledit changes texts of YAML in place, so that what people wrote
// around the change stays: comments, order, layout.
package yamledit

import (
	"errors"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/yaml"
)

// ErrNoPlace is the error of a text that has no place for one more element.
var ErrNoPlace = errors.New("its layout leaves no safe place for it")

// AppendTo adds a string to a list at the top of a YAML text, which is made if
// it is missing, and leaves everything else as it is: comments, order, layout.
// It checks that the new text means what it is to mean. Errors are *yaml.Error
// and ErrNoPlace.
func AppendTo(text []byte, key, item string) ([]byte, error) {
	v, at, err := yaml.DecodeLocated(text, "")
	if err != nil {
		return nil, err
	}
	if v == nil {
		v = &ordered.Map{}
	}
	old, ok := v.(*ordered.Map)
	if !ok {
		return nil, ErrNoPlace
	}
	list, ok := old.Value(key).([]any)
	if !ok && old.Value(key) != nil {
		return nil, ErrNoPlace
	}
	want := old.Clone()
	want.Set(key, append(slices.Clone(list), any(item)))

	e := newEditor(text)
	element := "- " + strings.TrimSuffix(string(yaml.Marshal(item)), "\n")
	try := func(edited string) bool {
		got, err := yaml.DecodeData([]byte(edited), "")
		return err == nil && same(got, want)
	}
	var candidates []string
	line, column := at(key)
	switch {
	case len(list) > 0:
		line, column = at(key, len(list)-1)
		candidates = []string{e.behindElement(line, column, element), e.inBrackets(line, column, element[2:])}
	case hasKey(old, key):
		candidates = []string{e.insteadOfBrackets(line, column, element), e.inBrackets(line, column, element[2:])}
	default:
		indent := ""
		if keys := old.Keys(); len(keys) > 0 {
			_, column := at(keys[0])
			indent = strings.Repeat(" ", max(column-1, 0))
		}
		end := len(e.lines) - 1
		candidates = []string{e.behind(end, indent+key+":", indent+element)}
		for end >= 0 && strings.TrimSpace(e.lines[end]) == "" {
			end--
		}
		if end >= 0 && strings.TrimSpace(e.lines[end]) == "..." {
			candidates = append(candidates, e.behind(end-1, indent+key+":", indent+element))
		}
	}
	for _, c := range candidates {
		if c != "" && try(c) {
			return []byte(c), nil
		}
	}
	return nil, ErrNoPlace
}

func hasKey(m *ordered.Map, key string) bool {
	_, ok := m.Get(key)
	return ok
}

// same compares data, the order of keys too.
func same(a, b any) bool {
	switch a := a.(type) {
	case *ordered.Map:
		b, ok := b.(*ordered.Map)
		if !ok || !slices.Equal(a.Keys(), b.Keys()) {
			return false
		}
		for k, v := range a.All() {
			if !same(v, b.Value(k)) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case nil, bool, string, int64, float64:
		return a == b
	}
	return false // what belongs into no project file
}

// editor holds a text by its lines, each with its end.
type editor struct {
	lines []string
	eol   string
}

func newEditor(text []byte) *editor {
	e := &editor{lines: slices.Collect(strings.Lines(string(text))), eol: "\n"}
	if len(e.lines) > 0 && strings.HasSuffix(e.lines[0], "\r\n") {
		e.eol = "\r\n"
	}
	return e
}

// behind returns the text with lines more behind the line of an index.
func (e *editor) behind(i int, more ...string) string {
	var b strings.Builder
	for _, l := range e.lines[:i+1] {
		b.WriteString(l)
	}
	if i >= 0 && !strings.HasSuffix(e.lines[i], "\n") {
		b.WriteString(e.eol)
	}
	for _, l := range more {
		b.WriteString(l + e.eol)
	}
	for _, l := range e.lines[i+1:] {
		b.WriteString(l)
	}
	return b.String()
}

// known reports whether there is such a place; both numbers begin at 1.
func (e *editor) known(line, column int) bool {
	return line >= 1 && line <= len(e.lines) && column >= 1 && column <= len(e.lines[line-1])
}

// behindElement puts an element behind the last one of a list in lines, which
// is at a place; "" if that is no list in lines. What is indented more than its
// dash belongs to an element.
func (e *editor) behindElement(line, column int, element string) string {
	if !e.known(line, column) {
		return ""
	}
	before := e.lines[line-1][:column-1]
	indent, rest, ok := strings.Cut(before, "-")
	if !ok || strings.Trim(indent, " ") != "" || strings.Trim(rest, " ") != "" {
		return ""
	}
	last := line - 1
	for i := line; i < len(e.lines); i++ {
		text := strings.TrimRight(e.lines[i], " \t\r\n")
		if text == "" {
			continue
		}
		if len(text)-len(strings.TrimLeft(text, " ")) <= len(indent) {
			break
		}
		last = i
	}
	return e.behind(last, indent+element)
}

// insteadOfBrackets makes the empty list of the key at a place, or its null, one
// in lines, with an element.
func (e *editor) insteadOfBrackets(line, column int, element string) string {
	if !e.known(line, column) {
		return ""
	}
	text := e.lines[line-1]
	if strings.Trim(text[:column-1], " ") != "" {
		return ""
	}
	edited := *e
	edited.lines = slices.Clone(e.lines)
	if open := strings.IndexByte(text, '['); open >= 0 {
		inside, rest, ok := strings.Cut(text[open+1:], "]")
		if !ok || strings.Trim(inside, " ") != "" {
			return ""
		}
		edited.lines[line-1] = strings.TrimRight(text[:open], " ") + rest
	} else {
		for _, null := range []string{"~", "null"} {
			if head, rest, ok := strings.Cut(text, ": "+null); ok {
				edited.lines[line-1] = head + ":" + rest
			}
		}
	}
	return edited.behind(line-1, text[:column-1]+element)
}

// inBrackets puts an item at the end of the list in brackets that is open at a
// place, or opens behind it.
func (e *editor) inBrackets(line, column int, item string) string {
	if !e.known(line, column) {
		return ""
	}
	text := strings.Join(e.lines, "")
	start := len(strings.Join(e.lines[:line-1], "")) + column - 1
	const none = 0
	last, depth, quote := start, 0, byte(none) // last is where what counts ends
	for i := start; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != none:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = none
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", text[i-1]) >= 0:
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return ""
			}
			i += end
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' && depth <= 1:
			// At depth 1 the bracket is the first one behind the place.
			switch text[max(last-1, 0)] {
			case '[':
				return text[:last] + item + text[last:]
			case ',':
				return text[:last] + " " + item + text[last:]
			}
			return text[:last] + ", " + item + text[last:]
		case c == ']' || c == '}':
			depth--
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			last = i + 1
		}
	}
	return ""
}
