package output

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output/layout"
)

// human renders text for people. Write errors stay in out, a bufio.Writer, until the
// next Flush returns them.
type human struct {
	o       Options
	out     *bufio.Writer
	rainbow *rainbow // nil for the plain colours
	lookup  bool
	targets []*inventory.Target
	ended   map[*inventory.Target]event.Ending
	reasons []string // the reasons why targets were skipped, each once
	hinted  map[string]bool
	lines   *lineStream // with Stream
	folder  *folder     // with Fold
	applies *together   // for a catalog on several targets
}

// endingOf returns the ending of a target. A target that was ended by force has
// failed.
func endingOf(r *event.Result) event.Ending {
	if how := r.Ending(); how != event.EndCut {
		return how
	}
	return event.EndFailed
}

func newHuman(o Options, out *bufio.Writer) *human {
	h := &human{o: o, out: out, ended: make(map[*inventory.Target]event.Ending), hinted: make(map[string]bool)}
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

// Event prints a line for the begin of a target, and a block for a result.
func (h *human) Event(_ context.Context, e event.Event) error {
	var err error
	switch e := e.(type) {
	case event.ActionBegin: // people see each target begin
		h.targets, h.lookup = e.Targets, e.Action == event.Lookup
		if e.Action == event.Apply && len(e.Targets) > 1 {
			h.applies = newTogether()
		}
	case event.TargetBegin:
		if h.o.Verbose && !h.o.Fold {
			h.println(h.good("Started on " + e.Target.SafeName() + "..."))
		}
	case event.TargetOutput:
		if h.lines != nil {
			h.lines.write(e)
		}
	case event.TargetResource:
		switch {
		case !e.Resource.At.IsZero():
			h.putRight(e)
		case h.lines != nil && e.Resource.Status != "skipped":
			text := strings.Join(h.resourceLines(e.Resource), "\n") + "\n"
			h.lines.write(event.TargetOutput{Target: e.Target, Data: []byte(text)})
		}
	case event.TargetEnd:
		if h.lines != nil {
			h.lines.end(e.Result.Target)
		}
		err = h.finished(e.Result)
	case event.ActionEnd:
		err = h.end(e)
	case event.Failed:
		if err = h.rest(); err == nil {
			h.failed(e)
		}
	}
	if err != nil {
		return err
	}
	return h.out.Flush()
}

// finished prints a result, or stores it for the end.
func (h *human) finished(r *event.Result) error {
	how := endingOf(r)
	h.ended[r.Target] = how
	if how == event.EndNotBegun { // the summary names them together
		if !slices.Contains(h.reasons, r.Err.Msg) {
			h.reasons = append(h.reasons, r.Err.Msg)
		}
		return nil
	}
	switch {
	case r.Applied != nil && h.applies != nil:
		h.applies.add(r)
		return nil
	case r.Applied != nil:
		h.applied(r, r.Target.SafeName())
		return nil
	case !h.o.Verbose && !h.lookup && how != event.EndFailed:
		return nil
	}
	if h.folder != nil {
		return h.folder.add(r)
	}
	return h.block(r, r.Target.SafeName(), same)
}

// end prints the folded results and the summary.
func (h *human) end(e event.ActionEnd) error {
	if err := h.rest(); err != nil {
		return err
	}
	h.outputs(e.Outputs)
	good, bad, left := h.names(event.EndOK), h.names(event.EndFailed), h.names(event.EndNotBegun)
	if len(good) > 0 {
		h.println(h.total("Successful on " + layout.Plural(len(good), "target") + ": " + h.join(good)))
	}
	if len(bad) > 0 {
		h.println(layout.Paint(layout.Red, h.o.Color, "Failed on "+layout.Plural(len(bad), "target")+": "+h.join(bad)))
	}
	if len(left) > 0 {
		h.println(layout.Paint(layout.Yellow, h.o.Color, "Not run on "+layout.Plural(len(left), "target")+": "+h.join(left)))
		for _, why := range h.reasons {
			h.println(layout.Paint(layout.Yellow, h.o.Color, "  "+why))
		}
	}
	total := "Ran on " + layout.Plural(len(good)+len(bad), "target")
	if !h.lookup {
		total += " in " + layout.Duration(e.Elapsed)
	}
	h.println(h.total(total))
	return nil
}

// rest prints the results that were stored for the end.
func (h *human) rest() error {
	if h.applies != nil {
		h.applies.print(h)
		h.applies = nil
	}
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

// head prints the heading of a result, and the reason of a failure with its hint.
func (h *human) head(r *event.Result, name string, rename func(string) string) {
	if r.OK() {
		h.println(h.good("Finished on " + name + ":"))
		return
	}
	h.println(layout.Paint(layout.Red, h.o.Color, "Failed on "+name+":"))
	// The colour goes around the lines with their indentation.
	var msg strings.Builder
	h.indent(&msg, safetext.TerminalString(rename(r.Err.Msg)))
	h.println(layout.Paint(layout.Red, h.o.Color, strings.TrimSuffix(msg.String(), "\n")))
	h.hint("  ", rename(r.Err.Hint))
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
		in := layout.NewIndenter(h.out)
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

// value prints a value that was looked up: text as it is, all else as JSON.
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
	in := layout.NewIndenter(w)
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

// good colours bolt's own lines about success.
func (h *human) good(s string) string {
	if h.rainbow != nil {
		return h.rainbow.text(s)
	}
	return layout.Paint(layout.Green, h.o.Color, s)
}

// total colours bolt's own lines about the whole action; only a rainbow does that.
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

// names returns the targets that ended in one way, in the order of ActionBegin.
func (h *human) names(how event.Ending) []string {
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
