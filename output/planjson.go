package output

import (
	"bufio"
	"context"
	"strings"

	"bolt/event"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// planDocument prints only the outcome of a plan, as JSON. Messages of the plan
// and streamed output go to another writer.
type planDocument struct {
	out    *bufio.Writer
	beside *bufio.Writer
	o      Options
	lines  stepLines
}

func newPlanJSON(o Options, out *bufio.Writer) *planDocument {
	p := &planDocument{out: out, beside: bufio.NewWriter(discardNil(o.Err)), o: o}
	if o.Stream {
		// The reader of Err is unknown, so its text must be safe for a terminal.
		p.lines = newStepLines(func() *lineStream { return newLineStream(p.beside, true, false) })
	}
	return p
}

// Event prints the result of the plan, and its messages to the other writer. It only
// returns errors of standard output: if the other writer fails, the plan goes on.
func (p *planDocument) Event(_ context.Context, e event.Event) error {
	if hidden(e) {
		return nil
	}
	p.lines.event(e)
	var err error
	switch e := e.(type) {
	case event.Message:
		if !e.Verbose || p.o.Verbose {
			_, _ = p.beside.WriteString(safetext.TerminalString(strings.TrimSuffix(e.Text, "\n")) + "\n")
		}
	case event.Returned:
		if err = writeReturned(p.out, e); err == nil {
			_ = p.out.WriteByte('\n')
		}
	case event.Failed:
		err = layout.WriteLine(p.out, e.Data)
	case event.Stopped:
		err = layout.WriteLine(p.out, stopData(&e))
	}
	if err != nil {
		return err
	}
	_ = p.beside.Flush()
	return p.out.Flush()
}

// writeReturned writes the return value of a plan as JSON on one line, without
// a newline.
func writeReturned(w *bufio.Writer, e event.Returned) error {
	switch {
	case e.Results != nil:
		return writeResults(w, e.Results)
	case e.Result != nil:
		return e.Result.WriteJSON(w)
	case e.Container != nil:
		return safejson.Write(w, e.Container.Map())
	case e.Error != nil:
		return safejson.Write(w, e.Error.Data)
	}
	return safejson.Write(w, e.Value)
}

// writeResults writes results as a list in JSON.
func writeResults(w *bufio.Writer, results []*event.Result) error {
	_ = w.WriteByte('[')
	for i, r := range results {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if err := r.WriteJSON(w); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// stepLines prints the output of the targets of steps in lines, as it arrives. Steps
// that run at the same time may have targets in common, so each step has its own
// lineStream.
type stepLines struct {
	of  map[int]*lineStream // by the number of the step
	new func() *lineStream  // nil: nothing is streamed
}

func newStepLines(open func() *lineStream) stepLines {
	return stepLines{of: make(map[int]*lineStream), new: open}
}

func (l *stepLines) event(e event.Event) {
	s := event.StepOf(e)
	if s == nil || l.new == nil {
		return
	}
	switch e := e.(type) {
	case event.TargetOutput:
		if l.of[s.Number] == nil {
			l.of[s.Number] = l.new()
		}
		l.of[s.Number].write(e)
	case event.TargetEnd:
		if lines := l.of[s.Number]; lines != nil {
			lines.end(e.Result.Target)
		}
	case event.StepEnd:
		delete(l.of, s.Number)
	}
}
