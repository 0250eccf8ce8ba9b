package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"bolt/cli"
	"bolt/cli/programs"
	"bolt/environment/program"
	"bolt/output"
	"bolt/output/listing"
)

// formatPN is the format of puppet dump that no other command has.
const formatPN = "pn"

type validateOptions struct {
	programs.Options
	files []string
}

func (o *validateOptions) bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Switch("tasks", &o.Plans)
}

func runPuppetValidate(ctx context.Context, a *app, o *validateOptions) error {
	a.warnModulepath()
	all := o.Check(ctx, a.Input, o.files, program.NewPlacer(a.modules, a.project.Dir))
	if err := listing.PrintFindings(a.sys.out, a.format(), a.Color(), all); err != nil {
		return written(err)
	}
	if ctx.Err() != nil || anyError(all) {
		return errPrinted
	}
	return nil
}

func anyError(list []program.Finding) bool {
	return slices.ContainsFunc(list, func(f program.Finding) bool { return f.Level == "error" })
}

type dumpOptions struct {
	programs.Options
	files  []string
	pretty bool
	format string // formatPN, or one of the configuration
}

func (o *dumpOptions) bind(b *cli.Binder) {
	o.Bind(b)
	b.Rest(0, &o.files)
	b.Switch("pretty", &o.pretty)
	b.Text("format", &o.format)
}

// runPuppetDump prints the tree of each program. Of several, each has its name
// above it, as Puppet prints it; as JSON each is a document with the file's name,
// and null for one that has none.
func runPuppetDump(ctx context.Context, a *app, o *dumpOptions) error {
	if err := o.Once(); err != nil {
		return err
	}
	var list []program.Input
	var problems []program.Finding
	if o.Execute != nil || len(o.files) == 0 {
		s, err := o.One(ctx, a.Input, o.files)
		if err != nil {
			return stopped(err)
		}
		list = []program.Input{{Source: s}}
	} else if list, problems = o.All(ctx, a.Input, o.files); ctx.Err() != nil {
		return errPrinted
	}
	found, err := program.Dump(a.sys.out, list, o.format != formatPN && a.format() != output.Human, o.pretty)
	if err != nil {
		return written(err)
	}
	problems = append(problems, found...)
	if err := listing.PrintFindings(a.sys.err, output.Human, a.ErrColor(), problems); err != nil {
		return written(err)
	}
	if anyError(problems) {
		return errPrinted
	}
	return nil
}

type evalOptions struct {
	programs.Options
	args  []string // files, and NAME=VALUE
	facts cli.Optional
	batch cli.Optional
}

func (o *evalOptions) bind(b *cli.Binder) {
	o.Bind(b)
	b.Rest(0, &o.args)
	b.Optional("facts", &o.facts)
	b.Optional("batch", &o.batch)
}

func runPuppetEval(ctx context.Context, a *app, o *evalOptions) error {
	batch, execute := o.batch.Given, o.Execute != nil
	files, given, err := programs.Split(o.args, batch || execute)
	switch {
	case err != nil:
		return err
	case batch && (len(files) > 0 || execute):
		return usagef("Only one of --batch, --execute and a file can be given")
	case execute && len(files) > 0:
		return hinted(usagef("Only one of --execute and a file can be given"), "variables are given as NAME=VALUE; %s is none", files[0])
	}
	if err := o.Once(); err != nil {
		return err
	}
	human := a.format() == output.Human
	var tell func(*program.Finding)
	if human && !batch {
		tell = func(f *program.Finding) { _ = listing.PrintSaid(a.Console, a.ErrColor(), *f) } // as with a log, who cannot read it is not told
	}
	l, err := a.evaluator(ctx, o.facts, given, tell)
	if err != nil {
		return err
	}
	if batch {
		return a.evalBatch(ctx, l, o)
	}
	s, err := o.One(ctx, a.Input, files)
	if err != nil {
		return stopped(err)
	}
	if !s.Template {
		if err := a.setVariables(l); err != nil {
			return err
		}
	}
	e := l.Evaluate(ctx, s)
	if human {
		if err := listing.PrintSaid(a.Console, a.ErrColor(), e.Errors...); err != nil {
			return written(err)
		}
	}
	if err := listing.PrintEvaluation(a.sys.out, a.format(), a.Terminal(), a.Color(), e); err != nil {
		return written(err)
	}
	if len(e.Errors) == 0 {
		return nil
	}
	if human {
		_, _ = io.WriteString(a.Console, programs.Advice(s, e.Errors))
	}
	return errPrinted
}

func (a *app) evalBatch(ctx context.Context, l *program.Evaluator, o *evalOptions) error {
	if err := a.setVariables(l); err != nil {
		return err
	}
	out := bufio.NewWriter(a.sys.out)
	err := o.Batch(ctx, l, a.sys.in, o.batch.Text,
		func(e *program.Evaluation) error { return written(listing.PrintEvaluationLine(out, e)) },
		func() error { return written(out.Flush()) })
	if err != nil && ctx.Err() != nil && !errors.Is(err, errWrite) {
		return errPrinted // who stopped it knows
	}
	return err
}
