package program

import (
	"encoding/json"

	"bolt/format/fault"
	"bolt/puppet/syntax"
)

// A Finding is a problem or a log message at a position in a program's text.
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

// An Evaluation is the outcome of evaluating a program of the Puppet language.
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

// findingOf returns a problem of a text as a Finding.
func findingOf(level string, e *syntax.Error) Finding {
	pos := e.Position()
	return Finding{Level: level, Kind: e.Kind, Msg: e.Msg, File: pos.File, Line: pos.Line, Column: pos.Column, Excerpt: e.Excerpt()}
}

// Unreadable returns the Finding for a file that could not be read.
func Unreadable(name string, err error) Finding {
	return Finding{Level: "error", Kind: "unreadable-file", Msg: "the file could not be read: " + fault.WithoutPath(err).Error(), File: name}
}
