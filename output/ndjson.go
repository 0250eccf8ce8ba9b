package output

import (
	"bufio"
	"context"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/output/layout"
)

// eventLines writes each event as a line of JSON; docs/ndjson.md describes the
// format.
type eventLines struct {
	out  *bufio.Writer
	now  func() time.Time
	step int                 // of a plan, which lines are about; 0 for none
	rest map[streamOf][]byte // unfinished UTF-8 sequences
	good int
	bad  int

	plan  bool      // the action is a plan
	begin time.Time // of a plan
	steps int       // of it, that were begun
}

// streamOf identifies a stream of a target, in a step of a plan.
type streamOf struct {
	step   int
	target *inventory.Target
	stream capture.Stream
}

func newNDJSON(o Options, out *bufio.Writer) *eventLines {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &eventLines{out: out, now: now, rest: make(map[streamOf][]byte)}
}

// Event prints the line of an event.
func (l *eventLines) Event(_ context.Context, e event.Event) error {
	if hidden(e) {
		return nil
	}
	if s := event.StepOf(e); s != nil {
		l.step = s.Number
		defer func() { l.step = 0 }()
	}
	switch e := e.(type) {
	case event.ActionBegin:
		return l.action(e)
	case event.TargetBegin:
		m := l.line("start")
		m.Set("target", e.Target.Name)
		return l.print(m)
	case event.TargetOutput:
		return l.output(e.Target, e.Stream, e.Data, false)
	case event.TargetResource:
		return l.print(l.resource(e))
	case event.TargetEnd:
		for _, stream := range []capture.Stream{capture.Stdout, capture.Stderr} {
			if err := l.output(e.Result.Target, stream, nil, true); err != nil {
				return err
			}
		}
		return l.result(e.Result)
	case event.ActionEnd:
		return l.end(e)
	case event.Returned:
		return l.returned(e)
	case event.Failed:
		return l.failed(e)
	case event.Stopped:
		return l.failed(event.Failed{Data: stopData(&e)})
	}
	if m := l.ofPlan(e); m != nil {
		return l.print(m)
	}
	return nil
}

// line begins an event.
func (l *eventLines) line(event string) *ordered.Map {
	m := ordered.Of("event", event, "time", l.now().UTC().Format(time.RFC3339Nano))
	if l.step > 0 {
		m.Set("step", l.step)
	}
	return m
}

func (l *eventLines) print(m *ordered.Map) error {
	if err := layout.WriteLine(l.out, m); err != nil {
		return err
	}
	return l.out.Flush()
}

// output prints a piece of output; last marks the last piece. Text is printed
// as text; a UTF-8 sequence that is cut between two pieces waits for its end.
func (l *eventLines) output(t *inventory.Target, stream capture.Stream, data []byte, last bool) error {
	key := streamOf{l.step, t, stream}
	if held := l.rest[key]; len(held) > 0 {
		data = append(held, data...)
		delete(l.rest, key)
	}
	if !last {
		end := len(data)
		for i := len(data) - 1; i >= 0 && i > len(data)-utf8.UTFMax; i-- {
			if utf8.RuneStart(data[i]) {
				if !utf8.FullRune(data[i:]) {
					end = i
				}
				break
			}
		}
		if end < len(data) {
			l.rest[key] = append([]byte(nil), data[end:]...)
		}
		data = data[:end]
	}
	if len(data) == 0 {
		return nil
	}
	m := l.line("output")
	m.Set("target", t.Name)
	m.Set("stream", streamName(stream))
	if utf8.Valid(data) {
		m.Set("data", string(data))
	} else {
		m.Set("base64", base64.StdEncoding.EncodeToString(data))
	}
	return l.print(m)
}

func streamName(s capture.Stream) string {
	if s == capture.Stderr {
		return "stderr"
	}
	return "stdout"
}

func (l *eventLines) result(r *event.Result) error {
	m := l.line("result")
	m.Set("target", r.Target.Name)
	class := "ok"
	if r.OK() {
		l.good++
	} else {
		l.bad++
		class = string(r.Err.Class)
	}
	m.Set("class", class)
	m.Set("elapsed", r.Elapsed.Seconds())
	if !r.OK() && r.Err.Hint != "" {
		m.Set("hint", r.Err.Hint)
	}
	return l.large(m, "result", func() error { return r.WriteJSON(l.out) })
}

// resource returns the line of a resource that was applied.
func (l *eventLines) resource(e event.TargetResource) *ordered.Map {
	m := l.line("resource")
	r := e.Resource
	m.Set("target", e.Target.Name)
	m.Set("resource", r.Ref)
	m.Set("status", r.Status)
	m.Set("refreshed", r.Refreshed)
	if r.Attempts > 0 {
		m.Set("attempts", int64(r.Attempts))
	}
	if r.Reason != "" {
		m.Set("reason", r.Reason)
	}
	if r.Place != "" {
		m.Set("place", r.Place)
	}
	changes := make([]any, len(r.Changes))
	for i, c := range r.Changes {
		one := ordered.Of("property", ordered.Optional(c.Property), "status", c.Status, "message", c.Message)
		if c.Diff != "" {
			one.Set("diff", c.Diff)
		}
		changes[i] = one
	}
	m.Set("changes", changes)
	return m
}

// large prints a line whose last member, which may be large, is written in
// parts.
func (l *eventLines) large(m *ordered.Map, last string, write func() error) error {
	sep := "{"
	for k, v := range m.All() {
		_, _ = l.out.WriteString(sep + `"` + k + `":`)
		if err := safejson.Write(l.out, v); err != nil {
			return err
		}
		sep = ","
	}
	_, _ = l.out.WriteString(`,"` + last + `":`)
	if err := write(); err != nil {
		return err
	}
	_, _ = l.out.WriteString("}\n")
	return l.out.Flush()
}

// action prints "begin".
func (l *eventLines) action(e event.ActionBegin) error {
	if l.plan = e.Action == event.Plan; l.plan {
		l.begin = l.now()
	}
	m := l.line("begin")
	m.Set("action", e.Action)
	m.Set("object", e.Object)
	if !l.plan {
		m.Set("target_count", len(e.Targets))
	}
	return l.print(m)
}

// end prints "end"; for a plan, that line was already printed with its return
// value.
func (l *eventLines) end(e event.ActionEnd) error {
	if l.plan {
		return nil
	}
	m := l.line("end")
	m.Set("ok", l.good)
	m.Set("failed", l.bad)
	m.Set("elapsed", e.Elapsed.Seconds())
	if len(e.Outputs) > 0 {
		m.Set("outputs", outputsData(e.Outputs))
	}
	return l.print(m)
}

// failed prints "error".
func (l *eventLines) failed(e event.Failed) error {
	m := l.line("error")
	m.Set("error", e.Data)
	return l.print(m)
}
