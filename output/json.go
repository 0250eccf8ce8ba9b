package output

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"bolt/event"
	"bolt/format/safejson"
	"bolt/output/layout"
)

// document renders Puppet Bolt's JSON: one object over many lines, printed as
// results come; the line breaks are part of the format. For a lookup it is a list
// on one line.
type document struct {
	out   *bufio.Writer
	list  bool
	lines *lineStream // with Stream, on Err
	count int         // results so far
}

func newJSON(o Options, out *bufio.Writer) *document {
	d := &document{out: out}
	if o.Stream {
		// The reader of Err is unknown, so its text must be safe for a terminal.
		d.lines = newLineStream(bufio.NewWriter(discardNil(o.Err)), true, false)
	}
	return d
}

// Event opens the document, prints a result as soon as there is one, and closes the
// document.
func (d *document) Event(_ context.Context, e event.Event) error {
	switch e := e.(type) {
	case event.ActionBegin:
		if d.list = e.Action == event.Lookup || e.Action == event.Apply; d.list {
			return d.write("[")
		}
		return d.write("{ \"items\": [\n")
	case event.TargetOutput:
		if d.lines != nil {
			d.lines.write(e)
			return d.lines.w.Flush()
		}
	case event.TargetEnd:
		if d.lines != nil {
			d.lines.end(e.Result.Target)
			if err := d.lines.w.Flush(); err != nil {
				return err
			}
		}
		return d.result(e.Result)
	case event.ActionEnd:
		return d.end(e)
	case event.Failed:
		return d.failed(e)
	}
	return nil
}

func (d *document) result(r *event.Result) error {
	between, after := ",\n", "\n"
	if d.list {
		between, after = ",", ""
	}
	if d.count > 0 {
		_, _ = d.out.WriteString(between)
	}
	d.count++
	if err := r.WriteJSON(d.out); err != nil {
		return err
	}
	return d.write(after)
}

// end closes the list and the object.
func (d *document) end(e event.ActionEnd) error {
	if d.list {
		return d.write("]\n")
	}
	fmt.Fprintf(d.out, "],\n\"target_count\": %d, \"elapsed_time\": %d ", d.count, int64(e.Elapsed/time.Second))
	if len(e.Outputs) > 0 {
		_, _ = d.out.WriteString(",\n\"outputs\": ")
		if err := safejson.Write(d.out, outputsData(e.Outputs)); err != nil {
			return err
		}
	}
	return d.write("}\n")
}

// failed closes the list and adds the error to the object. A list cannot contain
// the error, so there it is a separate line.
func (d *document) failed(e event.Failed) error {
	open, last := "],\n\"_error\": \n", "}\n"
	if d.list {
		open, last = "]\n", ""
	}
	_, _ = d.out.WriteString(open)
	if err := layout.WriteLine(d.out, e.Data); err != nil {
		return err
	}
	return d.write(last)
}

func (d *document) write(s string) error {
	_, _ = d.out.WriteString(s) // Flush returns its error
	return d.out.Flush()
}
