package program

import (
	"encoding/json"

	"bolt/format/fault"
	"bolt/puppet/syntax"
)

// A Finding is a problem or a log message at a position in a program's text.
type Finding struct {
	Level        string // error, warning, deprecation; of a log: notice, …
	Kind         string // "" for log messages of a program
	Msg          string
	File         string
	Line, Column int
	ID           string   // the ID for disable-warnings; "" if it cannot be disabled
	Excerpt      string   // the line and a caret below the position; "" if there is none
	Stack        []string // the calls around it, the innermost first
}

// An Evaluation is the outcome of evaluating a program of the Puppet language.
type Evaluation struct {
	Value    json.RawMessage // rich data; nil after an error
	Text     string          // the value in the notation of the language
	Type     string
	String   string
	Rendered bool // it is a template: its text is the whole output
	Logs     []Finding
	Said     int // size of Logs in bytes, including messages that are left out
	Errors   []Finding

	ID json.RawMessage // the ID of a request in a batch; nil for none
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
