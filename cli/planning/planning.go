// Package planning carries out the commands that run, resume, show, write and draw plans. It also runs plans for
// rollouts.
//
// Mistakes of the user are *cli.UsageError. If a plan has failed, the error is cli.ErrFailed.
package planning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/applying"
	"bolt/cli/collecting"
	"bolt/cli/content"
	"bolt/cli/input"
	"bolt/cli/running"
	"bolt/format/yaml"
	"bolt/output/listing"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/graph"
	"bolt/plans/runs"
	"bolt/project"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out        io.Writer
	How        listing.Options
	Running    *running.Invocation // with the project's configuration, inventory and modules
	Content    *content.Content
	Project    *project.Project
	Input      *input.Input
	Applying   *applying.Invocation   // for apply blocks, and for tasks of the helper
	Collecting *collecting.Invocation // for plans that collect facts
	Given      cli.Values             // the flags of the command line, and the recorded ones
	// Recorded returns the options of the command line that a run records.
	Recorded func() cli.Values
	// Again returns an Invocation with the recorded options of a run, unless the command line overrides them. The caller must call
	// done.
	Again func(ctx context.Context, recorded cli.Values) (again *Invocation, done func(), err error)
}

// ShowOptions are the options of plan show.
type ShowOptions struct{ name, filter string }

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Text("filter", &o.filter)
}

// Show carries out plan show: it prints a plan, or lists the plans.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	if o.name != "" {
		p, err := v.Content.Plans.Find(ctx, o.name)
		if _, syntax := errors.AsType[*yaml.Error](err); syntax && !v.How.Format.Data {
			return executor.Placed(err) // the message has no file
		} else if err != nil {
			return err
		}
		return listing.PrintPlan(v.Out, v.How, p)
	}
	list, err := v.public(ctx)
	if err != nil {
		return err
	}
	if list, err = listing.Offered(list, o.filter, "plans", v.Running.Config.PlanFilter); err != nil {
		return err
	}
	return listing.PrintPlanList(v.Out, v.How, &listing.PlanList{Plans: list, Modulepath: v.Content.Modules.Dirs()})
}

// NewOptions are the options of plan new.
type NewOptions struct {
	name   string
	puppet bool // in the Puppet language
}

// Bind reads the flags and arguments.
func (o *NewOptions) Bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Switch("pp", &o.puppet)
}

// New carries out plan new.
func (v *Invocation) New(_ context.Context, o *NewOptions) error {
	file, err := v.Project.NewPlan(o.name, o.puppet)
	if err != nil {
		return err
	}
	return listing.PrintNewPlan(v.Out, v.How, o.name, file)
}

// Convert carries out plan convert: it prints a plan in the Puppet language. It is the same in every format, because the
// output is Puppet code.
func (v *Invocation) Convert(ctx context.Context, o *cli.NameOption) error {
	p, err := v.Content.Plans.At(ctx, o.Name)
	if err != nil {
		return err
	}
	return p.YAML.Convert(v.Out)
}

// GraphOptions are the options of plan graph.
type GraphOptions struct {
	plan   string
	as     string // one of graph.Formats, or ""
	nested bool
}

// Bind reads the flags and arguments.
func (o *GraphOptions) Bind(b *cli.Binder) {
	b.Arg(&o.plan)
	b.Text("as", &o.as)
	b.Switch("nested", &o.nested)
}

// Graph carries out plan graph: it prints the picture of a plan. It is the same in every format,
// because another program reads it.
func (v *Invocation) Graph(ctx context.Context, o *GraphOptions) error {
	p, err := v.Content.Plans.Find(ctx, o.plan)
	if err != nil {
		return err
	}
	program, err := p.Program()
	if err != nil {
		return err
	}
	options := graph.Options{Dir: v.Project.Dir}
	if o.nested {
		options.Subplan = v.Content.Plans.Programs(ctx)
	}
	g, err := graph.Of(program, p.Name, options)
	if err != nil {
		return err
	}
	return g.Write(v.Out, o.as)
}

// Pictures returns the values of --as.
func Pictures() []string { return graph.Formats() }

// public returns the plans that are listed.
func (v *Invocation) public(ctx context.Context) ([]listing.Described, error) {
	list, err := v.Content.Plans.List(ctx)
	return listing.PublicPlans(list), err
}

// Parameters returns the parameters of a plan.
func (v *Invocation) Parameters(ctx context.Context, name string) ([]cli.Parameter, error) {
	p, err := v.runs().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	list := make([]cli.Parameter, len(p.Parameters))
	for i := range p.Parameters {
		q := &p.Parameters[i]
		list[i] = cli.Parameter{Name: q.Name, About: q.Description, Choices: q.Choices(), Required: !q.HasDefault}
	}
	return list, nil
}

// Complete completes the name of a plan.
func (v *Invocation) Complete(ctx context.Context, q cli.Query) cli.Completions {
	list, _ := v.public(ctx) // without a list, there are no completions
	return acting.CompleteNames(q.Prefix, list)
}

// CompleteYAML completes the name of a plan that can be converted.
func (v *Invocation) CompleteYAML(ctx context.Context, q cli.Query) cli.Completions {
	list, _ := v.Content.Plans.List(ctx)
	list = slices.DeleteFunc(list, func(p plans.Summary) bool { return path.Ext(p.File) != ".yaml" })
	return acting.CompleteNames(q.Prefix, listing.Plans(list))
}

// CompleteParameters completes the parameters of the plan in the first argument.
func (v *Invocation) CompleteParameters(ctx context.Context, q cli.Query) cli.Completions {
	list, _ := v.Parameters(ctx, q.Args[0])
	return cli.Assignments(list, q.Args[1:], q.Prefix)
}

// CompleteRuns completes the names of runs that can be resumed.
func (v *Invocation) CompleteRuns(context.Context, cli.Query) cli.Completions {
	c := cli.Completions{InOrder: true, Words: []cli.Word{{Text: runs.Last, About: "the last one that was cut off"}}}
	for _, s := range v.runs().Resumable() {
		c.Words = append(c.Words, cli.Word{Text: s.ID, About: fmt.Sprintf("%s, %s", s.Plan, s.State)})
	}
	return c
}
