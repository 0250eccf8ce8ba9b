package output

import (
	"log/slog"
	"strings"
	"testing"

	"bolt/event"
	"bolt/event/capture"
	"bolt/internal/logging"
)

func TestLog(t *testing.T) {
	f := fleet("web1")
	cut := &event.Result{Target: f[0], Action: "command", Output: capture.New(capture.Options{Limit: 1})}
	if _, err := cut.Output.Stream(capture.Stdout).Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	step := planStep(1, "restart", f)
	step.Quiet = true
	var b strings.Builder
	logs, err := logging.Open(logging.Options{Console: &b, ConsoleLevel: slog.LevelDebug})
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{Logs: logs, WarnCut: true}
	for _, e := range []event.Event{
		event.ActionBegin{Action: event.Plan}, event.PlanBegin{Plan: "p", Quiet: true}, began(step), on(step, finished(cut)), stepEnd(step, 1),
		event.Message{Text: "shown", Logged: "said"}, event.Message{Logged: "more", Verbose: true}, event.Log{Level: "error", Text: "wrong"}, event.Log{Level: "trace", Text: "not this"},
		event.Log{Level: "warn", ID: "some_id", Text: "careful"}, event.ContainerBegin{Container: &event.Container{Image: "img"}}, event.ContainerBegin{Container: &event.Container{Image: "img", Quiet: true}},
		event.ActionEnd{}, event.ActionBegin{Action: "command", Object: "id", Targets: f}, finished(cut), event.ActionEnd{},
	} {
		if err := l.Event(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, b.String(), `Starting: plan p
Starting: restart on web1
Finished: restart with 1 failure in 2.0 sec
said
more
wrong
careful [ID: some_id]
Starting: run container 'img'
action begins action=command object=id targets=1
`+cut.Truncated("--stream, --output-dir DIR or --format ndjson")+` [ID: truncated_output]
action ended action=command elapsed=0s
`)
}
