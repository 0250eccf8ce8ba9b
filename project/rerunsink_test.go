package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bolt/event"
	"bolt/internal/logging"
	"bolt/inventory"
)

func TestRerunSink(t *testing.T) {
	web1, web2 := &inventory.Target{Name: "web1"}, &inventory.Target{Name: "web2"}
	good := func(t *inventory.Target) *event.Result { return &event.Result{Target: t} }
	bad := func(t *inventory.Target) *event.Result {
		return &event.Result{Target: t, Err: &event.Error{Class: event.ClassFailed}}
	}
	step := &event.Step{}
	plan := event.ActionBegin{Action: event.Plan}
	const before, none = "before", ""
	for name, c := range map[string]struct {
		events []event.Event
		want   string
	}{
		"an action, in the order of its targets": {[]event.Event{event.ActionBegin{Action: "command", Targets: []*inventory.Target{web1, web2}},
			event.TargetEnd{Result: good(web2)}, event.TargetEnd{Result: bad(web1)}, event.ActionEnd{}},
			`[{"target":"web1","status":"failure"},{"target":"web2","status":"success"}]`},
		"no targets":            {[]event.Event{event.ActionBegin{Action: "command"}, event.ActionEnd{}}, before},
		"an action that failed": {[]event.Event{event.ActionBegin{Action: "command", Targets: []*inventory.Target{web1}}, event.Failed{}}, before},
		"results of a plan": {[]event.Event{plan, event.TargetEnd{Step: step, Result: bad(web1)}, event.Returned{Results: []*event.Result{good(web1)}}, event.ActionEnd{}},
			`[{"target":"web1","status":"success"}]`},
		"a failure of a plan": {[]event.Event{plan, event.Failed{Results: []*event.Result{bad(web2)}}, event.ActionEnd{}}, `[{"target":"web2","status":"failure"}]`},
		"no results":          {[]event.Event{plan, event.Returned{Value: 1}, event.ActionEnd{}}, none},
		"another failure":     {[]event.Event{plan, event.Failed{}, event.ActionEnd{}}, none},
		"a plan that was stopped": {[]event.Event{plan, event.Stopped{Cut: []event.CutStep{{Step: step, Results: []*event.Result{bad(web1), good(web2)}}, {Step: step, Results: []*event.Result{good(web1)}}}}},
			`[{"target":"web1","status":"failure"},{"target":"web2","status":"success"}]`},
		"stopped between steps": {[]event.Event{plan, event.Stopped{}, event.ActionEnd{}}, none},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".rerun.json")
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			logs, err := logging.Open(logging.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := NewRerunSink(Rerun{Path: path}, logs)
			for _, e := range c.events {
				if err := s.Event(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
