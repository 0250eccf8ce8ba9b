package output

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
)

func planStep(number int, description string, targets []*inventory.Target) *event.Step {
	return &event.Step{Number: number, Description: description, Targets: targets, File: "p.pp", Line: number}
}

func began(s *event.Step) event.Event { return event.StepBegin{Step: s} }

func on(s *event.Step, e event.Event) event.Event { return event.OfStep(e, s) }

func stepEnd(s *event.Step, failures int) event.Event {
	return event.StepEnd{Step: s, Failures: failures, Elapsed: 2 * time.Second}
}

// ill returns a result of a stopped run.
func ill(target *inventory.Target, class string, msg string) *event.Result {
	r := unreachable(target, msg)
	r.Err.Class, r.Err.Kind = event.ClassCancelled, "puppetlabs.tasks/cancelled-error"
	if class == "skipped" {
		r.Err = event.Skipped()
	}
	return r
}

// planShown renders events, the last of which is the outcome of the plan.
func planShown(t *testing.T, o Options, last event.Event, events ...event.Event) (out, beside string) {
	t.Helper()
	var b, e bytes.Buffer
	o.Out, o.Err = &b, &e
	s := newShown(t, o)
	first := event.ActionBegin{Action: event.Plan, Object: "site"}
	for _, one := range slices.Concat([]event.Event{first}, events, []event.Event{last, event.ActionEnd{}}) {
		if err := s.Event(one); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), e.String()
}

func returns(value any) event.Event { return event.Returned{Value: value} }

func TestPlanRun(t *testing.T) {
	f := fleet("web1", "web2", "web3", "web4", "web5", "web6")
	one, two := planStep(1, "one", f[:2]), planStep(2, "two", f)
	events := func() []event.Event {
		return []event.Event{
			event.PlanBegin{Plan: "p"}, began(one), on(one, started(f[0])), on(one, arrived(f[0], capture.Stdout, "a")), began(two), on(two, arrived(f[0], capture.Stdout, "b\n")),
			on(one, arrived(f[0], capture.Stdout, "c\n")), on(one, finished(command(t, f[0], 0, "ac\n"))), stepEnd(one, 1), stepEnd(two, 0),
			event.Message{Text: "hi"}, event.Message{Text: "more", Verbose: true}, event.Log{Level: "warn", Text: "elsewhere"}, event.Question{Text: "elsewhere?"},
			event.PlanEnd{Plan: "p", Elapsed: time.Second},
		}
	}
	const end = "Finished: plan p in 1.0 sec\n[\n  1\n]\n"
	out, beside := planShown(t, Options{}, returns([]any{1}), events()...)
	equal(t, out, "Starting: plan p\nStarting: one on web1, web2\nStarting: two on 6 targets\nFinished: one with 1 failure in 2.0 sec\nFinished: two with 0 failures in 2.0 sec\nhi\n"+end)
	equal(t, beside, "")
	out, _ = planShown(t, Options{Verbose: true}, returns([]any{1}), events()...)
	equal(t, out, "Starting: plan p\nStarting: one on web1, web2\nStarted on web1...\nStarting: two on 6 targets\nFinished on web1:\n  ac\n"+
		"Finished: one with 1 failure in 2.0 sec\nFinished: two with 0 failures in 2.0 sec\nhi\nmore\n"+end)
	// Each step has its own lines.
	out, beside = planShown(t, Options{Format: JSON, Stream: true}, returns(nil), events()...)
	equal(t, out, "null\n")
	equal(t, beside, "[web1] out: b\n[web1] out: ac\nhi\n")
}

