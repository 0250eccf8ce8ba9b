package programs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"bolt/cli"
	"bolt/cli/input"
	"bolt/environment"
	"bolt/environment/program"
	"bolt/environment/unknown"
	"bolt/output"
	"bolt/output/listing"
	"bolt/run"
)

// An Invocation has the parts of one invocation of bolt that the commands use. Errors of writing to
// Out are returned as they are.
type Invocation struct {
	Out, Err   io.Writer
	Console    io.Writer // for messages between those of the log
	Format     output.Format
	Color      bool // of Out
	ErrColor   bool
	Terminal   bool // Out is a terminal
	Input      *input.Input
	Stdin      *os.File
	Project    string // the directory of the project, or ""
	Evaluator  program.Options
	Modulepath []string // for errors about unknown names
	Warn       func(id, text string)
}

// FormatPN is the format of puppet dump that other commands do not have.
const FormatPN = "pn"

// ValidateOptions are the options of puppet validate.
type ValidateOptions struct {
	Options
	files []string
}

// Bind reads the flags and arguments.
func (o *ValidateOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.files)
	b.Switch("tasks", &o.Plans)
}

// Validate prints the problems of programs. If one has errors, it returns cli.ErrFailed.
func (v *Invocation) Validate(ctx context.Context, o *ValidateOptions) error {
	all := o.Check(ctx, v.Input, o.files, program.NewPlacer(v.Evaluator.Environment.Modules, v.Project))
	if err := listing.PrintFindings(v.Out, v.Format, v.Color, all); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return run.ErrStopped
	}
	return cli.Failed(anyError(all), nil)
}

func anyError(list []program.Finding) bool {
	return slices.ContainsFunc(list, func(f program.Finding) bool { return f.Level == "error" })
}

// DumpOptions are the options of puppet dump.
type DumpOptions struct {
	Options
	files  []string
	pretty bool
	format string // FormatPN, or a format of the configuration
}

// Bind reads the flags and arguments.
func (o *DumpOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Rest(0, &o.files)
	b.Switch("pretty", &o.pretty)
	b.Text("format", &o.format)
}

// Dump prints the tree of each program. If there are several, each has its name above it, as Puppet
// prints it. As JSON each is a document with the file's name; the name is null if there is no file.
// If a program has errors, it returns cli.ErrFailed.
func (v *Invocation) Dump(ctx context.Context, o *DumpOptions) error {
	if err := o.Once(); err != nil {
		return err
	}
	var list []program.Input
	var problems []program.Finding
	if o.Execute != nil || len(o.files) == 0 {
		s, err := o.One(ctx, v.Input, o.files)
		if err != nil {
			return err
		}
		list = []program.Input{{Source: s}}
	} else if list, problems = o.All(ctx, v.Input, o.files); ctx.Err() != nil {
		return run.ErrStopped
	}
	found, err := program.Dump(v.Out, list, o.format != FormatPN && v.Format != output.Human, o.pretty)
	if err != nil {
		return err
	}
	problems = append(problems, found...)
	if err := listing.PrintFindings(v.Err, output.Human, v.ErrColor, problems); err != nil {
		return err
	}
	return cli.Failed(anyError(problems), nil)
}

// EvalOptions are the options of puppet eval.
type EvalOptions struct {
	Options
	args  []string // files, and NAME=VALUE
	facts cli.Optional
	batch cli.Optional
}

// Bind reads the flags and arguments.
func (o *EvalOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Rest(0, &o.args)
	b.Optional("facts", &o.facts)
	b.Optional("batch", &o.batch)
}

// Eval evaluates a program, or the lines of --batch, and prints the value. If the program has
// errors, it returns cli.ErrFailed.
func (v *Invocation) Eval(ctx context.Context, o *EvalOptions) error {
	batch, execute := o.batch.Given, o.Execute != nil
	files, given, err := split(o.args, batch || execute)
	switch {
	case err != nil:
		return err
	case batch && (len(files) > 0 || execute):
		return cli.Errorf("Only one of --batch, --execute and a file can be given")
	case execute && len(files) > 0:
		return cli.Hinted(cli.Errorf("Only one of --execute and a file can be given"), "give variables as NAME=VALUE; %s is not of this form", files[0])
	}
	if err := o.Once(); err != nil {
		return err
	}
	human := v.Format == output.Human
	settings := v.Evaluator
	settings.Given = given
	settings.Explain = (&unknown.Names{Modules: settings.Environment.Modules, Modulepath: v.Modulepath}).Explain
	if human && !batch {
		// As for a log, an error of writing is not an error of the evaluation.
		settings.Tell = func(f *program.Finding) { _ = listing.PrintSaid(v.Console, v.ErrColor, *f) }
	}
	if o.facts.Given {
		if settings.Facts, err = environment.ReadFacts(ctx, o.facts.Text); err != nil {
			return err
		}
	}
	l := program.NewEvaluator(settings)
	if batch {
		return v.evalBatch(ctx, l, o)
	}
	s, err := o.One(ctx, v.Input, files)
	if err != nil {
		return err
	}
	if !s.Template {
		if err := v.setVariables(l); err != nil {
			return err
		}
	}
	e := l.Evaluate(ctx, s)
	if human {
		if err := listing.PrintSaid(v.Console, v.ErrColor, e.Errors...); err != nil {
			return err
		}
	}
	if err := listing.PrintEvaluation(v.Out, v.Format, v.Terminal, v.Color, e); err != nil {
		return err
	}
	if len(e.Errors) > 0 && human {
		_, _ = io.WriteString(v.Console, advice(s, e.Errors))
	}
	return cli.Failed(len(e.Errors) > 0, nil)
}

// setVariables makes the given values variables of the top scope.
func (v *Invocation) setVariables(e *program.Evaluator) error {
	err := e.SetVariables(func(name string) {
		v.Warn("variable_overridden", fmt.Sprintf("The variable $%s is overridden by the fact of the same name", name))
	})
	if err != nil {
		return cli.Errorf("%v", err)
	}
	return nil
}

func (v *Invocation) evalBatch(ctx context.Context, l *program.Evaluator, o *EvalOptions) error {
	if err := v.setVariables(l); err != nil {
		return err
	}
	out := bufio.NewWriter(v.Out)
	var lost error // by an error of Out
	keep := func(err error) error { lost = err; return err }
	err := o.Batch(ctx, l, v.Stdin, o.batch.Text,
		func(e *program.Evaluation) error { return keep(listing.PrintEvaluationLine(out, e)) },
		func() error { return keep(out.Flush()) })
	if err != nil && ctx.Err() != nil && lost == nil {
		return run.ErrStopped
	}
	return err
}
