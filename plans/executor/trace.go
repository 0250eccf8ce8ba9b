package executor

import (
	"fmt"
	"strings"

	"bolt/puppet/eval"
)

// A Call is one that had not returned when something failed: the plan or the
// function, and the place in it that was reached.
type Call struct {
	Name string // "site::deploy"; "" outside of all
	File string
	Line int
}

// A Branch is one of several that were at work at once, and has failed.
type Branch struct {
	Name    string // "branch 2 of 3", "future 'checks'"
	Failure *Failure
}

// callsOf are the calls around an error, the innermost first. A block belongs to
// what it is written in. The call that has the place of the error itself is left
// out.
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

// blockName is what package eval calls a block.
const blockName = "lambda"

// Bounds of what Trace tells.
const (
	maxCalls    = 16 // half of them the innermost, half the outermost
	maxBranches = 20
	maxFailed   = 10 // targets of a branch
)

// Trace is what people want to know of the failure beside its message and its
// place, on lines of their own: the calls that led there, and what has failed in
// branches. Message and place come first unless they have been told. "" is
// nothing.
func (f *Failure) Trace(told bool) string {
	var t tracer
	if !told {
		t.told("", "", f)
	}
	t.beside("  ", f, nil)
	return t.text.String()
}

type tracer struct{ text strings.Builder }

// line adds a text, which may have several lines.
func (t *tracer) line(indent, text string) {
	t.text.WriteString(indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
}

// told adds a failure's message and place.
func (t *tracer) told(indent, name string, f *Failure) {
	place := f.Place()
	t.line(indent, name+strings.TrimSuffix(f.Msg, " "+place))
	if place != "" {
		t.line(indent+"  ", place)
	}
}

// beside adds what else there is to know of a failure. What has been told of the
// calls around it is not said again.
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
		t.line(indent, "it came up at "+b.Place())
		t.beside(indent+"  ", b, f.Calls)
	}
}

// calls adds calls, those in the middle of many and the repetitions of one left
// out.
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

// results tells what has failed of what a branch did: on which targets, or in a
// container.
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

// common is how many of the outermost calls are the same.
func common(a, b []Call) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
