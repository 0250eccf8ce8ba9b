package event

import (
	"bufio"
	"io"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/transport"
)

// WriteJSON writes the result to w on one line, without a newline. The keys and
// their order are those of Puppet Bolt (Bolt::Result#to_data). It copies Output
// in parts and never holds all of it. Bytes that are not UTF-8 become \xHH. It
// does not flush a bufio.Writer, so that a caller can print a line in one write.
func (r *Result) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	j := jsonResult{b: b}
	status := "success"
	if !r.OK() {
		status = "failure"
	}
	var object any
	if r.Object != "" {
		object = r.Object
	}
	j.raw(`{"target":`)
	j.value(r.Target.Name)
	j.raw(`,"action":`)
	j.value(r.Action)
	j.raw(`,"object":`)
	j.value(object)
	j.raw(`,"status":`)
	j.value(status)
	j.raw(`,"value":{`)
	j.members(r)
	j.raw("}}")
	if j.err != nil || w == io.Writer(b) {
		return j.err
	}
	return b.Flush()
}

// WriteMembers writes the Members to w as a JSON object on one line, without a
// newline.
func (r *Result) WriteMembers(w io.Writer) error {
	b := bufio.NewWriter(w)
	j := jsonResult{b: b}
	j.raw("{")
	j.members(r)
	j.raw("}")
	if j.err != nil {
		return j.err
	}
	return b.Flush()
}

// jsonResult writes until the first error.
type jsonResult struct {
	b     *bufio.Writer
	comma bool // a member was written before
	err   error
}

// members writes the members of value.
func (j *jsonResult) members(r *Result) {
	for k, v := range r.members() {
		if printed, ok := v.(outputText); ok {
			j.output(k, printed.write)
		} else {
			j.member(k, v)
		}
	}
}

func (j *jsonResult) key(k string) {
	if j.comma {
		j.raw(",")
	}
	j.comma = true
	j.value(k)
	j.raw(":")
}

func (j *jsonResult) member(k string, v any) {
	j.key(k)
	j.value(v)
}

// output writes a member whose value is a string that write produces.
func (j *jsonResult) output(k string, write func(io.Writer) error) {
	j.key(k)
	j.raw(`"`)
	s := safetext.NewJSONString(j.b)
	if j.err == nil {
		j.err = write(s)
	}
	if j.err == nil {
		j.err = s.Flush()
	}
	j.raw(`"`)
}

func (j *jsonResult) value(v any) {
	if j.err == nil {
		j.err = safejson.Write(j.b, v)
	}
}

func (j *jsonResult) raw(s string) {
	if j.err == nil {
		_, j.err = j.b.WriteString(s)
	}
}

// ShowsOutput reports whether Output is part of the result. It is if the
// command ran to its end, or was interrupted from outside after it had printed
// something. It is not if the action failed before the command or for another
// reason than the command.
func (r *Result) ShowsOutput() bool {
	if r.Output == nil {
		return false
	}
	if r.OK() || r.Err.Command {
		return true
	}
	switch r.Err.Class {
	case transport.ClassTimeout, transport.ClassLost, transport.ClassCancelled:
		return r.Output.Len(capture.Stdout)+r.Output.Len(capture.Stderr) > 0
	}
	return false
}

// Map returns the error as Puppet Bolt writes it. The order of its keys
// depends on whether the command itself failed.
func (e *Error) Map() *ordered.Map {
	if e.Given != nil {
		return e.Given
	}
	details := e.Details
	if details == nil {
		details = &ordered.Map{}
	}
	m := &ordered.Map{}
	if !e.Command {
		m.Set("details", details)
	}
	m.Set("kind", e.Kind)
	if e.Command && e.Code != "" {
		m.Set("issue_code", e.Code)
	}
	m.Set("msg", e.Msg)
	if e.Command {
		m.Set("details", details)
	} else if e.Code != "" {
		m.Set("issue_code", e.Code)
	}
	return m
}
