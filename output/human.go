package output

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/run"
)

// human renders for people. Errors of writing stay in out, a bufio.Writer,
// until the next Flush returns them.
type human struct {
	o       Options
	out     *bufio.Writer
	rainbow *rainbow // nil for the plain colours
	lookup  bool
	targets []*inventory.Target
	ended   map[*inventory.Target]ending
	reasons []string    // why targets were skipped, each once
	lines   *lineStream // with Stream
	folder  *folder     // with Fold
}

// ending is how a target finished.
type ending uint8

const (
	succeeded ending = iota + 1
	failed
	skipped // stopped before its turn came
)

func endingOf(r *event.Result) ending {
	switch {
	case r.OK():
		return succeeded
	case r.Err.Class == event.ClassSkipped:
		return skipped
	}
	return failed
}

func newHuman(o Options, out *bufio.Writer) *human {
	h := &human{o: o, out: out, ended: make(map[*inventory.Target]ending)}
	if o.Format == Rainbow && o.Color {
		h.rainbow = &rainbow{}
	}
	if o.Stream {
		h.lines = newLineStream(out, o.Terminal, o.Color)
	}
	if o.Fold {
		h.folder = newFolder()
	}
	return h
}

// Start prints nothing: people see each target begin.
func (h *human) Start(info Info) error {
	h.targets, h.lookup = info.Targets, info.Action == Lookup
	return h.out.Flush()
}

// Event prints a line for a beginning, a block for a result.
func (h *human) Event(e run.Event) error {
	switch e.Kind {
	case run.Started:
		if h.o.Verbose && !h.o.Fold {
			h.println(h.good("Started on " + e.Target.SafeName() + "..."))
		}
	case run.Output:
		if h.lines != nil {
			h.lines.write(e)
		}
	case run.Finished:
		if h.lines != nil {
			h.lines.end(e.Target)
		}
		if err := h.finished(e.Result); err != nil {
			return err
		}
	}
	return h.out.Flush()
}

// finished takes a result and its output over.
func (h *human) finished(r *event.Result) error {
	how := endingOf(r)
	h.ended[r.Target] = how
	if how == skipped { // the summary names them together
		if !slices.Contains(h.reasons, r.Err.Msg) {
			h.reasons = append(h.reasons, r.Err.Msg)
		}
		return r.Output.Close()
	}
	if !h.o.Verbose && !h.lookup && how != failed {
		return r.Output.Close()
	}
	if h.folder != nil {
		return h.folder.add(r)
	}
	defer r.Output.Close()
	return h.block(r, r.Target.SafeName(), func(s string) string { return s })
}

// End prints the folded results and the summary.
func (h *human) End(elapsed time.Duration, outputs ...Output) error {
	if err := h.rest(); err != nil {
		return err
	}
	h.outputs(outputs)
	good, bad, left := h.names(succeeded), h.names(failed), h.names(skipped)
	if len(good) > 0 {
		h.println(h.total("Successful on " + plural(len(good), "target") + ": " + h.join(good)))
	}
	if len(bad) > 0 {
		h.println(paint(red, h.o.Color, "Failed on "+plural(len(bad), "target")+": "+h.join(bad)))
	}
	if len(left) > 0 {
		h.println(paint(yellow, h.o.Color, "Not run on "+plural(len(left), "target")+": "+h.join(left)))
		for _, why := range h.reasons {
			h.println(paint(yellow, h.o.Color, "  "+why))
		}
	}
	total := "Ran on " + plural(len(good)+len(bad), "target")
	if !h.lookup {
		total += " in " + durationText(elapsed)
	}
	h.println(h.total(total))
	return h.out.Flush()
}

// Fatal prints what is known so far, then the error.
func (h *human) Fatal(err error) error {
	if rerr := h.rest(); rerr != nil {
		return rerr
	}
	h.println(paint(red, h.o.Color, safetext.TerminalString(err.Error())))
	return h.out.Flush()
}

// rest prints what waited for the end.
func (h *human) rest() error {
	if h.folder == nil {
		return nil
	}
	h.folder.sort(h.targets)
	if h.o.Diff {
		return h.differences()
	}
	return h.folder.each(h.group)
}

