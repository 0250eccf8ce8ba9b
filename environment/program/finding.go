package program

import (
	"encoding/json"

	"bolt/format/fault"
	"bolt/puppet/syntax"
)

// A Finding is what is wrong at a place of a program's text, or what it said
// there.
type Finding struct {
	Level        string // error, warning, deprecation; of a log: notice, …
	Kind         string // "" for what a program said
	Msg          string
	File         string
	Line, Column int
	ID           string   // what disable-warnings calls it; "" if it cannot be disabled
	Excerpt      string   // the line and a caret below the place; "" where there is none
	Stack        []string // the calls around it, the innermost first
}

// An Evaluation is what became of a program of the Puppet language.
type Evaluation struct {
	Value    json.RawMessage // rich data; nil after an error
	Text     string          // the value as it is written in the language
	Type     string
	String   string
	Rendered bool // of a template: for people its text is all there is
	Logs     []Finding
	Said     int // how many bytes Logs have, with what was left out
	Errors   []Finding

	ID json.RawMessage // of one of many: what its asker knows it by; nil without
}

// findingOf is a problem of a text as it is printed.
func findingOf(level string, e *syntax.Error) Finding {
	pos := e.Position()
	return Finding{Level: level, Kind: e.Kind, Msg: e.Msg, File: pos.File, Line: pos.Line, Column: pos.Column, Excerpt: e.Excerpt()}
}

// Unreadable is a file that could not be read, as a Finding.
func Unreadable(name string, err error) Finding {
	return Finding{Level: "error", Kind: "unreadable-file", Msg: "the file could not be read: " + fault.WithoutPath(err).Error(), File: name}
}
