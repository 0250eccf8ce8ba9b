package executor

import (
	"fmt"
	"strings"
	"testing"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func TestCallsOf(t *testing.T) {
	e := &eval.Error{Pos: syntax.Position{File: "f.pp", Line: 2, Column: 3}, Stack: []eval.Frame{
		{Function: "lambda", File: "f.pp", Line: 2}, {Function: "site::f", File: "f.pp", Line: 1}, // the position itself
		{Function: "lambda", File: "p.pp", Line: 9}, {Function: "lambda", File: "p.pp", Line: 8}, {Function: "site::p", File: "p.pp", Line: 7},
		{Function: "site", File: "init.pp", Line: 3}, {},
	}}
	if got, want := fmt.Sprint(callsOf(e)), "[{site::p p.pp 9} {site init.pp 3}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// A file that could not be read is not a call.
	e.Pos = syntax.Position{File: "bad.pp", Line: 1}
	if got, want := fmt.Sprint(callsOf(e)), "[{site::f f.pp 2} {site::p p.pp 9} {site init.pp 3}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTraceIsShort(t *testing.T) {
	top := Call{"site", "init.pp", 1}
	f := failf("k", "all failed")
	f.File, f.Line, f.Calls = "p.pp", 4, []Call{top}
	for i := range maxBranches + 3 {
		b := failf("k", "no (file: b.pp, line: %d)", i)
		b.File, b.Line, b.Calls = "b.pp", i, []Call{{"site::b", "b.pp", 7}, top}
		f.Branches = append(f.Branches, Branch{fmt.Sprint("branch ", i), b})
	}
	got := f.Trace(false)
	for _, want := range []string{
		"all failed\n  (file: p.pp, line: 4)\n  called from site (file: init.pp, line: 1)\n",
		"\n  branch 1: no\n    (file: b.pp, line: 1)\n    called from site::b (file: b.pp, line: 7)\n  branch 2: no\n",
		"\n  and 3 more\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "called from site ("); n != 1 {
		t.Errorf("the call around all is told %d times", n)
	}

	f = failf("k", "deep")
	for i := range 100 {
		f.Calls = append(f.Calls, Call{"site::x", "x.pp", i})
	}
	if got := f.Trace(true); strings.Count(got, "\n") != maxCalls+1 || !strings.Contains(got, "(file: x.pp)\n") || !strings.Contains(got, "…\n") || !strings.Contains(got, "line: 99)\n") {
		t.Errorf("got\n%s", got)
	}
	f.Calls = []Call{top, top, top, {"site::x", "x.pp", 1}}
	if got, want := f.Trace(true), "  called from site (file: init.pp, line: 1)\n  …\n  called from site::x (file: x.pp, line: 1)\n"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := failf("k", "x").Trace(true); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}

// TestTraceOfTargets checks that the trace contains the failures of a branch,
// up to the maximum number of targets.
func TestTraceOfTargets(t *testing.T) {
	language := NewLanguage(nil)
	x := New(Options{Language: language})
	var results []value.Value
	for i := range maxFailed + 2 {
		e := &event.Error{Msg: fmt.Sprint("error ", i), Details: &ordered.Map{}}
		if i == 0 {
			e = nil
		}
		results = append(results, x.result(&event.Result{Target: &inventory.Target{Name: fmt.Sprint("t", i)}, Err: e}))
	}
	b := failf("bolt/run-failure", "run_command 'x' failed")
	b.acted = true
	b.Details = value.NewHash(value.Entry{Key: value.String("result_set"), Value: x.set(results)})
	f := failf("k", "all")
	f.Branches = []Branch{{"future 'a'", b}}
	got := f.Trace(true)
	if strings.Contains(got, "t0:") || !strings.Contains(got, "  future 'a': run_command 'x' failed\n    t1: error 1\n") || !strings.HasSuffix(got, "t10: error 10\n    and 1 target more\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestCycleOfPlansIsNamed(t *testing.T) {
	for names, want := range map[string]string{
		"a":                         "A plan that calls itself must",
		"a b c":                     "A plan that calls itself must",
		"x a a":                     "a calls itself: a plan",
		"x a b a":                   "a calls b, which calls a: a plan",
		"x a b c a":                 "a calls b, which calls c, which calls a: a plan",
		"a b c d e f g h i j k l a": "a calls b, which calls a through 10 more plans: a plan",
	} {
		var p *planCall
		for _, n := range strings.Fields(names) {
			p = &planCall{name: n, by: p}
		}
		if got := p.cycle(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q", names, got)
		}
	}
}
