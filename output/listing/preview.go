package listing

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/release"
	"bolt/release/preview"
)

// A Preview is a preview of a release with its limit.
type Preview struct {
	*preview.Preview
	Release *release.Release
	Nodes   int
	// Limited is set if no node can have more than Most changes.
	Limited bool
	Most    int
}

// Beyond returns the nodes with more changes than the limit.
func (p *Preview) Beyond() []string {
	if !p.Limited {
		return nil
	}
	return p.Preview.Beyond(p.Most)
}

// PrintPreview prints the changes of a sorted preview, once for the nodes with the same ones. lines is set if PrintPreviewed and
// PrintUnknown have printed the nodes.
func PrintPreview(w io.Writer, o Options, p *Preview, lines bool) error {
	if o.Format.Data {
		return layout.WriteDocument(w, previewData(p, lines))
	}
	out := bufio.NewWriter(w)
	for _, g := range p.Groups() {
		same, on := "", ""
		if len(g.Nodes) > 1 {
			same, on = "the same ", " on "+layout.Plural(len(g.Nodes), "node")
		}
		fmt.Fprintf(out, "%s %s%s%s\n", layout.Paint(layout.Yellow, o.Color, oneLine(nodeset.Fold(g.Nodes))+":"), same, layout.Plural(len(g.Resources), "change"), on)
		for _, r := range g.Resources {
			printPreviewed(out, o.Color, r)
		}
	}
	if len(p.Unchanged) > 0 {
		fmt.Fprintf(out, "%s no changes\n", layout.Paint(layout.Green, o.Color, oneLine(nodeset.Fold(p.Unchanged))+":"))
	}
	printFailures(out, o.Color, p.Failures)
	if beyond := p.Beyond(); beyond != nil {
		fmt.Fprintf(out, "%s more than %s (--max-changes)\n", layout.Paint(layout.Red, o.Color, oneLine(nodeset.Fold(beyond))+":"), layout.Plural(p.Most, "change"))
	}
	fmt.Fprintf(out, "Release %d (%s) on %s: %d would change, %d would not, %d failed. No node was changed.\n", p.Release.Sequence, release.Short(p.Release.ID),
		layout.Plural(p.Nodes, "node"), p.Changed(), len(p.Unchanged), len(p.Failures))
	return out.Flush()
}

// printPreviewed prints a resource that would change.
func printPreviewed(out *bufio.Writer, color bool, r *preview.Resource) {
	mark, paint := "~", layout.Cyan
	for _, p := range r.Properties {
		switch {
		case p.Name == "ensure" && p.Old == "absent":
			mark, paint = "+", layout.Green
		case p.Name == "ensure" && p.New == "absent":
			mark, paint = "-", layout.Red
		}
	}
	_, _ = out.WriteString(layout.Paint(paint, color, "  "+mark+" "+oneLine(r.Ref)) + "\n")
	for _, p := range r.Properties {
		switch {
		case p.Name == "" || p.Old == "" && p.New == "":
			fmt.Fprintf(out, "      %s\n", oneLine(p.Message))
		case p.Diff != "": // the values are digests
			fmt.Fprintf(out, "      %s:\n", oneLine(p.Name))
		default:
			fmt.Fprintf(out, "      %s: %s -> %s\n", oneLine(p.Name), oneLine(p.Old), oneLine(p.New))
		}
		for line := range strings.Lines(p.Diff) {
			line = safetext.TerminalString(strings.TrimSuffix(line, "\n"))
			paint := ""
			switch {
			case strings.HasPrefix(line, "+"):
				paint = layout.Green
			case strings.HasPrefix(line, "-"):
				paint = layout.Red
			}
			fmt.Fprintf(out, "        %s\n", layout.Paint(paint, color && paint != "", line))
		}
	}
}

// printFailures prints the nodes whose changes are not known, once for the nodes with the same reason.
func printFailures(out *bufio.Writer, color bool, list []preview.Failure) {
	names := make(map[string][]string)
	var order []string
	for _, f := range list {
		text := f.Outcome
		for i, line := range strings.Split(strings.TrimSpace(f.Reason), "\n") {
			if i == 0 {
				text += ": " + safetext.TerminalString(line)
			} else {
				text += "\n  " + safetext.TerminalString(line)
			}
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], f.Node)
	}
	for _, text := range order {
		fmt.Fprintf(out, "%s %s\n", layout.Paint(layout.Red, color, oneLine(nodeset.Fold(names[text]))+":"), text)
	}
}

// previewData returns a preview as data. If the nodes were printed as lines, the data only has
// their numbers.
func previewData(p *Preview, lines bool) *ordered.Map {
	var most any
	if p.Limited {
		most = int64(p.Most)
	}
	counts := ordered.Of("nodes", int64(p.Nodes), "changed", int64(p.Changed()), "unchanged", int64(len(p.Unchanged)), "failed", int64(len(p.Failures)))
	m := ordered.Of("release", string(p.Release.ID), "sequence", int64(p.Release.Sequence), "counts", counts, "max_changes", most, "exceeded", orEmpty(p.Beyond()))
	if lines {
		return m
	}
	groups := []any{}
	for _, g := range p.Groups() {
		changes := make([]any, len(g.Resources))
		for i, r := range g.Resources {
			changes[i] = previewedData(r)
		}
		groups = append(groups, ordered.Of("nodes", g.Nodes, "changes", changes))
	}
	failures := []any{}
	for _, f := range p.Failures {
		failures = append(failures, ordered.Of("node", f.Node, "outcome", f.Outcome, "reason", f.Reason))
	}
	m.Set("groups", groups)
	m.Set("unchanged", orEmpty(p.Unchanged))
	m.Set("failures", failures)
	return m
}

func orEmpty(names []string) []string { return slices.Concat([]string{}, names) }

func previewedData(r *preview.Resource) *ordered.Map {
	properties := make([]any, len(r.Properties))
	for i, p := range r.Properties {
		properties[i] = ordered.Of("property", textOrNull(p.Name), "old", textOrNull(p.Old), "new", textOrNull(p.New), "message", p.Message, "diff", textOrNull(p.Diff))
	}
	return ordered.Of("resource", r.Ref, "properties", properties)
}

// PrintPreviewed prints the changes of one node as a line of JSON.
func PrintPreviewed(w io.Writer, node string, list []preview.Resource) error {
	changes := make([]any, len(list))
	for i := range list {
		changes[i] = previewedData(&list[i])
	}
	return layout.WriteDocument(w, ordered.Of("node", node, "outcome", "done", "changes", changes))
}

// PrintUnknown prints a node whose changes are not known as a line of JSON.
func PrintUnknown(w io.Writer, f preview.Failure) error {
	return layout.WriteDocument(w, ordered.Of("node", f.Node, "outcome", f.Outcome, "reason", f.Reason))
}
