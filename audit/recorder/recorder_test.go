package recorder

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bolt/audit"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport/all"
)

// warnings collects warnings.
type warnings []string

func (w *warnings) Warn(_, text string)     { *w = append(*w, text) }
func (w *warnings) WarnOnce(_, text string) { *w = append(*w, text) }

// world is a Recorder with its file.
type world struct {
	*Recorder
	path   string
	warned warnings
}

func newWorld(t *testing.T, required bool) *world {
	t.Helper()
	w := &world{path: filepath.Join(t.TempDir(), "audit.jsonl")}
	w.Recorder = New(Options{Log: audit.New(w.path, time.Now), Request: "r", Required: required, Warnings: &w.warned,
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }})
	return w
}

func (w *world) send(t *testing.T, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := w.Event(t.Context(), e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
}

// records returns the records of the file, each in a short form.
func (w *world) records(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text := strings.Join([]string{string(r.Event), r.Name, r.Object}, " ")
		if r.Step > 0 {
			text = "step " + text
		}
		if p := r.Params; p != nil {
			text += " " + strings.Join(p.Names, ",") + "/" + strings.Join(p.Secrets, ",")
		}
		if o := r.Outcome; o != nil {
			counts, err := json.Marshal([]int{o.Succeeded, o.Failed, o.NotBegun})
			if err != nil {
				t.Fatal(err)
			}
			text += " " + string(o.Status) + string(counts)
			if o.Exit != nil {
				text += map[int]string{0: " exit 0", 1: " exit 1"}[*o.Exit]
			}
		}
		list = append(list, text)
	}
	return list
}

func (w *world) want(t *testing.T, want ...string) {
	t.Helper()
	if got := w.records(t); !reflect.DeepEqual(got, want) {
		t.Errorf("records:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func targets(t *testing.T, names ...string) []*inventory.Target {
	t.Helper()
	inv, err := inventory.New(t.Context(), &ordered.Map{}, inventory.Options{Transports: all.Tables(all.List()), Transport: "ssh"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := inv.Targets(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ok(t *inventory.Target) event.TargetEnd {
	return event.TargetEnd{Result: &event.Result{Target: t}}
}

func bad(t *inventory.Target) event.TargetEnd {
	return event.TargetEnd{Result: &event.Result{Target: t, Err: &event.Error{Class: event.ClassFailed}}}
}

func TestAction(t *testing.T) {
	list := targets(t, "a", "b", "c")
	w := newWorld(t, false)
	w.send(t, event.ActionBegin{Action: "command", Targets: list, Do: &run.Command{Line: "echo hunter2", Env: []string{"A=1", "B=hunter2"}}},
		ok(list[0]), bad(list[1]), event.TargetEnd{Result: &event.Result{Target: list[2], Err: event.Skipped()}},
		event.ActionEnd{Failed: true})
	w.want(t, "begin command echo [redacted] A/B", "end command echo [redacted] A/B failure[1,1,1] exit 1")
}

// TestNothing checks that actions without targets are not recorded.
func TestNothing(t *testing.T) {
	w := newWorld(t, true)
	w.send(t, event.ActionBegin{Action: "task", Targets: targets(t, "a")}, event.ActionEnd{}, event.ActionBegin{Action: "command", Do: &run.Command{}}, event.ActionEnd{})
	var none *Recorder
	if err := none.Event(t.Context(), event.ActionBegin{}); err != nil || none.Lost() {
		t.Error(err)
	}
	if _, err := os.Stat(w.path); err == nil {
		t.Error("there is a file")
	}
}

// TestFailed checks that an action that ends before work on its targets begins has an end
// record, too.
func TestFailed(t *testing.T) {
	w := newWorld(t, false)
	w.send(t, event.ActionBegin{Action: "command", Targets: targets(t, "a"), Do: &run.Command{Line: "x"}}, event.Failed{})
	w.want(t, "begin command x", "end command x failure[0,0,0] exit 1")
}

// TestPlan checks that a step is recorded when work on targets begins, and counts the
// targets that are worked on.
func TestPlan(t *testing.T) {
	list := targets(t, "a", "b", "c")
	step := &event.Step{Function: "run_command", Object: "x", Do: &run.Command{Line: "x", Env: []string{"A=1"}}, Secrets: []string{"env_vars"}, Targets: list}
	known := &event.Step{Function: "run_task", Object: "t", Recorded: true, Targets: list[:1]}
	each := &event.Step{Function: "run_task_with", Object: "t", Targets: list[:1]}
	of := func(s *event.Step, e event.TargetEnd) event.Event { return event.OfStep(e, s) }
	box := &event.Container{Image: "img"}
	w := newWorld(t, false)
	w.send(t, event.ActionBegin{Action: event.Plan, Do: &event.PlanAction{Plan: "p", Params: ordered.Of("a", "1", "b", "hunter2"), Secrets: []string{"c"}}},
		event.StepBegin{Step: step}, of(step, ok(list[2])), // is known
		event.BatchBegin{Step: step, Targets: list[:1]}, of(step, ok(list[0])), event.BatchBegin{Step: step, Targets: list[1:2]}, of(step, ok(list[1])), event.StepEnd{Step: step},
		event.StepBegin{Step: known}, of(known, ok(list[0])), event.StepEnd{Step: known},
		event.ContainerBegin{Container: box}, event.ContainerEnd{Container: box, Result: &event.ContainerResult{Value: ordered.Of("_error", &ordered.Map{})}},
		event.StepBegin{Step: each}, event.BatchBegin{Step: each, Targets: each.Targets}, of(each, bad(list[0])), event.StepEnd{Step: each, Failures: 1},
		event.Failed{}, event.ActionEnd{Failed: true})
	w.want(t, "begin plan p a/b,c",
		"step begin command x /A,env_vars", "step end command x /A,env_vars success[2,0,0]",
		"step begin container img", "step end container img failure[0,1,0]",
		"step begin task t", "step end task t failure[0,1,0]",
		"end plan p a/b,c failure[0,0,0] exit 1")
}

// TestStopped checks that the end of a stopped run is recorded.
func TestStopped(t *testing.T) {
	list := targets(t, "a")
	w := newWorld(t, false)
	ctx, stop := context.WithCancel(t.Context())
	w.send(t, event.ActionBegin{Action: "command", Targets: list, Do: &run.Command{Line: "x"}})
	stop()
	if err := w.Event(ctx, event.ActionEnd{Failed: true}); err != nil {
		t.Fatal(err)
	}
	w.want(t, "begin command x", "end command x stopped[0,0,0] exit 1")
}

// TestUnwritable checks that an action begins without a record unless the record is
// required. A missing end record is a warning.
func TestUnwritable(t *testing.T) {
	begin := event.ActionBegin{Action: "command", Targets: targets(t, "a"), Do: &run.Command{Line: "x"}}
	w := newWorld(t, true)
	if err := os.Mkdir(w.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(t.Context(), begin); err == nil || !strings.HasSuffix(err.Error(), "It is required, so nothing was begun.") {
		t.Errorf("error %v", err)
	}
	w.o.Required = false
	w.send(t, begin, event.ActionEnd{})
	if w.Lost() || len(w.warned) != 1 {
		t.Errorf("lost %v, warnings %q", w.Lost(), w.warned)
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.send(t, begin)
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path, 0o700); err != nil {
		t.Fatal(err)
	}
	w.send(t, event.ActionEnd{})
	if !w.Lost() || len(w.warned) != 2 {
		t.Errorf("lost %v, warnings %q", w.Lost(), w.warned)
	}
}
