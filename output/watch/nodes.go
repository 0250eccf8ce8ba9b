package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"bolt/internal/columns"
	"bolt/internal/period"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/rollout"
)

// A row is a row of the list of nodes: a node, or if of is nil, the number of failed nodes that are left out.
type row struct {
	of   *part
	node int   // index
	work *work // nil if the node is not in work
}

// nodes returns the section of nodes: failed ones, the newest first, then those in work, the oldest first, then the others. So
// that many failures do not hide the nodes in work, only some of them are in the list, unless a person wants only them.
func (d *drawing) nodes() *section {
	var broken, busy []row
	for _, p := range d.parts() {
		for _, i := range slices.Backward(p.failed) {
			if kindOf(p.state.Look(i)) == failed {
				broken = append(broken, row{of: p, node: i})
			}
		}
		first := len(busy)
		for i, w := range p.work {
			if p.state.Look(i).InWork {
				busy = append(busy, row{of: p, node: i, work: w})
			}
		}
		slices.SortFunc(busy[first:], func(a, b row) int {
			return cmp.Or(a.work.since.Compare(b.work.since), cmp.Compare(a.node, b.node))
		})
	}
	title := fmt.Sprintf("Nodes: %d failed, %d in work", len(broken), len(busy))
	list, rest := broken, 0
	if d.Failed {
		title = "Failed nodes"
		if len(list) == 0 {
			return &section{title: title, rows: 1, least: 1, draw: func(int) []line { return []line{{{Text: "  No node has failed."}}} }}
		}
	} else {
		if most := max(d.Height/4, 2); len(list) > most && len(busy) > 0 {
			list = append(slices.Clone(list[:most-1]), row{node: len(list) - most + 1})
		}
		list = append(list, busy...)
		for _, t := range d.main.tallies() {
			rest += t.total() - t[failed] - t[inWork]
		}
	}
	s := &section{title: title, rows: len(list) + rest, least: 3, most: min(len(list)+3, d.Height)}
	s.draw = func(n int) []line {
		shown := slices.Clone(list[min(d.Scroll, len(list)):min(d.Scroll+n, len(list))])
		shown = append(shown, d.others(max(d.Scroll-len(list), 0), n-len(shown))...)
		size := 8
		for _, r := range shown {
			if r.of != nil {
				size = max(size, columns.Count(d.name(r)))
			}
		}
		lines := make([]line, n)
		for i, r := range shown {
			if r.of == nil {
				lines[i] = line{styled(fmt.Sprintf("  %d more failed nodes: press f", r.node), layout.Red)}
				continue
			}
			lines[i] = d.node(r, size)
		}
		return lines
	}
	return s
}

// others returns a part of the nodes that have neither failed nor are in work. Those that wait are the first.
func (d *drawing) others(skip, count int) (rows []row) {
	for _, k := range []kind{waiting, done, skipped, cancelled, rolledBack} {
		for n := range d.main.state.Each() {
			switch {
			case len(rows) == count:
				return rows
			case kindOf(n) != k:
			case skip > 0:
				skip--
			default:
				rows = append(rows, row{of: d.main, node: n.Index})
			}
		}
	}
	return rows
}

// name returns the name of a node, cut to its part of the width.
func (d *drawing) name(r row) string {
	name := r.of.state.Created().Nodes[r.node].Name
	return columns.Row(name, max(d.Width*2/5, 8))
}

func (d *drawing) node(r row, size int) line {
	n := r.of.state.Look(r.node)
	k := kindOf(n)
	style, text := "", ""
	switch k {
	case failed:
		style, text = layout.Red, d.text(n.Reason)
		if n.Attempts > 1 {
			text += fmt.Sprintf(" (%d attempts)", n.Attempts)
		}
	case inWork:
		style, text = layout.Cyan, d.busy(r, n)
	case waiting:
		style, text = fullscreen.Faint, fmt.Sprintf("wave %d", n.Wave)
	case done:
		style = layout.Green
	default:
		style, text = layout.Yellow, d.text(n.Reason)
	}
	if r.of != d.main {
		text = "rollback, " + text
	}
	return line{{Text: "  " + columns.Pad(d.name(r), size) + " "}, styled(columns.Pad(string(n.State), 11), style), {Text: " " + text}}
}

// busy describes a node in work: how long, and what it waits for.
func (d *drawing) busy(r row, n rollout.NodeLook) string {
	w := r.work
	text := period.Text(d.now.Sub(w.since).Truncate(time.Second))
	if w.limit > 0 {
		text += " of " + period.Text(w.limit)
	}
	switch {
	case n.State == rollout.NodePending && !w.until.IsZero():
		text = fmt.Sprintf("attempt %d in %s", n.Attempts+1, d.left(w.until))
		if n.Reason != "" {
			text += ": " + d.text(n.Reason)
		}
		return text
	case n.State == rollout.NodeSoakingNow && !w.until.IsZero():
		return fmt.Sprintf("healthy time: %s left", d.left(w.until))
	}
	if n.Attempts > 1 {
		text += fmt.Sprintf(", attempt %d", n.Attempts)
	}
	return text
}
