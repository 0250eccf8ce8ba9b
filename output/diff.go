package output

import (
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/safejson"
	"bolt/output/layout"
)

// maxCompared is the size of the largest output that is compared, because the output
// is held in memory. A longer output is printed in full.
const maxCompared = 8 << 20

// differences prints the groups of equal results. For the first group, the reference,
// it prints the targets. For each other group, it prints the difference from the
// reference. The reference is the largest group; among groups of equal size, a group
// that succeeded.
func (h *human) differences() error {
	var ref *group
	for _, g := range h.folder.order {
		if canCompare(g.result) && (ref == nil || len(g.targets) == len(ref.targets) && g.result.OK() && !ref.result.OK()) {
			ref = g
		}
	}
	text := ""
	if ref != nil {
		var err error
		if text, err = h.compared(ref.result); err != nil {
			return err
		}
		// The reference is printed first.
		h.folder.order = slices.Insert(slices.DeleteFunc(h.folder.order, func(g *group) bool { return g == ref }), 0, ref)
	}
	return h.folder.each(func(g *group) error {
		switch {
		case g == ref:
			h.head(g.result, g.name(), g.rename)
			h.indent(h.out, "[reference of the differences below; use --fold to print it]")
			return nil
		case !canCompare(g.result):
			return h.group(g)
		}
		other, err := h.compared(g.result)
		if err != nil {
			return err
		}
		h.head(g.result, g.name(), g.rename)
		h.difference(ref.name(), g.name(), text, other)
		return nil
	})
}

// canCompare reports whether a result has an output, or data, that can be compared
// with that of other targets.
func canCompare(r *event.Result) bool {
	return (r.OK() || r.Err.Command) && r.Output.Len(capture.Stdout)+r.Output.Len(capture.Stderr) <= maxCompared
}

// compared returns the text that is printed below the heading of a result.
func (h *human) compared(r *event.Result) (string, error) {
	var b strings.Builder
	rest := r.Value.Clone()
	if message, ok := rest.Value("_output").(string); ok {
		rest.Delete("_output")
		b.WriteString(withoutName(message, r.Target))
	}
	if r.ShowsOutput() {
		if err := r.Output.WriteMerged(&b); err != nil {
			return "", err
		}
	}
	var data any = rest
	if v, ok := rest.Get("value"); ok && h.lookup {
		data = v
	}
	if text, ok := data.(string); ok {
		b.WriteString(text + "\n")
	} else if h.lookup || rest.Len() > 0 {
		var text strings.Builder
		if err := safejson.WriteIndented(&text, data); err != nil {
			return "", err
		}
		b.WriteString(withoutName(text.String(), r.Target) + "\n")
	}
	return b.String(), nil
}

// difference prints the unified difference (diff -u) between two texts.
func (h *human) difference(fromName, toName, from, to string) {
	// The first three lines have the names, without colours.
	lines := strings.SplitN(string(diff.Diff("from", []byte(from), "to", []byte(to))), "\n", 4)
	if len(lines) < 4 {
		return // the texts are equal
	}
	h.indent(h.out, layout.Paint(layout.Red, h.o.Color, "--- "+fromName)+"\n"+layout.Paint(layout.Green, h.o.Color, "+++ "+toName))
	for line := range strings.SplitSeq(strings.TrimSuffix(lines[3], "\n"), "\n") {
		text := h.plain(line)
		switch line[0] {
		case '-':
			text = layout.Paint(layout.Red, h.o.Color, text)
		case '+':
			text = layout.Paint(layout.Green, h.o.Color, text)
		case '@':
			text = layout.Paint(layout.Cyan, h.o.Color, text)
		}
		h.indent(h.out, text)
	}
}
