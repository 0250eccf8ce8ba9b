package listing

import (
	"bufio"
	"io"
	"slices"

	"bolt/format/ordered"
	"bolt/output/layout"
	"bolt/plans"
)

// PlanList is the data of "plan show".
type PlanList struct {
	Plans      []Described // sorted
	Modulepath []string
}

// PublicPlans returns the plans of a list that are not private.
func PublicPlans(list []plans.Summary) []Described {
	return Plans(slices.DeleteFunc(slices.Clone(list), func(p plans.Summary) bool { return p.Private }))
}

// Plans returns the plans of a list.
func Plans(list []plans.Summary) (all []Described) {
	for _, p := range list {
		all = append(all, Described{Name: p.Name, Description: p.Description})
	}
	return all
}

// PrintPlanList prints the names and descriptions of plans, and the module
// path.
func PrintPlanList(w io.Writer, o Options, l *PlanList) error {
	return printListed(w, o, "plan", l.Plans, l.Modulepath)
}

// PrintPlan prints the description and the parameters of a plan.
func PrintPlan(w io.Writer, o Options, p *plans.Plan) error {
	dir := moduleDir(p.Module)
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("name", p.Name, "description", textOrNull(p.Description), "parameters", signature(p), "private", p.Private,
			"summary", textOrNull(p.Brief), "docstring", textOrNull(p.Docstring), "module_dir", dir))
	}
	out := bufio.NewWriter(w)
	text := p.Brief
	if text != "" && p.Docstring != "" {
		text += "\n\n"
	}
	titled(out, o.Color, p.Name, text+p.Docstring)
	taken := make([]parameter, len(p.Parameters))
	for i := range p.Parameters {
		q := &p.Parameters[i]
		taken[i] = parameter{
			name: q.Name, kind: q.DocumentedType(), description: q.Description, described: q.HasDescription,
			standard: q.DefaultText, hasStandard: q.HasDefault, usage: q.Usage(),
		}
	}
	printUsage(out, o.Color, "bolt plan run "+p.Name, taken)
	inModule(out, o.Color, dir)
	return out.Flush()
}

// signature returns the parameters of a plan for JSON. As in Bolt, parameters
// with a description in the comment come first, in the order of the comment.
func signature(p *plans.Plan) *ordered.Map {
	m := &ordered.Map{}
	add := func(q *plans.Parameter) {
		data := ordered.Of("type", q.DocumentedType(), "sensitive", q.Sensitive)
		if q.HasDefault {
			data.Set("default_value", q.Default)
		}
		if q.HasDescription {
			data.Set("description", q.Description)
		}
		m.Set(q.Name, data)
	}
	for _, name := range p.Documented {
		if q := p.Parameter(name); q != nil {
			add(q)
		}
	}
	for i := range p.Parameters {
		if q := &p.Parameters[i]; !slices.Contains(p.Documented, q.Name) {
			add(q)
		}
	}
	return m
}
