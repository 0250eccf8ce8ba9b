package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/cli"
	"bolt/environment"
	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/run"
)

// languageOptions are the options for programs of the Puppet language.
func (a *app) languageOptions() environment.Options {
	return environment.Options{Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Getenv: a.sys.lookup, Now: time.Now}
}

// environment makes an environment. plans are the rules by which files of modules
// are read.
func (a *app) environment(plans bool) *environment.Environment {
	o := a.languageOptions()
	o.Plans = plans
	return environment.New(o)
}

// warnModulepath tells of directories of --modulepath that do not exist: those
// of a project need not, but who names one means it.
func (a *app) warnModulepath() {
	if !a.global.modulepath.Given {
		return
	}
	for _, dir := range filepath.SplitList(a.global.modulepath.Text) {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			a.logs.Warn("missing_modulepath", fmt.Sprintf("There is no directory %s, which --modulepath names.", dir))
		}
	}
}

// evaluator evaluates programs with the facts of a file, if one is given. given are variables or
// parameters of the command line; tell may be nil.
func (a *app) evaluator(ctx context.Context, facts cli.Optional, given []program.Variable, tell func(*program.Finding)) (*program.Evaluator, error) {
	a.warnModulepath()
	o := program.Options{
		Environment: a.languageOptions(), Given: given, Tell: tell,
		Level: a.config.Log.ConsoleLevel, Disabled: a.config.Log.Disabled, Explain: a.names().Explain, Timeout: a.timeout(),
	}
	if facts.Given {
		var err error
		if o.Facts, err = environment.ReadFacts(ctx, facts.Text); err != nil {
			return nil, err
		}
	}
	return program.NewEvaluator(o), nil
}

// setVariables makes the given values variables of the top scope.
func (a *app) setVariables(e *program.Evaluator) error {
	err := e.SetVariables(func(name string) {
		a.logs.Warn("variable_overridden", fmt.Sprintf("The variable $%s is overridden by the fact of the same name", name))
	})
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}

// sourceOptions are where programs are.
type sourceOptions struct {
	execute []string // the program itself
	plans   bool     // read by the rules of plans
}

func (o *sourceOptions) bind(b *cli.Binder) {
	b.Texts("execute", &o.execute)
	b.Switch("tasks", &o.plans)
}

// once refuses several programs.
func (o *sourceOptions) once() error {
	if len(o.execute) > 1 {
		return hinted(usagef("Option '--execute' can be given once"), "a program may have several lines, or ; between its statements")
	}
	return nil
}

// given reads the program of --execute, or those of files. Only one of these
// is there.
func (a *app) given(ctx context.Context, o *sourceOptions, args []string) ([]program.Source, error) {
	switch given := o.execute != nil; {
	case given && len(args) > 0:
		return nil, usagef("Only one of --execute and a file can be given")
	case given:
		return []program.Source{{Text: o.execute[len(o.execute)-1], Plans: o.plans}}, nil
	case len(args) == 0:
		return nil, hinted(usagef("Must specify a file"), "give a file, - for standard input, or a program with --execute (-e)")
	}
	var list []program.Source
	for _, name := range args {
		s, err := a.readSource(ctx, name, o.plans)
		if _, usage := errors.AsType[*usageError](err); usage {
			return nil, err
		}
		if errors.Is(err, run.ErrStopped) {
			return nil, errPrinted // who stopped it knows
		}
		if err != nil {
			return nil, fault.File(name, err, "The file '%s' could not be read: %v", s.Name, fault.WithoutPath(err))
		}
		list = append(list, s)
	}
	return list, nil
}

// readSource reads a file, or for the name "-" standard input. plans are the rules by which
// it is read.
func (a *app) readSource(ctx context.Context, name string, plans bool) (program.Source, error) {
	s := program.Named(name)
	s.Plans = s.Plans || plans
	if name != "-" {
		text, err := readfile.Read(ctx, name, readfile.Language)
		s.Text = string(text)
		return s, err
	}
	text, err := a.Whole(ctx, readfile.Language)
	s.Name = program.StandardInput
	s.Text = string(text)
	return s, err
}
