package output

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
)

// looked returns a result with a value, or with an error.
func looked(t *inventory.Target, v any, wrong string) event.Event {
	r := &event.Result{Target: t, Action: event.Lookup, Object: "key", Value: ordered.Of("value", v)}
	if wrong != "" {
		r.Action, r.Object, r.Value = "action", "", ordered.Of("_output", "explained\n")
		r.Err = &event.Error{Kind: "k", Code: "C", Msg: wrong, Details: &ordered.Map{}, Class: event.ClassFailed, Command: true}
	}
	return finished(r)
}

func TestLookup(t *testing.T) {
	f := fleet("web1", "web2", "web3", "web4")
	events := []event.Event{
		looked(f[0], "text\nof lines", ""), looked(f[1], ordered.Of("a", []any{int64(1), nil, true}), ""), looked(f[2], nil, ""), looked(f[3], nil, "nothing"),
	}
	for _, c := range []struct {
		name   string
		o      Options
		events []event.Event
		want   string
	}{
		{"human", Options{Verbose: true}, events, "Finished on web1:\n  text\n  of lines\n" +
			"Finished on web2:\n  {\n    \"a\": [\n      1,\n      null,\n      true\n    ]\n  }\nFinished on web3:\n  null\n" +
			"Failed on web4:\n  nothing\n  explained\n" +
			"Successful on 3 targets: web1,web2,web3\nFailed on 1 target: web4\nRan on 4 targets\n"},
		{"fold", Options{Verbose: true, Fold: true}, []event.Event{looked(f[0], int64(1), ""), looked(f[1], int64(1), ""), looked(f[2], "", "")},
			"Finished on web[1-2] (2 targets):\n  1\nFinished on web3:\n  \nSuccessful on 3 targets: web[1-3]\nRan on 3 targets\n"},
		{"terminal", Options{Verbose: true, Terminal: true}, []event.Event{looked(f[0], "a\x1b[2Jb", "")},
			"Finished on web1:\n  ab\nSuccessful on 1 target: web1\nRan on 1 target\n"},
		{"data on a terminal", Options{Verbose: true, Terminal: true}, []event.Event{looked(f[0], []any{"a\u009b2Jb"}, "")},
			"Finished on web1:\n  [\n    \"a\\u009b2Jb\"\n  ]\nSuccessful on 1 target: web1\nRan on 1 target\n"},
		{"details on a terminal", Options{Verbose: true, Terminal: true}, []event.Event{finished(&event.Result{Target: f[0], Action: "action", Value: ordered.Of("k", "a\u009b2Jb"),
			Err: &event.Error{Kind: "k", Code: "C", Msg: "wrong", Details: &ordered.Map{}, Class: event.ClassFailed, Command: true}})},
			"Failed on web1:\n  wrong\n  {\n    \"k\": \"a\\u009b2Jb\"\n  }\nFailed on 1 target: web1\nRan on 1 target\n"},
		{"data elsewhere", Options{Verbose: true}, []event.Event{looked(f[0], []any{"a\u009b2Jb"}, "")},
			"Finished on web1:\n  [\n    \"a\\u009b2Jb\"\n  ]\nSuccessful on 1 target: web1\nRan on 1 target\n"},
		{"json", Options{Format: JSON}, events, `[{"target":"web1","action":"lookup","object":"key","status":"success","value":{"value":"text\nof lines"}},` +
			`{"target":"web2","action":"lookup","object":"key","status":"success","value":{"value":{"a":[1,null,true]}}},` +
			`{"target":"web3","action":"lookup","object":"key","status":"success","value":{"value":null}},` +
			`{"target":"web4","action":"action","object":null,"status":"failure","value":{"_output":"explained\n","_error":{"kind":"k","issue_code":"C","msg":"nothing","details":{}}}}]` + "\n"},
		{"nothing", Options{Format: JSON}, nil, "[]\n"},
		{"not verbose", Options{}, events[2:3], "Finished on web3:\n  null\nSuccessful on 1 target: web3\nRan on 1 target\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			c.o.Out = &b
			r := newShown(t, c.o)
			err := r.Start(event.ActionBegin{Action: event.Lookup, Object: "key", Targets: f})
			for _, e := range c.events {
				err = errors.Join(err, r.Event(e))
			}
			if err := errors.Join(err, r.End(time.Second)); err != nil {
				t.Fatal(err)
			}
			equal(t, b.String(), c.want)
		})
	}
}

// TestLookupFatal checks that the list is closed after an error, so that
// the output is still JSON.
func TestLookupFatal(t *testing.T) {
	var b bytes.Buffer
	r := newShown(t, Options{Format: JSON, Out: &b})
	if err := errors.Join(r.Start(event.ActionBegin{Action: event.Lookup}), r.Fatal(errors.New("broken"))); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "[]\n"+`{"kind":"bolt/internal-error","msg":"broken","details":{}}`+"\n")
}
