package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/internal/columns"
	"bolt/internal/period"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// A Look is the size and the part of a picture.
type Look struct {
	Width, Height int
	Scroll        int  // the first row of the list of nodes
	Failed        bool // only failed nodes
	// Driver is the holder of the lease of the rollout, "" if no process drives it.
	Driver string
	// Next is the command with which the rollout goes on if no process drives it, or if it is paused.
	Next string
	// What names the release, plan or task of the rollout.
	What string
}

// A Frame is a picture of a rollout.
type Frame struct {
	Lines []fullscreen.Line
	// Scroll is that of the Look, or the nearest possible number. Page is the number of visible rows of the list of
	// nodes.
	Scroll, Page int
}

type (
	line = fullscreen.Line
	span = fullscreen.Span
)

// Frame returns the picture at a time. Times of day are in the location of now. No line is wider than the Look, and there are
// never more lines than its height.
func (v *View) Frame(now time.Time, l Look) Frame {
	d := &drawing{View: v, now: now, Look: l}
	lines := d.draw()
	for i := range lines {
		lines[i] = fit(lines[i], l.Width)
	}
	return Frame{Lines: lines[:min(len(lines), max(l.Height, 0))], Scroll: d.Scroll, Page: d.page}
}

func styled(text, style string) span { return span{Text: text, Style: style} }

// fit cuts a line to a width. The end of a line that was cut is an ellipsis.
func fit(l line, width int) line {
	left := width
	for i, s := range l {
		n := columns.Count(s.Text)
		if n > left {
			l[i].Text = columns.Cut(s.Text, left-1) + columns.Cut("…", left)
			return l[:i+1]
		}
		left -= n
	}
	return l
}

type drawing struct {
	*View
	Look
	now  time.Time
	page int
}

// text makes a text of unknown origin safe.
func (d *drawing) text(s string) string { return columns.Row(s, max(d.Width, 1)) }

// A section is a part of the picture with a title. Its rows are a window into a list.
type section struct {
	title string
	rows  int // that the list has
	least int // rows
	most  int // rows, before what is left over is divided
	draw  func(rows int) []line
	got   int // rows
}

func (d *drawing) draw() []line {
	if d.main.state.Created() == nil {
		return []line{{{Text: "The rollout has no events."}}}
	}
	head := d.header()
	if d.Height < 3 {
		return head[1:] // the list of nodes keeps its place
	}
	foot := line{styled(d.keys(), fullscreen.Faint)}
	room := d.Height - 1
	head = head[:max(min(len(head), room-5), min(len(head), room, 2), 0)]
	room -= len(head)
	nodes := d.nodes()
	sections := []*section{d.waves(room), d.gates(room), nodes, d.decisions(room)}
	sections = slices.DeleteFunc(sections, func(s *section) bool { return s.rows == 0 })
	titles := room >= 3*len(sections)+4
	if titles {
		room -= len(sections)
	}
	divide(sections, room)
	lines := head
	for _, s := range sections {
		if s == nodes {
			d.page = s.got
			d.Scroll = max(min(d.Scroll, s.rows-s.got), 0)
			if s.got < s.rows {
				s.title += fmt.Sprintf(" (%d to %d of %d)", d.Scroll+1, d.Scroll+s.got, s.rows)
			}
		}
		if s.got == 0 {
			continue
		}
		if titles {
			lines = append(lines, line{styled(s.title, fullscreen.Bold)})
		}
		lines = append(lines, s.draw(s.got)...)
	}
	for len(lines) < d.Height-1 {
		lines = append(lines, nil)
	}
	return append(lines, foot)
}

// divide gives rows to sections: to each of them its least, then up to its most, then the rest.
func divide(sections []*section, room int) {
	give := func(s *section, upTo int) {
		n := max(min(upTo-s.got, room), 0)
		s.got += n
		room -= n
	}
	for _, s := range sections {
		give(s, min(s.least, s.rows))
	}
	for _, s := range sections {
		give(s, min(s.most, s.rows))
	}
	for _, s := range sections {
		give(s, s.rows)
	}
}

func (d *drawing) keys() string {
	text := "q leave  arrows scroll  f "
	if d.main.state.Ended() {
		text = "The rollout has ended.  " + text
	}
	if d.Failed {
		return text + "all nodes"
	}
	return text + "failed only"
}

