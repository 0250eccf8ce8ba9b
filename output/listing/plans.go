package listing

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/output/layout"
)

// PlanList is what "plan show" shows.
type PlanList struct {
	Plans      []Described // sorted
	Modulepath []string
}

// PrintPlanList prints the names and descriptions of plans, and where they were
// looked for.
func PrintPlanList(w io.Writer, o Options, l *PlanList) error {
	return printListed(w, o, "plan", l.Plans, l.Modulepath)
}

// Plan is what "plan show PLAN" shows.
type Plan struct {
	Name, Description  string
	Summary, Docstring string // "" if there is none
	Private            bool
	Parameters         []Parameter  // sorted by name
	Signature          *ordered.Map // the parameters for JSON, in their order
	Dir                string       // of its module
	BuiltIn            bool         // its module is
}

// PrintPlan prints what a plan does and takes.
func PrintPlan(w io.Writer, o Options, p *Plan) error {
	out := bufio.NewWriter(w)
	dir := moduleDir(p.Dir, p.BuiltIn)
	if o.Format.IsJSON() {
		if err := layout.WriteLine(out, ordered.Of("name", p.Name, "description", textOrNull(p.Description), "parameters", p.Signature, "private", p.Private,
			"summary", textOrNull(p.Summary), "docstring", textOrNull(p.Docstring), "module_dir", dir)); err != nil {
			return err
		}
		return out.Flush()
	}
	text := p.Summary
	if text != "" && p.Docstring != "" {
		text += "\n\n"
	}
	titled(out, o.Color, p.Name, text+p.Docstring)
	usage := "bolt plan run " + p.Name
	for _, q := range p.Parameters {
		usage += " " + q.Usage
	}
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Usage")
	indented(out, 2, strings.TrimSuffix(wrappedLines(usage), "\n"))
	parameters(out, o.Color, "Parameters", p.Parameters)
	inModule(out, o.Color, dir)
	return out.Flush()
}
