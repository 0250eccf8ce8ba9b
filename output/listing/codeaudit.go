package listing

import (
	"bufio"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bolt/catalog/audit"
	"bolt/format/ordered"
	"bolt/output/layout"
)

// maxPlaces is the number of places that are printed for each reason.
const maxPlaces = 3

// PrintCodeAudit prints the report of an audit of Puppet code. Paths below dir are relative to it. Text has a few
// places of each reason; if full is set, it has all of them, and all nodes and classes.
func PrintCodeAudit(w *bufio.Writer, o Options, r *audit.Report, dir string, full bool) error {
	if o.Format.Data {
		if err := layout.WriteDocument(w, auditData(r, dir)); err != nil {
			return err
		}
		return w.Flush()
	}
	p := auditPrinter{w, o, r, dir}
	p.summary()
	p.reasons(full)
	p.units(full)
	if full {
		p.uses()
	}
	p.remarks()
	return w.Flush()
}

// An auditPrinter prints a report as text.
type auditPrinter struct {
	*bufio.Writer
	o   Options
	r   *audit.Report
	dir string
}

// below returns a path relative to a directory, if it is below that directory.
func below(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (p *auditPrinter) place(at audit.Place) string {
	at.File = below(p.dir, at.File)
	return oneLine(at.String())
}

// needTitles are the headings of needs, and their adjectives in lists.
var needTitles = map[audit.Need]string{
	audit.Nothing: "supported", audit.Modules: "needs modules", audit.Facts: "needs facts", audit.Engine: "--engine puppet",
	audit.Compiler: "--compiler puppet", audit.Impossible: "cannot work",
}

// unitTitles are the names of kinds of units.
var unitTitles = map[audit.UnitKind]string{
	audit.UnitNode: "nodes", audit.UnitDefinition: "node definitions", audit.UnitClass: "classes", audit.UnitDefine: "defined types",
	audit.UnitApply: "apply blocks", audit.UnitFile: "other files",
}

// summary prints a table: the number of units of each kind by their needs.
func (p *auditPrinter) summary() {
	heading(p.Writer, p.o.Color, "Summary")
	header := []string{"", "total"}
	for _, n := range audit.Needs() {
		header = append(header, needTitles[n])
	}
	rows := [][]string{header}
	for _, kind := range audit.UnitKinds() {
		total, by := p.r.Counts(kind)
		if total == 0 {
			continue
		}
		row := []string{unitTitles[kind], fmt.Sprint(total)}
		for _, n := range audit.Needs() {
			row = append(row, fmt.Sprint(by[n]))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		fmt.Fprintln(p, "  There are no nodes, classes, defined types or apply blocks")
		return
	}
	for _, row := range rows {
		fmt.Fprintf(p, "  %-16s", row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(p, "  %*s", len(header[i+1]), cell)
		}
		fmt.Fprintln(p)
	}
}

// reasons prints the to-do list.
func (p *auditPrinter) reasons(full bool) {
	if len(p.r.Reasons) == 0 {
		return
	}
	fmt.Fprintln(p)
	heading(p.Writer, p.o.Color, "To do")
	for i, c := range p.r.Reasons {
		color := layout.Yellow
		if c.Need == audit.Impossible {
			color = layout.Red
		}
		title := needTitles[c.Need]
		if c.Optional {
			title = "in branches, " + title
		}
		what := partName(c.Part)
		if c.Kind != audit.KindCode { // the name of an error is its message
			what += ": " + c.Reason
		}
		fmt.Fprintf(p, "  %d. %s: %s (%s)\n", i+1, layout.Paint(color, p.o.Color, title), oneLine(what), layout.Plural(len(c.Places), "place"))
		places := c.Places
		if !full && len(places) > maxPlaces {
			places = places[:maxPlaces]
		}
		for _, at := range places {
			if at.File != "" {
				fmt.Fprintf(p, "       %s\n", p.place(at))
			}
		}
		if more := len(c.Places) - len(places); more > 0 {
			fmt.Fprintf(p, "       and %d more\n", more)
		}
	}
}

// partName returns the words for a part.
func partName(c audit.Part) string {
	switch c.Kind {
	case audit.KindCode:
		return c.Name
	case audit.KindERB:
		return "ERB, " + c.Name
	case audit.KindBackend:
		return "Hiera function " + c.Name
	}
	return string(c.Kind) + " " + c.Name
}

// few are the kinds of units of which there are not many.
var few = []audit.UnitKind{audit.UnitNode, audit.UnitDefinition, audit.UnitApply}

// units prints the units that are not supported: by default only those of a few kinds.
func (p *auditPrinter) units(full bool) {
	for _, kind := range audit.UnitKinds() {
		first := true
		for _, u := range p.r.Units {
			if u.Kind != kind || !full && (u.Need == audit.Nothing || !slices.Contains(few, kind)) {
				continue
			}
			if first {
				first = false
				title := unitTitles[kind]
				fmt.Fprintln(p)
				heading(p.Writer, p.o.Color, strings.ToUpper(title[:1])+title[1:])
			}
			p.unit(u)
		}
	}
}

func (p *auditPrinter) unit(u audit.Unit) {
	var needs []string
	for _, n := range slices.Backward(u.Needs) {
		needs = append(needs, needTitles[n])
	}
	if needs == nil {
		needs = []string{needTitles[audit.Nothing]}
	}
	reasons := ""
	for i, n := range u.Reasons {
		if i == 0 {
			reasons = ": "
		} else {
			reasons += ", "
		}
		reasons += fmt.Sprint(n + 1)
	}
	name := u.Name
	if u.Kind == audit.UnitFile {
		name = below(p.dir, name)
	}
	fmt.Fprintf(p, "  %s: %s%s\n", oneLine(name), strings.Join(needs, ", "), reasons)
}

// uses prints the supported parts.
func (p *auditPrinter) uses() {
	if len(p.r.Uses) == 0 {
		return
	}
	fmt.Fprintln(p)
	heading(p.Writer, p.o.Color, "Supported")
	for _, c := range p.r.Uses {
		fmt.Fprintf(p, "  %s (%s)\n", oneLine(partName(c.Part)), layout.Plural(len(c.Places), "place"))
	}
}

// remarks prints the limits of reading.
func (p *auditPrinter) remarks() {
	fmt.Fprintln(p)
	if n := p.r.Computed; n > 0 {
		fmt.Fprintf(p, "%s, such as classes from data, could not be followed. Compile the catalogs of nodes: bolt catalog audit -t TARGETS.\n", computed(n))
	}
	if n := p.r.Left; n > 0 {
		fmt.Fprintf(p, "%s for systems other than Linux %s left out.\n", branches(n), were(n))
	}
	total := 0
	for _, c := range p.r.Reasons {
		total += len(c.Places)
	}
	if len(p.r.Reasons) == 0 {
		fmt.Fprintln(p, "Everything is supported.")
		return
	}
	fmt.Fprintf(p, "%s, %s\n", layout.Plural(len(p.r.Reasons), "reason"), layout.Plural(total, "place"))
}

func computed(n int) string { return layout.Plural(n, "computed name") }

func branches(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return fmt.Sprintf("%d branches", n)
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// auditData returns a report as JSON.
func auditData(r *audit.Report, dir string) *ordered.Map {
	summary := []any{}
	for _, kind := range audit.UnitKinds() {
		total, by := r.Counts(kind)
		if total == 0 {
			continue
		}
		m := ordered.Of("kind", string(kind), "total", int64(total))
		for _, n := range audit.Needs() {
			m.Set(n.String(), int64(by[n]))
		}
		summary = append(summary, m)
	}
	units := []any{}
	for _, u := range r.Units {
		needs, reasons := []any{}, []any{}
		for _, n := range u.Needs {
			needs = append(needs, n.String())
		}
		for _, i := range u.Reasons {
			reasons = append(reasons, int64(i))
		}
		name := u.Name
		if u.Kind == audit.UnitFile {
			name = below(dir, name)
		}
		m := ordered.Of("kind", string(u.Kind), "name", name)
		if u.Place.File != "" {
			m.Set("file", below(dir, u.Place.File))
			m.Set("line", int64(u.Place.Line))
		}
		m.Set("verdict", u.Need.String())
		m.Set("needs", needs)
		m.Set("reasons", reasons)
		units = append(units, m)
	}
	return ordered.Of("verdict", r.Verdict().String(), "directory", dir, "summary", summary, "units", units,
		"reasons", countedData(r.Reasons, dir), "uses", countedData(r.Uses, dir), "other_systems", int64(r.Left), "computed", int64(r.Computed))
}

func countedData(list []audit.Counted, dir string) []any {
	all := []any{}
	for _, c := range list {
		places := []any{}
		for _, at := range c.Places {
			places = append(places, ordered.Of("file", below(dir, at.File), "line", int64(at.Line)))
		}
		m := ordered.Of("kind", string(c.Kind), "name", c.Name, "verdict", c.Need.String())
		if c.Need != audit.Nothing {
			m.Set("reason", c.Reason)
			m.Set("optional", c.Optional)
		}
		m.Set("count", int64(len(places)))
		m.Set("units", int64(c.Units))
		m.Set("places", places)
		all = append(all, m)
	}
	return all
}
