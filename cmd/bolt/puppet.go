package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/cli"
	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/output"
	"bolt/output/listing"
	"bolt/run"
)

// formatPN is the format of puppet dump that no other command has.
const formatPN = "pn"

func wordsOfFiles(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a file")
	}
	return nil
}

type validateOptions struct {
	files []string
	plans bool // read by the rules of plans
}

func (o *validateOptions) bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Switch("tasks", &o.plans)
}

func runPuppetValidate(ctx context.Context, a *app, o *validateOptions) error {
	a.warnModulepath()
	all := []program.Finding{}
	places := program.NewPlacer(a.modules, a.project.Dir)
	bad := false
	add := func(f ...program.Finding) {
		for i := range f {
			bad = bad || f[i].Level == "error"
		}
		all = append(all, f...)
	}
	program.Walk(ctx, o.files, func(name string) {
		if ctx.Err() != nil {
			return
		}
		s, err := a.readSource(ctx, name, o.plans)
		if errors.Is(err, run.ErrStopped) {
			return // who stopped it knows
		}
		if err != nil {
			add(program.Unreadable(name, err))
			return
		}
		_, problems := s.Check(places.Place(ctx, name))
		add(problems...)
	}, func(f program.Finding) { add(f) })
	if err := listing.PrintFindings(a.sys.out, a.format(), a.Color(), all); err != nil {
		return written(err)
	}
	if bad || ctx.Err() != nil {
		return errPrinted
	}
	return nil
}

type dumpOptions struct {
	sourceOptions
	files  []string
	pretty bool
	format string // formatPN, or one of the configuration
}

func (o *dumpOptions) bind(b *cli.Binder) {
	o.sourceOptions.bind(b)
	b.Rest(0, &o.files)
	b.Switch("pretty", &o.pretty)
	b.Text("format", &o.format)
}

// runPuppetDump prints the tree of each program. Of several, each has its name
// above it, as Puppet prints it; as JSON each is a document with the file's name,
// and null for one that has none.
func runPuppetDump(ctx context.Context, a *app, o *dumpOptions) error {
	json := o.format != formatPN && a.format() != output.Human
	var list []program.Input
	var problems []program.Finding
	if err := o.once(); err != nil {
		return err
	}
	if o.execute != nil || len(o.files) == 0 {
		given, err := a.given(ctx, &o.sourceOptions, o.files)
		if err != nil {
			return err
		}
		list = []program.Input{{Source: given[0]}}
	} else {
		program.Walk(ctx, o.files, func(name string) {
			s, err := a.readSource(ctx, name, o.plans)
			if !errors.Is(err, run.ErrStopped) {
				list = append(list, program.Input{Source: s, Err: err})
			}
		}, func(f program.Finding) { problems = append(problems, f) })
		if ctx.Err() != nil {
			return errPrinted
		}
	}
	found, err := program.Dump(a.sys.out, list, json, o.pretty)
	if err != nil {
		return written(err)
	}
	problems = append(problems, found...)
	if err := listing.PrintFindings(a.sys.err, output.Human, a.ErrColor(), problems); err != nil {
		return written(err)
	}
	for _, f := range problems {
		if f.Level == "error" {
			return errPrinted
		}
	}
	return nil
}

type evalOptions struct {
	sourceOptions
	args  []string // files, and NAME=VALUE
	facts cli.Optional
	batch cli.Optional
}

func (o *evalOptions) bind(b *cli.Binder) {
	o.sourceOptions.bind(b)
	b.Rest(0, &o.args)
	b.Optional("facts", &o.facts)
	b.Optional("batch", &o.batch)
}

func runPuppetEval(ctx context.Context, a *app, o *evalOptions) error {
	batch, execute := o.batch.Given, o.execute != nil
	files, given, err := wordsOfEval(o.args, batch || execute)
	switch {
	case err != nil:
		return err
	case batch && (len(files) > 0 || execute):
		return usagef("Only one of --batch, --execute and a file can be given")
	case execute && len(files) > 0:
		return hinted(usagef("Only one of --execute and a file can be given"), "variables are given as NAME=VALUE; %s is none", files[0])
	}
	if err := o.once(); err != nil {
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
		if err := a.setVariables(l); err != nil {
			return err
		}
		return a.batch(ctx, l, o.batch.Text, o.plans)
	}
	list, err := a.given(ctx, &o.sourceOptions, files)
	if err != nil {
		return err
	}
	if !list[0].Template {
		if err := a.setVariables(l); err != nil {
			return err
		}
	}
	e := l.Evaluate(ctx, list[0])
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
	if first := e.Errors[0]; list[0].Template && first.Kind == "parameter" && first.File == list[0].Name && a.format() == output.Human {
		fmt.Fprintf(a.Console, "hint: parameters are given behind the template: %s NAME=VALUE; a string that looks like a number as NAME='\"1\"'\n", safetext.TerminalString(list[0].Name))
	}
	return errPrinted
}

// batch evaluates the expressions of a file.
func (a *app) batch(ctx context.Context, l *program.Evaluator, name string, plans bool) error {
	file := a.sys.in
	if name == "-" {
		name = program.StandardInput
	} else {
		f, err := readfile.Open(name)
		if err != nil {
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
		defer f.Close()
		file = f
	}
	in, stop, err := readfile.Wakeable(ctx, file)
	if err != nil {
		return err
	}
	defer stop()
	out := bufio.NewWriter(a.sys.out)
	err = l.Batch(ctx, in, name, plans,
		func(e *program.Evaluation) error { return written(listing.PrintEvaluationLine(out, e)) },
		func() error { return written(out.Flush()) })
	if err != nil && ctx.Err() != nil && !errors.Is(err, errWrite) {
		return errPrinted // who stopped it knows
	}
	return err
}

// wordsOfEval divides the words of puppet eval: a file, unless have says that the program is
// there already, and variables or parameters.
func wordsOfEval(args []string, have bool) (files []string, given []program.Variable, err error) {
	if !have && len(args) > 0 {
		if name, _, is := strings.Cut(args[0], "="); is && missing(args[0]) {
			return nil, nil, hinted(usagef("Must specify a file"), "%s is a value for %s: the file, or a program with --execute (-e), stands before it", args[0], name)
		}
		files, args = args[:1], args[1:]
	}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		switch {
		case !ok && have:
			files = append(files, arg)
			continue
		case !ok:
			return nil, nil, hinted(cli.NoArguments([]string{arg}), "give one file, or a program with --execute (-e); parameters and variables are NAME=VALUE")
		}
		given = append(given, program.ParseVariable(name, text))
	}
	return files, given, nil
}