// TestPlanResults checks that the failure of an action shows all targets in their
// order, and does not show targets that were not begun as failures.
func TestPlanResults(t *testing.T) {
	f := fleet("web1", "web2", "web3")
	show := event.Failed{Results: []*event.Result{command(t, f[0], 3, "hi\n"), command(t, f[1], 0), ill(f[2], "skipped", "")}, Data: ordered.Of("kind", "bolt/run-failure")}
	out, _ := planShown(t, Options{}, show)
	equal(t, out, "Failed on web1:\n  The command failed with exit code 3\n  hi\nFinished on web2:\nNot run on web3:\n  Not run: stopped before its turn came\n"+
		"Successful on 1 target: web2\nFailed on 1 target: web1\nNot run on 1 target: web3\nRan on 2 targets\n")
	out, _ = planShown(t, Options{Format: JSON}, show)
	equal(t, out, `{"kind":"bolt/run-failure"}`+"\n")
}

// TestPlanEvents checks that each event has the form of docs/ndjson.md.
func TestPlanEvents(t *testing.T) {
	f := fleet("web1", "web2")
	one, two, before := planStep(1, "restart", f), planStep(2, "check", f[:1]), planStep(3, "before", f[:1])
	before.Recorded = true
	img := &event.Container{Image: "img"}
	now := time.Date(2030, 1, 2, 2, 4, 5, 0, time.UTC)
	o := Options{Format: NDJSON, Now: func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}}
	events := func() []event.Event {
		return []event.Event{
			event.PlanBegin{Plan: "site"}, began(one), on(one, started(f[0])), began(two),
			on(one, arrived(f[0], capture.Stdout, "\xc3")), on(two, arrived(f[0], capture.Stdout, "\xc3")), on(one, arrived(f[0], capture.Stdout, "\xa4\n")), on(two, arrived(f[0], capture.Stdout, "\xb6\n")),
			on(one, finished(command(t, f[0], 0, "ä\n"))), on(one, finished(unreachable(f[1], "no route"))), stepEnd(one, 1),
			event.Message{Text: "hi"}, event.Log{Level: "warn", ID: "some_id", Text: "careful"}, event.Question{Text: "Name: "},
			event.ContainerBegin{Container: img}, event.ContainerEnd{Container: img, Result: &event.ContainerResult{Image: "img", Value: ordered.Of("stdout", "hi\n")}},
			began(before),
			event.PlanEnd{Plan: "site", Elapsed: time.Second},
		}
	}
	want := `{"event":"begin","time":"2030-01-02T02:04:05.002Z","action":"plan","object":"site"}
{"event":"plan_begin","time":"2030-01-02T02:04:05.003Z","plan":"site"}
{"event":"step_begin","time":"2030-01-02T02:04:05.004Z","step":1,"description":"restart","target_count":2,"targets":["web1","web2"],"file":"p.pp","line":1}
{"event":"start","time":"2030-01-02T02:04:05.005Z","step":1,"target":"web1"}
{"event":"step_begin","time":"2030-01-02T02:04:05.006Z","step":2,"description":"check","target_count":1,"targets":["web1"],"file":"p.pp","line":2}
{"event":"output","time":"2030-01-02T02:04:05.007Z","step":1,"target":"web1","stream":"stdout","data":"ä\n"}
{"event":"output","time":"2030-01-02T02:04:05.008Z","step":2,"target":"web1","stream":"stdout","data":"ö\n"}
{"event":"result","time":"2030-01-02T02:04:05.009Z","step":1,"target":"web1","class":"ok","elapsed":0.25,"result":{"target":"web1","action":"command","object":"cmd","status":"success","value":{"stdout":"ä\n","stderr":"","merged_output":"ä\n","exit_code":0}}}
{"event":"result","time":"2030-01-02T02:04:05.01Z","step":1,"target":"web2","class":"connect","elapsed":0.0,"result":{"target":"web2","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"no route","issue_code":"CONNECT_ERROR"}}}}
{"event":"step_end","time":"2030-01-02T02:04:05.011Z","step":1,"ok":1,"failed":1,"elapsed":2.0}
{"event":"message","time":"2030-01-02T02:04:05.012Z","text":"hi","verbose":false}
{"event":"log","time":"2030-01-02T02:04:05.013Z","level":"warn","text":"careful","id":"some_id"}
{"event":"question","time":"2030-01-02T02:04:05.014Z","text":"Name: "}
{"event":"container_begin","time":"2030-01-02T02:04:05.015Z","image":"img"}
{"event":"container_end","time":"2030-01-02T02:04:05.016Z","image":"img","ok":true,"value":{"stdout":"hi\n"}}
{"event":"step_recorded","time":"2030-01-02T02:04:05.017Z","step":3,"description":"before","target_count":1,"targets":["web1"],"file":"p.pp","line":3}
{"event":"plan_end","time":"2030-01-02T02:04:05.018Z","plan":"site","elapsed":1.0}
`
	start := now
	ends := map[string]event.Event{
		`{"event":"end","time":"2030-01-02T02:04:05.019Z","steps":2,"ok":1,"failed":1,"elapsed":0.019,"value":{"a":[1]}}` + "\n":               returns(ordered.Of("a", []any{1})),
		`{"event":"error","time":"2030-01-02T02:04:05.019Z","error":{"kind":"k"}}` + "\n":                                                      event.Failed{Msg: "m", Data: ordered.Of("kind", "k")},
		`{"event":"error","time":"2030-01-02T02:04:05.019Z","error":{"kind":"bolt/run-failure"}}` + "\n":                                       event.Failed{Results: []*event.Result{}, Data: ordered.Of("kind", "bolt/run-failure")},
		`{"event":"end","time":"2030-01-02T02:04:05.019Z","steps":2,"ok":1,"failed":1,"elapsed":0.019,"value":[` + skippedResult + `]}` + "\n": event.Returned{Results: []*event.Result{ill(f[0], "skipped", "")}},
	}
	for last, end := range ends {
		now = start
		out, beside := planShown(t, o, end, events()...)
		equal(t, out, want+last)
		equal(t, beside, "")
	}
}

