package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/output"
	"bolt/plans"
)

// planRun is the name of the command that needs no targets, but does nothing with
// all of them either.
const planRun = "plan run"

// planCommands are the commands about plans.
func planCommands() []command {
	return []command{
		{
			name: "plan show", args: "[PLAN]", run: showPlans, words: oneWord,
			short: "Show plans, or one with its parameters",
			long: `Lists the plans of the modules on the module path, or shows what one of them
does: its parameters with their types and defaults. Plans that their authors
call private are not listed. Those that cannot be used as they are written
are warnings; bolt plan show PLAN says of one what is wrong with it.`,
			example: `  bolt plan show
  bolt plan show --filter deploy
  bolt plan show site::deploy --format json`,
			exit: exitShown, formats: listFormats, lists: []string{onFilter, onModules},
		},
		{
			name: planRun, args: "PLAN [NAME=VALUE...]", run: runPlan, words: wordsOfPlan,
			short: "Run a plan",
			long: `Runs a plan of a module, in YAML or in the Puppet language, and prints what it
returns. PLAN is the name of a module, or MODULE::NAME. NAME=VALUE sets a
parameter: VALUE is what it is as JSON if the parameter's type takes that, or
else the text. --targets fills the plan's parameter targets (or nodes).
"bolt plan show PLAN" tells the parameters and their types. ^C ends what runs
on the targets, and prints how far the plan had come. With --journal the run
is recorded: "bolt plan resume" goes on with it after a crash or ^C.`,
			example: `  bolt plan run site::deploy version=2.1 -t web
  bolt plan run facts -t all --format json
  bolt plan run site::backup --params @backup.json`,
			exit: exitPlan, formats: eventFormats, lists: []string{onParams, onJournal, onAction, onTimeout, onDownload, onResults, onTargets, onInventory, onModules},
		},
		{
			name: "plan new", args: "NAME", run: runPlanNew, words: wordsOfPlanNew,
			short: "Write a plan to begin with",
			long: `Writes a small plan below plans of the project, in YAML or, with --pp, in the
Puppet language. NAME is that of the project, or begins with it: PROJECT::NAME.
Nothing that exists is overwritten.`,
			example: `  bolt plan new site::deploy
  bolt plan new site::db::backup --pp`,
			exit: exitMade, formats: listFormats, lists: []string{onNewPlan},
		},
		{
			name: "plan convert", args: "PLAN", run: convertPlan, words: wordsOfPlanConvert,
			short: "Print a YAML plan in the Puppet language",
			long: `Prints a plan that is written in YAML as one in the Puppet language that does
the same, with its description and those of its parameters in the comment
above. PLAN is the path of its file, which is below plans of a module, or its
name. Nothing is written: > plans/NAME.pp does that, and a plan in a file of
that name is used instead of the one in YAML.`,
			example: `  bolt plan convert site::deploy
  bolt plan convert plans/deploy.yaml > plans/deploy.pp`,
			exit: exitShown, formats: listFormats, lists: []string{onModules},
		},
		graphCommand(),
	}
}

func wordsOfPlanConvert(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan.")
	}
	return oneWord(args)
}

// convertPlan prints a plan, as it is in every format: what reads it is the
// language.
func convertPlan(ctx context.Context, a *app, args []string) error {
	p, err := a.plans().At(ctx, args[0])
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

func showPlans(ctx context.Context, a *app, args []string) error {
	if first(args) != "" {
		p, err := a.plans().Find(ctx, args[0])
		if err != nil {
			return err
		}
		return written(output.PrintPlan(a.sys.out, a.listOptions(), planView(p)))
	}
	list, err := publicPlans(ctx, a)
	if err != nil {
		return err
	}
	if list, err = a.offered("plans", a.config.PlanFilter, list); err != nil {
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
