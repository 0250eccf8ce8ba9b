package graph

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"bolt/internal/graphviz"
)

// maxDotLine is the maximum length of a line in a node, in characters. The node's
// tooltip has the whole line.
const maxDotLine = 60

// WriteDot writes the graph in the language of Graphviz. Frames are clusters, and
// the arrows to the next node begin at the cluster's edge. The error is w's.
//
// Source: https://graphviz.org/doc/info/lang.html, and its pages about
// attributes.
func (g *Graph) WriteDot(w io.Writer) error {
	d := &dot{ids: map[*Node]string{}}
	d.printf(0, "digraph %s {", graphviz.Quoted(g.Plan))
	d.printf(1, `graph [compound=true, fontname="Helvetica", fontsize=11, style=rounded, nodesep=0.4, ranksep=0.4, tooltip=%s]`, graphviz.Quoted(g.Plan))
	d.printf(1, `node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, margin="0.15,0.08"]`)
	d.printf(1, `edge [fontname="Helvetica", fontsize=10, color=%q, arrowsize=0.7]`, arrows)
	d.sequence(1, g.Body, nil)
	for _, e := range d.edges {
		d.printf(1, "%s", e)
	}
	d.printf(0, "}")
	_, err := w.Write(d.buf.Bytes())
	return err
}

// dot writes a graph. Nodes are named n1, n2 …; the end of a frame n1 is xn1. If
// a frame n1 runs concurrently, it begins at the point fn1.
type dot struct {
	buf   bytes.Buffer
	ids   map[*Node]string
	last  string // the node that was written last
	edges []string
}

// An exit is the beginning of the arrow to the next node.
type exit struct {
	from, label string
	tail, head  string // clusters at whose edges the arrow begins and ends, or ""
	style       string
}

func (d *dot) printf(level int, format string, args ...any) {
	d.buf.WriteString(strings.Repeat("  ", level))
	fmt.Fprintf(&d.buf, format+"\n", args...)
}

// sequence writes consecutive nodes and returns the exits of the last one.
func (d *dot) sequence(level int, list []*Node, from []exit) []exit {
	for _, n := range list {
		id := d.id(n)
		switch {
		case n.Kind == Aside:
			fork := "f" + id
			d.point(level, fork, fmt.Sprintf("color=%q", arrows))
			d.connect(from, fork)
			d.frame(level, id, n, []exit{{from: fork, style: "style=dashed"}})
			from = []exit{{from: fork}}
		case n.frame():
			from = d.frame(level, id, n, from)
		default:
			from = d.leaf(level, id, n, from)
		}
	}
	return from
}

func (d *dot) point(level int, id, style string) {
	d.printf(level, `%s [shape=point, label="", width=0.06, %s]`, id, style)
	d.last = id
}

// leaf writes a node that is not a frame, and the branches of a decision.
func (d *dot) leaf(level int, id string, n *Node, from []exit) []exit {
	d.printf(level, "%s [label=%s, tooltip=%s, %s]", id, d.label(n), graphviz.Quoted(n.note()), dotLooks(n.Kind))
	d.last = id
	d.connect(from, id)
	for _, waited := range n.Waits {
		end := d.ids[waited]
		d.connect([]exit{{from: "x" + end, tail: "cluster_" + end, style: "style=dashed"}}, id)
	}
	switch {
	case n.Kind == Decision:
		var out []exit
		for _, b := range n.Branches {
			out = append(out, d.sequence(level, b.Body, []exit{{from: id, label: b.Label}})...)
		}
		return out
	case n.ends:
		return nil
	}
	return []exit{{from: id}}
}

// frame writes a cluster. Its end is a point below its nodes, where the arrows
// that leave it begin.
func (d *dot) frame(level int, id string, n *Node, from []exit) []exit {
	cluster := "cluster_" + id
	d.printf(level, "subgraph %s {", cluster)
	d.printf(level+1, "graph [label=%s, labeljust=l, tooltip=%s, %s]", d.label(n), graphviz.Quoted(n.note()), clusterLooks(n.Kind))
	into := make([]exit, len(from))
	for i, e := range from {
		into[i] = e
		if e.head == "" {
			into[i].head = cluster
		}
	}
	out := d.sequence(level+1, n.Body, into)
	look := fmt.Sprintf("color=%q", looks(n.Kind).stroke)
	if out == nil {
		look = "style=invis"
		out = []exit{{from: d.last, style: look}}
	}
	d.point(level+1, "x"+id, look)
	d.connect(out, "x"+id)
	d.printf(level, "}")
	if n.ends {
		return nil
	}
	return []exit{{from: "x" + id, tail: cluster}}
}

// connect writes the arrows that lead to a node.
func (d *dot) connect(from []exit, to string) {
	for _, e := range from {
		var attrs []string
		if e.label != "" {
			attrs = append(attrs, "label="+graphviz.Quoted(" "+graphviz.Shortened(e.label, maxDotLine/2)+" "))
		}
		if e.tail != "" {
			attrs = append(attrs, "ltail="+e.tail)
		}
		if e.head != "" {
			attrs = append(attrs, "lhead="+e.head)
		}
		if e.style != "" {
			attrs = append(attrs, e.style)
		}
		text := e.from + " -> " + to
		if attrs != nil {
			text += " [" + strings.Join(attrs, ", ") + "]"
		}
		d.edges = append(d.edges, text)
	}
}

func (d *dot) id(n *Node) string {
	d.ids[n] = fmt.Sprintf("n%d", len(d.ids)+1)
	return d.ids[n]
}

func (d *dot) label(n *Node) string {
	var text []string
	for _, l := range n.lines() {
		text = append(text, graphviz.InQuotes(graphviz.Shortened(l.text, maxDotLine)))
	}
	if len(text) == 1 {
		return `"` + text[0] + `"`
	}
	return `"` + strings.Join(text, `\l`) + `\l"` // lines that begin at the left
}

// dotLooks returns the attributes of a node.
func dotLooks(k Kind) string {
	l := looks(k)
	text := fmt.Sprintf("fillcolor=%q, color=%q", l.fill, l.stroke)
	switch k {
	case Start:
		return text + ", shape=oval, fontcolor=white"
	case Decision:
		return text + ", shape=hexagon, style=filled"
	case Return, End, Fail, Jump:
		return text + ", shape=oval"
	}
	return text
}

// clusterLooks returns the attributes of a frame.
func clusterLooks(k Kind) string {
	text := fmt.Sprintf("color=%q", looks(k).stroke)
	switch k {
	case Parallel:
		return text + ", peripheries=2"
	case Aside:
		return text + `, style="rounded,dashed"`
	}
	return text
}