const skippedResult = `{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/skipped-error","msg":"Not run: stopped before its turn came","issue_code":"SKIPPED"}}}`

// TestPlanStopped stops two steps, of which the later one ends first.
func TestPlanStopped(t *testing.T) {
	f := fleet("web1", "web2", "web3", "web4")
	var course event.Course
	early, left, right, whole := planStep(1, "early", f[:1]), planStep(2, "left", f), planStep(3, "right", f[:1]), planStep(4, "whole", f[:1])
	for _, e := range []event.Event{began(early), on(early, finished(command(t, f[0], 0))), stepEnd(early, 0), began(left), began(right), began(whole), on(left, started(f[0])),
		on(left, finished(command(t, f[0], 0, "hi\n"))), on(left, finished(command(t, f[1], 3)))} {
		course.Add(e, false)
	}
	for _, e := range []event.Event{on(whole, finished(command(t, f[0], 3))), stepEnd(whole, 1), on(right, finished(ill(f[0], "cancelled", "it was ended"))), stepEnd(right, 1),
		on(left, finished(ill(f[2], "cancelled", "it was ended"))), on(left, finished(ill(f[3], "skipped", ""))), stepEnd(left, 3)} {
		course.Add(e, true)
	}
	stop := course.Stop(event.Failed{Msg: "It was stopped.", Place: "(file: p.pp, line: 9)", Data: ordered.Of("kind", "bolt/cancelled-error", "details", ordered.Of("line", 9))})
	out, _ := planShown(t, Options{}, stop)
	equal(t, out, `Finished on web1:
  hi
Failed on web2:
  The command failed with exit code 3
Failed on web3:
  it was ended
Failed on web1:
  it was ended
Stopped: left on web1, web2, web3, web4
  (file: p.pp, line: 2)
  Successful on 1 target: web1
  Failed on 1 target: web2
  Ended on 1 target: web3
  Not run on 1 target: web4
Stopped: right on web1
  (file: p.pp, line: 3)
  Ended on 1 target: web1
2 steps had ended before:
  early on web1 with 0 failures
  whole on web1 with 1 failure
It was stopped.
`)
	out, _ = planShown(t, Options{Format: JSON}, stop)
	var got struct {
		Kind    string
		Details struct {
			Results []map[string]any `json:"result_set"`
			Steps   json.RawMessage
			Line    int
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Kind != "bolt/cancelled-error" || len(got.Details.Results) != 5 || got.Details.Line != 9 {
		t.Errorf("%v: %s", err, out)
	}
	equal(t, string(got.Details.Steps), `{"finished":2,"stopped":[{"step":2,"description":"left","ok":["web1"],"failed":["web2"],"ended":["web3"],"not_begun":["web4"],"file":"p.pp","line":2},`+
		`{"step":3,"description":"right","ok":[],"failed":[],"ended":["web1"],"not_begun":[],"file":"p.pp","line":3}]}`)
}

// TestPlanStoppedBetween stops a plan between two of many steps.
func TestPlanStoppedBetween(t *testing.T) {
	f := fleet("web1")
	var course event.Course
	for n := range 22 {
		s := planStep(n+1, "step\nof two lines", f)
		course.Add(began(s), false)
		course.Add(stepEnd(s, 0), false)
	}
	stop := course.Stop(event.Failed{Msg: "It was stopped.", Place: "(file: p.pp, line: 9)", Data: &ordered.Map{}})
	out, _ := planShown(t, Options{}, stop)
	equal(t, out, "22 steps had ended before:\n  (2 earlier ones)\n"+strings.Repeat("  step\n  of two lines on web1 with 0 failures\n", 20)+"It was stopped.\n  (file: p.pp, line: 9)\n")
}

func TestPlanProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet("web1", "web2")
		s := &screen{}
		p := newDrawn(t, newShown(t, Options{Out: s}), s, 60)
		img := &event.Container{Image: "img"}
		do := func(e event.Event) {
			t.Helper()
			if err := p.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		see := func(want string) {
			t.Helper()
			time.Sleep(redrawEvery)
			synctest.Wait()
			if got := s.cursor(); got != want {
				t.Errorf("the line is %q, want %q", got, want)
			}
		}
		one, two := planStep(1, "one\x1b[31m\nof\ttwo lines", f), planStep(2, "deux 東京東京東京東京", f[:1])
		do(event.ActionBegin{Action: event.Plan, Object: "outer"})
		do(event.PlanBegin{Plan: "outer"})
		do(event.PlanBegin{Plan: "inner"})
		see("plan inner 0.1s")
		do(event.ContainerBegin{Container: img})
		see("container img 0.1s")
		do(event.ContainerEnd{Container: img, Result: &event.ContainerResult{Image: "img", Value: ordered.Of("_error", ordered.Of("msg", "it broke"))}})
		do(began(one))
		do(on(one, started(f[0])))
		see("0/2 done, 0 failed, 1 running 0.1s: one of two lines")
		do(began(two))
		see("0/1 done, 0 failed, 0 running 0.1s (and 1 more step): deux ")
		do(on(one, finished(command(t, f[0], 3))))
		do(stepEnd(two, 0))
		see("1/2 done, 1 failed, 0 running 0.3s: one of two lines")
		do(stepEnd(one, 2))
		do(event.PlanEnd{Plan: "inner"})
		see("plan outer 0.6s")
		if _, err := io.WriteString(p.Writer(), "a warning\n"); err != nil {
			t.Fatal(err)
		}
		do(event.PlanEnd{Plan: "outer"})
		see("")
		do(returns(nil))
		p.Close()
		if got := strings.Join(s.lines, "\n"); strings.Contains(got, "running") || !strings.HasSuffix(got, "\nPlan completed successfully with no result") {
			t.Errorf("the screen has:\n%s", got)
		}
	})
}
