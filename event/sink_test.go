package event

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/transport"
)

// TestFan checks that all sinks get an event, except sinks after an error for a
// beginning.
func TestFan(t *testing.T) {
	wrong := errors.New("wrong")
	for _, tt := range []struct {
		event Event
		want  string
	}{
		{TargetEnd{}, "first last "}, {StepEnd{}, "first last "}, {Message{}, "first last "},
		{ActionBegin{}, "first "}, {BatchBegin{}, "first "}, {TargetBegin{}, "first "}, {ContainerBegin{}, "first "},
	} {
		var got strings.Builder
		sink := func(name string, err error) Sink {
			return Func(func(context.Context, Event) error { got.WriteString(name + " "); return err })
		}
		err := Fan(nil, sink("first", wrong), sink("last", errors.New("later"))).Event(t.Context(), tt.event)
		if err != wrong || got.String() != tt.want {
			t.Errorf("%T: sinks %q, want %q; error %v", tt.event, got.String(), tt.want, err)
		}
	}
}

type lazy struct{ data any }

func (l lazy) Data() (any, error) { return l.data, nil }

func hide(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }

// TestRedact checks that texts of plans lose their secrets and other data is unchanged.
func TestRedact(t *testing.T) {
	one := &Step{Number: 1, Description: "echo hunter2", Object: "hunter2"}
	value := ordered.Of("stdout", "hunter2")
	result := func(object string) *Result {
		return &Result{Target: target("web1"), Object: object, Value: ordered.Of("_output", "hunter2")}
	}
	image := &Container{Image: "hunter2"}
	data := ordered.Of("msg", "hunter2", "details", ordered.Of("hunter2", []any{"hunter2", int64(1)}))
	dataHidden := ordered.Of("msg", "[redacted]", "details", ordered.Of("[redacted]", []any{"[redacted]", int64(1)}))
	hidden := *one
	hidden.Description, hidden.Object = "echo [redacted]", "[redacted]"
	for _, tt := range []struct{ event, want Event }{
		{ActionBegin{Action: "command", Object: "hunter2"}, ActionBegin{Action: "command", Object: "hunter2"}},
		{TargetEnd{Result: result("hunter2")}, TargetEnd{Result: result("hunter2")}},
		{StepBegin{one}, StepBegin{&hidden}},
		{TargetBegin{one, nil}, TargetBegin{&hidden, nil}},
		{TargetOutput{Step: one, Data: []byte("hunter2")}, TargetOutput{Step: &hidden, Data: []byte("hunter2")}},
		{TargetEnd{one, result("run hunter2")}, TargetEnd{&hidden, result("run [redacted]")}},
		{StepEnd{Step: one, Failures: 1}, StepEnd{Step: &hidden, Failures: 1}},
		{ContainerBegin{image}, ContainerBegin{&Container{Image: "[redacted]"}}},
		{ContainerEnd{image, &ContainerResult{"hunter2", value}}, ContainerEnd{&Container{Image: "[redacted]"}, &ContainerResult{"[redacted]", value}}},
		{Message{Text: "hunter2", Logged: "hunter2"}, Message{Text: "[redacted]", Logged: "[redacted]"}},
		{Log{Level: "warn", ID: "hunter2", Text: "hunter2"}, Log{Level: "warn", ID: "hunter2", Text: "[redacted]"}},
		{Question{"hunter2?"}, Question{"[redacted]?"}},
		{Returned{Value: "hunter2"}, Returned{Value: "hunter2"}},
		{Returned{Container: &ContainerResult{"hunter2", value}}, Returned{Container: &ContainerResult{"hunter2", value}}},
		{Returned{Error: &Failed{Msg: "hunter2", Data: data}}, Returned{Error: &Failed{Msg: "[redacted]", Data: dataHidden}}},
		{Failed{Msg: "hunter2", Data: data, Container: &ContainerResult{"hunter2", value}}, Failed{Msg: "[redacted]", Data: dataHidden, Container: &ContainerResult{"[redacted]", value}}},
		{Failed{Msg: "hunter2", Data: data, Results: []*Result{result("hunter2")}}, Failed{Msg: "[redacted]", Data: dataHidden, Results: []*Result{result("[redacted]")}}},
		{
			Stopped{Failed: Failed{Msg: "hunter2", Data: data}, Cut: []CutStep{{one, []*Result{result("hunter2")}}}, Ended: 1, Last: []EndedStep{{one, 2}}},
			Stopped{Failed: Failed{Msg: "[redacted]", Data: dataHidden}, Cut: []CutStep{{&hidden, []*Result{result("[redacted]")}}}, Ended: 1, Last: []EndedStep{{&hidden, 2}}},
		},
	} {
		var got Event
		before := fmt.Sprintf("%+v", tt.event)
		next := Func(func(_ context.Context, e Event) error { got = e; return nil })
		if err := Redact(next, hide).Event(t.Context(), tt.event); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%T: got  %+v, %v\nwant %+v", tt.event, got, err, tt.want)
		}
		if after := fmt.Sprintf("%+v", tt.event); after != before || one.Description != "echo hunter2" {
			t.Errorf("%T has changed", tt.event)
		}
	}
}

// TestRedactStep checks that the later sinks get the same step in all events, and that
// it becomes quiet together with the plan's own step.
func TestRedactStep(t *testing.T) {
	var seen []*Step
	var quiet []bool
	s := Redact(Func(func(_ context.Context, e Event) error {
		seen, quiet = append(seen, StepOf(e)), append(quiet, StepOf(e).Quiet)
		return nil
	}), hide)
	one := &Step{Description: "x"}
	send := func(e Event) {
		if err := s.Event(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	send(StepBegin{one})
	send(TargetBegin{Step: one})
	one.Quiet = true
	send(StepEnd{Step: one})
	if seen[0] != seen[1] || seen[1] != seen[2] || quiet[0] || !quiet[2] {
		t.Errorf("steps %v, quiet %v", seen, quiet)
	}
}

// TestRedactLater checks that only the object changes in a result that is made when it
// is written.
func TestRedactLater(t *testing.T) {
	var got Failed
	s := Redact(Func(func(_ context.Context, e Event) error { got = e.(Failed); return nil }), hide)
	later := lazy{ordered.Of("object", "hunter2", "value", "hunter2")}
	if err := s.Event(t.Context(), Failed{Data: ordered.Of("results", []any{later})}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := safejson.Write(&b, got.Data); err != nil || b.String() != `{"results":[{"object":"[redacted]","value":"hunter2"}]}` {
		t.Errorf("%s, %v", b.String(), err)
	}
}

func TestHasSecret(t *testing.T) {
	for _, v := range []any{"a hunter2", []any{"hunter2"}, ordered.Of("hunter2", 1.5), ordered.Of("a", []any{ordered.Of("b", "hunter2")}), transport.NewSecret("x")} {
		if !HasSecret(v, hide) {
			t.Errorf("%v has none", v)
		}
	}
	for _, v := range []any{"a", nil, true, int64(1), 1.5, []any{"x"}, ordered.Of("a", "b")} {
		if HasSecret(v, hide) {
			t.Errorf("%v has one", v)
		}
	}
}
