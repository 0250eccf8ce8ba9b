package executor

import (
	"fmt"
	"strings"

	"bolt/puppet/eval"
)

// A Call is a call that had not returned when an error occurred: the plan or the
// function, and the position that it had reached.
type Call struct {
	Name string // "site::deploy"; "" outside of all plans and functions
	File string
	Line int
}

// A Branch is a failed branch among several that ran at once.
type Branch struct {
	Name    string // "branch 2 of 3", "future 'checks'"
	Failure *Failure
}

// callsOf returns the calls that led to an error, the innermost first. A block
// belongs to the plan or function in which it is written. The call at the
// error's own position is left out.
func callsOf(e *eval.Error) []Call {
	var calls []Call
	block := false
	for _, f := range e.Stack {
		if f.File == "" {
			continue
		}
		c := Call{f.Function, f.File, f.Line}
		if block {
			last := &calls[len(calls)-1]
			last.Name = c.Name
		} else {
			calls = append(calls, c)
		}
		block = c.Name == blockName
	}
	if len(calls) > 0 && calls[0].File == e.Pos.File && calls[0].Line == e.Pos.Line {
		calls = calls[1:]
	}
	return calls
}

// blockName is the name of blocks in package eval.
const blockName = "lambda"

// These constants limit the output of Trace.
const (
	maxCalls    = 16 // half of them innermost, half outermost
	maxBranches = 20
	maxFailed   = 10 // targets of a branch
)

// Trace returns details of the failure for people, one per line: the calls that
// led to it, and the failures in branches. Unless told is set, the message and
// the position come first. "" means no details.
func (f *Failure) Trace(told bool) string {
	var t tracer
	if !told {
		t.told("", "", f)
	}
	t.beside("  ", f, nil)
	return t.text.String()
}

type tracer struct{ text strings.Builder }

// line adds a string, which may have several lines.
func (t *tracer) line(indent, text string) {
	t.text.WriteString(indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
}

// told adds a failure's message and position.
func (t *tracer) told(indent, name string, f *Failure) {
	place := f.Place()
	t.line(indent, name+strings.TrimSuffix(f.Msg, " "+place))
	if place != "" {
		t.line(indent+"  ", place)
	}
}

// beside adds the other details of a failure. It leaves out the calls that were
// printed already for the failure around it.
func (t *tracer) beside(indent string, f *Failure, around []Call) {
	t.calls(indent, f.Calls[:len(f.Calls)-common(f.Calls, around)])
	for i, b := range f.Branches {
		if i == maxBranches {
			t.line(indent, fmt.Sprintf("and %d more", len(f.Branches)-i))
			break
		}
		t.told(indent, b.Name+": ", b.Failure)
		t.results(indent+"  ", b.Failure)
		t.beside(indent+"  ", b.Failure, f.Calls)
	}
	if b := f.Before; b != nil {
		t.line(indent, "it first occurred at "+b.Place())
		t.beside(indent+"  ", b, f.Calls)
	}
}

// calls adds calls. It leaves out repetitions of a call, and the middle if there
// are many calls.
func (t *tracer) calls(indent string, calls []Call) {
	left := false
	for i, c := range calls {
		if i > 0 && calls[i-1] == c || i >= maxCalls/2 && i < len(calls)-maxCalls/2 {
			left = true
			continue
		}
		if left {
			t.line(indent, "…")
			left = false
		}
		from := "called from"
		if c.Name != "" {
			from += " " + c.Name
		}
		t.line(indent, from+" "+(&Failure{File: c.File, Line: c.Line}).Place())
	}
	if left {
		t.line(indent, "…")
	}
}

// results adds the failed results of a branch: of targets, or of a container.
func (t *tracer) results(indent string, f *Failure) {
	if r, ok := f.Container(); ok {
		msg, _ := r.Err().Value("msg").(string)
		t.line(indent, msg)
	}
	results, _ := f.Results()
	failed := 0
	for _, r := range results {
		if r.OK() {
			continue
		}
		if failed++; failed <= maxFailed {
			t.line(indent, r.Target.SafeName()+": "+r.Err.Msg)
		}
	}
	if failed > maxFailed {
		t.line(indent, "and "+count(failed-maxFailed, "target")+" more")
	}
}

// common returns how many of the outermost calls are the same.
func common(a, b []Call) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