// header returns the rollout, its state, its driver and its clocks.
func (d *drawing) header() []line {
	s := d.main.state
	c := s.Created()
	phase, reason := s.Phase()
	title := line{styled("Rollout "+d.text(c.Rollout), fullscreen.Bold), {Text: " of " + d.text(d.What)}}
	lines := []line{title, d.because("", phase, reason)}
	if parts := d.parts(); len(parts) > 1 {
		phase, reason := parts[1].state.Phase()
		lines = append(lines, d.because("rollback: ", phase, reason))
	}
	if s.Ended() {
		return lines
	}
	who, command := d.driver()
	lines = append(lines, line{{Text: who}})
	if command != "" {
		lines = append(lines, line{styled(command, layout.Yellow)})
	}
	if clocks := d.clocks(); clocks != "" {
		lines = append(lines, line{styled(clocks, layout.Cyan)})
	}
	return lines
}

func (d *drawing) because(prefix string, p rollout.Phase, reason string) line {
	l := line{{Text: prefix}, styled(string(p), phaseStyle(p))}
	if reason != "" {
		l = append(l, span{Text: ": " + d.text(reason)})
	}
	return l
}

func phaseStyle(p rollout.Phase) string {
	switch p {
	case rollout.Succeeded:
		return layout.Green
	case rollout.Failed, rollout.Aborted, rollout.RolledBack, rollout.SupersededPhase:
		return layout.Red
	case rollout.PausedPhase, rollout.Aborting, rollout.RollingBack, rollout.AwaitingApproval, rollout.AwaitingWindow:
		return layout.Yellow
	}
	return layout.Cyan
}

// driver returns the process that drives the rollout, and the command with which the rollout goes on; "" if it goes on by
// itself.
func (d *drawing) driver() (who, command string) {
	if d.Driver == "" {
		return "No process drives it. It goes on with:", d.text(d.Next)
	}
	phase, _ := d.main.state.Phase()
	parts := d.parts()
	back, _ := parts[len(parts)-1].state.Phase()
	switch {
	case phase == rollout.AwaitingApproval:
		command = "bolt rollout approve " + d.text(d.main.id)
	case phase == rollout.PausedPhase || back == rollout.PausedPhase:
		command = d.text(d.Next)
	}
	return "Driven by " + d.text(d.Driver), command
}

// clocks lists the approvals that are missing, and the times that run.
func (d *drawing) clocks() string {
	var list []string
	s := d.main.state
	if wave, need, by := s.Approval(d.now); wave > 0 {
		list = append(list, approvals(wave, need, by))
	}
	if n, on := s.Previewed(); on {
		list = append(list, fmt.Sprintf("%d of %d nodes previewed", n, len(s.Created().Nodes)))
	}
	for _, p := range d.parts() {
		if until := p.state.SoakUntil(); !until.IsZero() {
			list = append(list, fmt.Sprintf("soak of wave %d: %s left", p.state.Wave(), d.left(until)))
		}
		if until := p.state.ProgressUntil(); !until.IsZero() && d.Driver != "" {
			list = append(list, fmt.Sprintf("progress deadline: %s left", d.left(until)))
		}
		if n, _, _ := p.state.Failures(); n > 0 {
			list = append(list, layout.Plural(n, "failure"))
		}
	}
	return d.text(strings.Join(list, ", "))
}

func approvals(wave int, need strategy.Approval, by []string) string {
	text := fmt.Sprintf("approvals of wave %d: %d of %d", wave, len(by), need.Need)
	if len(by) > 0 {
		text += " (" + strings.Join(by, ", ") + ")"
	}
	return text
}

// left returns the time until a time. It is rounded up, so that a clock that runs does not show 0s.
func (d *drawing) left(until time.Time) string {
	return period.Text(max(until.Sub(d.now)+time.Second-1, 0).Truncate(time.Second))
}

// waves returns the section of all waves. Its window has the present one.
func (d *drawing) waves(room int) *section {
	var rows []func() line
	focus, size := 0, 8
	for _, p := range d.parts() {
		tallies := p.tallies()
		focus = len(rows) + max(p.state.Wave()-1, 0)
		for w := range tallies {
			name := d.waveName(p, w)
			size = max(size, columns.Count(name))
			rows = append(rows, func() line { return d.wave(p, columns.Pad(name, size), w+1, &tallies[w]) })
		}
	}
	return &section{
		title: "Waves", rows: len(rows), least: 1, most: room / 3,
		draw: func(n int) []line {
			first := max(min(focus-n/3, len(rows)-n), 0)
			lines := make([]line, n)
			for i := range lines {
				lines[i] = rows[first+i]()
			}
			return lines
		},
	}
}

// wideFrom is the width from which waves have a bar.
const wideFrom = 70

// waveName returns the name of a wave, from 0, with its number.
func (d *drawing) waveName(p *part, wave int) string {
	w := p.state.Created().Waves[wave]
	name := fmt.Sprintf("%d %s", wave+1, w.Name)
	if w.Stratum != "" {
		name += ", " + w.Stratum
	}
	if p != d.main {
		name = "rollback " + name
	}
	return columns.Row(name, max(d.Width/3, 8))
}

