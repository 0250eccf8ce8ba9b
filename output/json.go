package output

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/run"
)

// document renders Puppet Bolt's JSON: one object over many lines, put
// together as results come, whose line breaks are part of the format; or of a
// lookup a list in one line.
type document struct {
	out   *bufio.Writer
	list  bool
	lines *lineStream // with Stream, on Err
	count int         // results so far
}

func newJSON(o Options, out *bufio.Writer) *document {
	d := &document{out: out}
	if o.Stream {
		// Err's reader is unknown: what goes there is fit for a terminal.
		d.lines = newLineStream(bufio.NewWriter(discardNil(o.Err)), true, false)
	}
	return d
}

// Start opens the object, or the list.
func (d *document) Start(info Info) error {
	if d.list = info.Action == Lookup; d.list {
		return d.write("[")
	}
	return d.write("{ \"items\": [\n")
}

// Event prints a result as soon as there is one.
func (d *document) Event(e run.Event) error {
	if e.Kind == run.Finished {
		defer e.Result.Output.Close()
	}
	if d.lines != nil && e.Kind != run.Started {
		if e.Kind == run.Output {
			d.lines.write(e)
		} else {
			d.lines.end(e.Target)
		}
		if err := d.lines.w.Flush(); err != nil {
			return err
		}
	}
	if e.Kind != run.Finished {
		return nil
	}
	between, after := ",\n", "\n"
	if d.list {
		between, after = ",", ""
	}
	if d.count > 0 {
		_, _ = d.out.WriteString(between)
	}
	d.count++
	if err := e.Result.WriteJSON(d.out); err != nil {
		return err
	}
	return d.write(after)
}

// End closes the list and the object.
func (d *document) End(elapsed time.Duration, outputs ...Output) error {
	if d.list {
		return d.write("]\n")
	}
	fmt.Fprintf(d.out, "],\n\"target_count\": %d, \"elapsed_time\": %d ", d.count, int64(elapsed/time.Second))
	if len(outputs) > 0 {
		_, _ = d.out.WriteString(",\n\"outputs\": ")
		if err := safejson.Write(d.out, outputsData(outputs)); err != nil {
			return err
		}
	}
	return d.write("}\n")
}

// Fatal closes the list and puts the error into the object. A list has no
// place for it: there it is a line of its own.
func (d *document) Fatal(err error) error {
	if d.list {
		_, _ = d.out.WriteString("]\n")
		if err := writeLine(d.out, errorMap(err)); err != nil {
			return err
		}
		return d.out.Flush()
	}
	_, _ = d.out.WriteString("],\n\"_error\": \n")
	if err := writeLine(d.out, errorMap(err)); err != nil {
		return err
	}
	return d.write("}\n")
}

func (d *document) write(s string) error {
	_, _ = d.out.WriteString(s) // Flush returns its error
	return d.out.Flush()
}

// eventLines renders each event as a line of JSON, as docs/ndjson.md says.
type eventLines struct {
	out  *bufio.Writer
	now  func() time.Time
	step int                 // of a plan, which lines are about; 0 for none
	rest map[streamOf][]byte // unfinished UTF-8 sequences
	good int
	bad  int
}

// streamOf names a stream of a target, in a step of a plan.
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

// line begins an event.
func (l *eventLines) line(event string) *ordered.Map {
	m := ordered.Of("event", event, "time", l.now().UTC().Format(time.RFC3339Nano))
	if l.step > 0 {
		m.Set("step", l.step)
	}
	return m
}

func (l *eventLines) print(m *ordered.Map) error {
	if err := writeLine(l.out, m); err != nil {
		return err
	}
	return l.out.Flush()
}

// Start prints "begin".
func (l *eventLines) Start(info Info) error {
	m := l.line("begin")
	m.Set("action", info.Action)
	m.Set("object", info.Object)
	m.Set("target_count", len(info.Targets))
	return l.print(m)
}

// Event prints what happens, and closes outputs.
func (l *eventLines) Event(e run.Event) error {
	if e.Kind == run.Finished {
		defer e.Result.Output.Close()
	}
	return l.event(e)
}

// event prints "start", "output" or "result".
func (l *eventLines) event(e run.Event) error {
	switch e.Kind {
	case run.Started:
		m := l.line("start")
		m.Set("target", e.Target.Name)
		return l.print(m)
	case run.Output:
		return l.output(e.Target, e.Stream, e.Data, false)
	case run.Finished:
		for _, stream := range []capture.Stream{capture.Stdout, capture.Stderr} {
			if err := l.output(e.Target, stream, nil, true); err != nil {
				return err
			}
		}
		return l.result(e.Result)
	}
	return nil
}

// output prints a piece of output, all that is known of it if last. Text is
// printed as text; a sequence cut in two by the arrival waits for its end.
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

// large prints a line whose last member, which may be large, follows in parts.
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

// End prints "end".
func (l *eventLines) End(elapsed time.Duration, outputs ...Output) error {
	m := l.line("end")
	m.Set("ok", l.good)
	m.Set("failed", l.bad)
	m.Set("elapsed", elapsed.Seconds())
	if len(outputs) > 0 {
		m.Set("outputs", outputsData(outputs))
	}
	return l.print(m)
}

// Fatal prints "error".
func (l *eventLines) Fatal(err error) error {
	m := l.line("error")
	m.Set("error", errorMap(err))
	return l.print(m)
}

// writeLine writes v as one line of JSON.
func writeLine(w *bufio.Writer, v any) error {
	if err := safejson.Write(w, v); err != nil {
		return err
	}
	return w.WriteByte('\n')
}
