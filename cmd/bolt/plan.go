package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/format/ordered"
	"bolt/output"
	"bolt/plans"
)

// planCommands are the commands about plans.
func (s system) planCommands() []command {
	return []command{
		{
			run: with(showPlans),
			Command: cli.Command{
				Name: "plan show", Args: "[PLAN]", Check: cli.OneArgument,
				Complete: []cli.Completer{s.names(publicPlans)},
				Short:    "Show plans, or one with its parameters",
				Long: `Lists the plans of the modules on the module path, or shows what one of them
does: its parameters with their types and defaults. Plans that their authors
call private are not listed. Those that cannot be used as they are written
are warnings; bolt plan show PLAN says of one what is wrong with it.`,
				Example: `  bolt plan show
  bolt plan show --filter deploy
  bolt plan show site::deploy --format json`,
				Exit: exitShown, Formats: listFormats, Lists: []string{onFilter, onModules},
			},
		},
		{
			run: with(runPlan),
			Command: cli.Command{
				Name: "plan run", Args: "PLAN [NAME=VALUE...]", Check: wordsOfPlan,
				Complete: []cli.Completer{s.names(publicPlans)}, Rest: s.parameters(planParameters),
				Short: "Run a plan",
				Long: `Runs a plan of a module, in YAML or in the Puppet language, and prints what it
returns. PLAN is the name of a module, or MODULE::NAME. NAME=VALUE sets a
parameter: VALUE is what it is as JSON if the parameter's type takes that, or
else the text. --targets fills the plan's parameter targets (or nodes).
"bolt plan show PLAN" tells the parameters and their types. ^C ends what runs
on the targets, and prints how far the plan had come. With --journal the run
is recorded: "bolt plan resume" goes on with it after a crash or ^C.`,
				Example: `  bolt plan run site::deploy version=2.1 -t web
  bolt plan run facts -t all --format json
  bolt plan run site::backup --params @backup.json`,
				Exit: exitPlan, Formats: eventFormats, Lists: []string{onParams, onJournal, onAction, onTimeout, onDownload, onResults, onTargets, onInventory, onModules},
			},
		},
		{
			run: with(runPlanNew),
			Command: cli.Command{
				Name: "plan new", Args: "NAME", Check: wordsOfPlanNew,
				Short: "Write a plan to begin with",
				Long: `Writes a small plan below plans of the project, in YAML or, with --pp, in the
Puppet language. NAME is that of the project, or begins with it: PROJECT::NAME.
Nothing that exists is overwritten.`,
				Example: `  bolt plan new site::deploy
  bolt plan new site::db::backup --pp`,
				Exit: exitMade, Formats: listFormats, Lists: []string{onNewPlan},
			},
		},
		{
			run: with(convertPlan),
			Command: cli.Command{
				Name: "plan convert", Args: "PLAN", Check: wordsOfPlanConvert,
				Complete: []cli.Completer{orFiles(s.names(yamlPlans))},
				Short:    "Print a YAML plan in the Puppet language",
				Long: `Prints a plan that is written in YAML as one in the Puppet language that does
the same, with its description and those of its parameters in the comment
above. PLAN is the path of its file, which is below plans of a module, or its
name. Nothing is written: > plans/NAME.pp does that, and a plan in a file of
that name is used instead of the one in YAML.`,
				Example: `  bolt plan convert site::deploy
  bolt plan convert plans/deploy.yaml > plans/deploy.pp`,
				Exit: exitShown, Formats: listFormats, Lists: []string{onModules},
			},
		},
		s.graphCommand(),
	}
}

// planOptions are those of plan run.
type planOptions struct {
	plan    string
	params  paramOptions
	journal bool
	named   bool // there are targets
	chose   bool // some of the targets
}

func (o *planOptions) bind(b *cli.Binder) {
	b.Arg(&o.plan)
	o.params.bind(b)
	b.Switch("journal", &o.journal)
	v := flagValues(b.Given())
	o.named, o.chose = v.named(), choosing(v)
}

// check refuses a choice among no targets: a plan needs none, but does nothing with
// those that only the choice names.
func (o *planOptions) check() error {
	if !o.named && o.chose {
		return hinted(usagef("Options such as '--limit' need targets of which they leave some"), "name them with --targets (-t), or with --where among all of the inventory")
	}
	return nil
}

func wordsOfPlanConvert(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan.")
	}
	return cli.OneArgument(args)
}

// convertPlan prints a plan, as it is in every format: what reads it is the
// language.
func convertPlan(ctx context.Context, a *app, o *nameOption) error {
	p, err := a.plans().At(ctx, o.name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.YAML.Convert(&text); err != nil {
		return err
	}
	_, err = text.WriteTo(a.sys.out)
	return written(err)
}

// plans is the library of the module path.
func (a *app) plans() *plans.Library {
	if a.planned == nil {
		a.planned = plans.NewLibrary(plans.Options{Modules: a.modules, Type: a.typeReader(), Warn: a.logs.Warn})
	}
	return a.planned
}

func showPlans(ctx context.Context, a *app, o *listOptions) error {
	if o.name != "" {
		p, err := a.plans().Find(ctx, o.name)
		if err != nil {
			return err
		}
		return written(output.PrintPlan(a.sys.out, a.listOptions(), planView(p)))
	}
	list, err := publicPlans(ctx, a)
	if err != nil {
		return err
	}
	if list, err = o.offered("plans", a.config.PlanFilter, list); err != nil {
		return err
	}
	return written(output.PrintPlanList(a.sys.out, a.listOptions(), &output.PlanList{Plans: list, Modulepath: a.modules.Dirs()}))
}

func planView(p *plans.Plan) *output.Plan {
	view := &output.Plan{
		Name: p.Name, Description: p.Description, Summary: p.Brief, Docstring: p.Docstring, Private: p.Private,
		Signature: &ordered.Map{}, Dir: p.Module.Dir, BuiltIn: p.Module.BuiltIn(),
	}
	add := func(q *plans.Parameter) {
		kind := q.DocumentedType()
		view.Parameters = append(view.Parameters, output.Parameter{
			Name: q.Name, Type: kind, Description: q.Description, HasDescription: q.HasDescription,
			Default: q.DefaultText, HasDefault: q.HasDefault, Usage: q.Usage(),
		})
		data := ordered.Of("type", kind, "sensitive", q.Sensitive)
		if q.HasDefault {
			data.Set("default_value", q.Default)
		}
		if q.HasDescription {
			data.Set("description", q.Description)
		}
		view.Signature.Set(q.Name, data)
	}
	for _, name := range p.Documented { // Bolt lists these first
		if q := p.Parameter(name); q != nil {
			add(q)
		}
	}
	for i := range p.Parameters {
		if q := &p.Parameters[i]; !slices.Contains(p.Documented, q.Name) {
			add(q)
		}
	}
	slices.SortFunc(view.Parameters, func(a, b output.Parameter) int { return strings.Compare(a.Name, b.Name) })
	return view
}