func (d *drawing) wave(p *part, name string, wave int, t *tally) line {
	state := p.state.WaveState(wave)
	mark, style := "  ", fullscreen.Faint
	if state != "pending" {
		style = ""
	}
	if wave == p.state.Wave() && state != "done" {
		mark, style = "> ", layout.Cyan
	}
	l := line{styled(mark, style), styled(name, style), styled(" "+columns.Pad(state, 8), style)}
	if d.Width >= wideFrom {
		l = append(l, span{Text: "["})
		l = append(l, bar(t, min(d.Width-wideFrom+10, 40))...)
		l = append(l, span{Text: "] "})
	}
	l = append(l, span{Text: fmt.Sprintf("%d/%d", t[done], t.total())})
	for k := failed; int(k) < kinds; k++ {
		if n := t[k]; n > 0 && (d.Width >= wideFrom || k != waiting) {
			l = append(l, span{Text: ", "}, styled(fmt.Sprintf("%d %s", n, k.name()), kindStyle(k)))
		}
	}
	return l
}

func kindStyle(k kind) string {
	return [...]string{layout.Green, layout.Red, layout.Cyan, fullscreen.Faint, layout.Yellow, layout.Yellow, layout.Yellow}[k]
}

// bar draws the parts of a wave. A part that is not empty has at least one column if there is room.
func bar(t *tally, width int) line {
	total := t.total()
	marks := [...]string{"#", "x", ">", ".", "-", "-", "-"}
	var l line
	sum, from := 0, 0
	for _, k := range []kind{done, failed, inWork, skipped, cancelled, rolledBack, waiting} {
		if t[k] == 0 {
			continue
		}
		sum += t[k]
		to := max(sum*width/total, min(from+1, width))
		if sum == total {
			to = width
		}
		l = append(l, styled(strings.Repeat(marks[k], to-from), kindStyle(k)))
		from = to
	}
	return l
}

// gates returns the section of gates. Gates that need attention come first, then gates in work, then successful gates.
func (d *drawing) gates(room int) *section {
	var list []rollout.GateStatus
	for _, p := range d.parts() {
		list = append(list, p.state.Gates()...)
	}
	slices.Reverse(list)
	rank := func(o gate.Outcome) int {
		switch {
		case o == gate.Successful:
			return 2
		case o.Ended():
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b rollout.GateStatus) int { return cmp.Compare(rank(a.Outcome), rank(b.Outcome)) })
	return &section{
		title: "Gates", rows: len(list), least: 1, most: max(room/6, 2),
		draw: func(n int) []line {
			size := 8
			for _, g := range list[:n] {
				size = max(size, columns.Count(d.gateName(g)))
			}
			lines := make([]line, n)
			for i, g := range list[:n] {
				lines[i] = d.gate(g, size)
			}
			return lines
		},
	}
}

func (d *drawing) gateName(g rollout.GateStatus) string {
	name := g.Name
	switch g.Place {
	case gate.Node:
		name += " of " + g.Node
	case gate.Wave:
		name += fmt.Sprintf(" of wave %d", g.Wave)
	default:
		name += ", " + string(g.Place)
	}
	return columns.Row(name, max(d.Width/3, 8))
}

func (d *drawing) gate(g rollout.GateStatus, size int) line {
	style := ""
	switch {
	case g.Outcome == gate.Successful:
		style = layout.Green
	case g.Outcome.Ended():
		style = layout.Red
	}
	t := g.Tally
	parts := []string{fmt.Sprintf("%d ok", t.Successful)}
	for _, c := range []struct {
		n    int
		name string
	}{{t.Failed, "failed"}, {t.Errors, "without a value"}, {t.Inconclusive, "inconclusive"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	if g.Waiting {
		parts = append(parts, "measuring")
	}
	text := strings.Join(parts, ", ")
	if reason := cmp.Or(t.Reason, g.Reason); reason != "" && g.Outcome != gate.Successful {
		text += ": " + d.text(reason)
	}
	return line{{Text: "  " + columns.Pad(d.gateName(g), size) + " "}, styled(columns.Pad(string(g.Outcome), 13), style), {Text: text}}
}

// decisions returns the section of the last decisions, the newest at its end.
func (d *drawing) decisions(room int) *section {
	return &section{
		title: "Last decisions", rows: len(d.notes), least: room / 6, most: max(room/4, 1),
		draw: func(n int) []line {
			lines := make([]line, n)
			for i, m := range d.notes[len(d.notes)-n:] {
				lines[i] = line{styled(m.time.In(d.now.Location()).Format("  15:04:05 "), fullscreen.Faint), styled(d.text(m.text), m.style)}
			}
			return lines
		},
	}
}
