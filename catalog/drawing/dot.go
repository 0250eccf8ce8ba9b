package drawing

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/internal/graphviz"
	"bolt/internal/safetext"
)

// WriteDot writes the drawing in the language of Graphviz. Frames are clusters; an arrow
// from or to a frame begins or ends at its edge. The error is w's.
//
// Source: https://graphviz.org/doc/info/attrs.html
func (d *Drawing) WriteDot(w io.Writer) error {
	out := &dot{bufio.NewWriter(w), d.marks}
	out.printf(0, "digraph %s {", graphviz.Quoted(oneLine(d.name)))
	out.printf(1, `graph [compound=true, rankdir=TB, fontname="Helvetica", fontsize=11, style=rounded, color="#7f8c8d", nodesep=0.3, ranksep=0.4]`)
	out.printf(1, `node [shape=box, style="rounded,filled", fillcolor="#ebf5fb", color="#2e86c1", fontname="Helvetica", fontsize=11, margin="0.15,0.08"]`)
	out.printf(1, `edge [color="#34495e", arrowsize=0.7]`)
	for _, it := range d.roots {
		out.item(1, it)
	}
	for _, r := range d.relations {
		out.relation(r)
	}
	out.printf(0, "}")
	return out.Flush()
}

// A dot writes a drawing. A resource is the node n1, n2 …; a container is the cluster
// cluster_1, and if arrows lead to or from it, the point p1 is in it.
type dot struct {
	*bufio.Writer
	marks map[catalog.Ref]Mark
}

// maxIndent limits the indentation of nested frames.
const maxIndent = 20

func (d *dot) printf(level int, format string, args ...any) {
	fmt.Fprintf(d, strings.Repeat("  ", min(level, maxIndent))+format+"\n", args...)
}

// maxLabel is the number of characters of a title in a node; the tooltip has all of them.
const maxLabel = 60

func (d *dot) item(level int, it *item) {
	name := oneLine(it.String())
	note := name
	if it.File != "" {
		note += fmt.Sprintf("\n%s:%d", oneLine(it.File), it.Line)
	}
	mark, marked := d.marks[it.Ref]
	if mark.Note != "" {
		note += "\n" + oneLine(mark.Note)
	}
	label, tooltip := graphviz.Quoted(graphviz.Shortened(name, maxLabel)), graphviz.Quoted(note)
	if !it.Container() {
		look := ""
		if marked {
			look = fmt.Sprintf(", fillcolor=%s, color=%s", graphviz.Quoted(mark.Fill), graphviz.Quoted(mark.Line))
		}
		d.printf(level, "n%d [label=%s, tooltip=%s%s]", it.number, label, tooltip, look)
		return
	}
	d.printf(level, "subgraph cluster_%d {", it.number)
	d.printf(level+1, "graph [label=%s, labeljust=l, tooltip=%s]", label, tooltip)
	if it.named {
		d.printf(level+1, `p%d [shape=point, style=invis, label="", width=0.01]`, it.number)
	}
	for _, inner := range it.inside {
		d.item(level+1, inner)
	}
	d.printf(level, "}")
}

func (d *dot) relation(r relation) {
	var attrs []string
	tail, head := fmt.Sprintf("n%d", r.before.number), fmt.Sprintf("n%d", r.after.number)
	if r.before.Container() {
		tail = fmt.Sprintf("p%d", r.before.number)
		attrs = append(attrs, fmt.Sprintf("ltail=cluster_%d", r.before.number))
	}
	if r.after.Container() {
		head = fmt.Sprintf("p%d", r.after.number)
		attrs = append(attrs, fmt.Sprintf("lhead=cluster_%d", r.after.number))
	}
	switch r.kind {
	case order.Notify:
		attrs = append(attrs, "style=bold")
	case order.Auto:
		attrs = append(attrs, "style=dashed")
	}
	text := tail + " -> " + head
	if attrs != nil {
		text += " [" + strings.Join(attrs, ", ") + "]"
	}
	d.printf(1, "%s", text)
}

// oneLine returns a text of a catalog on one line, without control characters.
func oneLine(text string) string {
	return safetext.TerminalString(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text))
}