// group prints a group of equal results.
func (h *human) group(g *group) error { return h.block(g.result, g.name(), g.rename) }

// head prints the heading of a result, and why it failed.
func (h *human) head(r *event.Result, name string, rename func(string) string) {
	if r.OK() {
		h.println(h.good("Finished on " + name + ":"))
		return
	}
	h.println(paint(red, h.o.Color, "Failed on "+name+":"))
	// The colour goes around the lines with their indentation.
	var msg strings.Builder
	h.indent(&msg, safetext.TerminalString(rename(r.Err.Msg)))
	h.println(paint(red, h.o.Color, strings.TrimSuffix(msg.String(), "\n")))
}

// block prints a result under its heading. It applies rename to strings of the
// result that can contain the target's name.
func (h *human) block(r *event.Result, name string, rename func(string) string) error {
	h.head(r, name, rename)
	message, hasMessage := r.Value.Value("_output").(string)
	rest := r.Value.Clone()
	if hasMessage {
		rest.Delete("_output")
	}
	shows := r.ShowsOutput()
	if r.OK() && !shows && rest.Len() == 0 && strings.TrimSpace(message) == "" {
		h.println("  " + strings.ToUpper(r.Action[:1]) + r.Action[1:] + " completed successfully with no result")
		return nil
	}
	if hasMessage && strings.TrimSpace(message) != "" {
		h.indent(h.out, h.plain(rename(message)))
	}
	if shows && !r.Output.IsBlank() {
		in := &indenter{w: h.out}
		f := farSide(in, h.o.Terminal, h.o.Color)
		if err := r.Output.WriteMerged(f); err != nil {
			return err
		}
		_ = f.Flush()
		_ = in.Flush()
	}
	switch {
	case h.lookup && r.OK():
		if v, ok := rest.Get("value"); ok {
			return h.value(v)
		}
		return nil
	case rest.Len() > 0:
		return h.data(rest, rename)
	}
	return nil
}

// value prints what was looked up: text as it is, all else as JSON.
func (h *human) value(v any) error {
	if s, ok := v.(string); ok {
		if s == "" {
			h.println("  ")
		}
		h.indent(h.out, h.plain(s))
		return nil
	}
	var b strings.Builder
	if err := safejson.WriteIndented(&b, v); err != nil {
		return err
	}
	h.indent(h.out, h.plain(b.String()))
	return nil
}

// data prints a map as indented JSON.
func (h *human) data(m *ordered.Map, rename func(string) string) error {
	var b strings.Builder
	if err := safejson.WriteIndented(&b, m); err != nil {
		return err
	}
	h.indent(h.out, h.plain(rename(b.String())))
	return nil
}

func (h *human) indent(w io.Writer, s string) {
	in := &indenter{w: w}
	_, _ = io.WriteString(in, s)
	_ = in.Flush()
}

// plain removes control sequences from a short string of a target if the output is a
// terminal. Error messages, names and strings inside bolt's own sentences go through
// safetext.TerminalString, also if the output is not a terminal.
func (h *human) plain(s string) string {
	if h.o.Terminal {
		return safetext.TerminalString(s)
	}
	return safetext.String(s)
}

// good colours our lines about what goes well.
func (h *human) good(s string) string {
	if h.rainbow != nil {
		return h.rainbow.text(s)
	}
	return paint(green, h.o.Color, s)
}

// total colours our lines about the whole, which only a rainbow does.
func (h *human) total(s string) string {
	if h.rainbow != nil {
		return h.rainbow.text(s)
	}
	return s
}

func (h *human) println(s string) {
	_, _ = h.out.WriteString(s)
	_ = h.out.WriteByte('\n')
}

// names are those of the targets that ended in one way, in the order of Info.
func (h *human) names(how ending) []string {
	return safeNames(slices.DeleteFunc(slices.Clone(h.targets), func(t *inventory.Target) bool { return h.ended[t] != how }))
}

func safeNames(targets []*inventory.Target) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.SafeName()
	}
	return names
}

func (h *human) join(names []string) string {
	if h.o.Fold {
		return nodeset.Fold(names)
	}
	return strings.Join(names, ",")
}
