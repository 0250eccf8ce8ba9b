// Package programs carries out commands that work on programs of the Puppet language, and reads
// their options, arguments and programs.
//
// Usage errors are *cli.UsageError. If the user stops bolt while it reads, the error is
// run.ErrStopped.
package programs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"bolt/cli"
	"bolt/cli/input"
	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/run"
)

// Options name a program and the rules for reading it.
type Options struct {
	Execute []string // the program itself; nil without --execute
	Plans   bool     // by the rules of plans
}

// Bind reads the flags.
func (o *Options) Bind(b *cli.Binder) {
	b.Texts("execute", &o.Execute)
	b.Switch("tasks", &o.Plans)
}

// Once refuses several programs on the command line.
func (o *Options) Once() error {
	if len(o.Execute) > 1 {
		return cli.Hinted(cli.Errorf("Option '--execute' can be given once"), "a program may have several lines, or ; between its statements")
	}
	return nil
}

// NeedFile is the Check of commands that need a file.
func NeedFile(args []string) error {
	if len(args) == 0 {
		return cli.Errorf("Must specify a file")
	}
	return nil
}

// One returns the program of --execute, or the program in the first of files. Only one
// of both can be given.
func (o *Options) One(ctx context.Context, in *input.Input, files []string) (program.Source, error) {
	switch given := o.Execute != nil; {
	case given && len(files) > 0:
		return program.Source{}, cli.Errorf("Only one of --execute and a file can be given")
	case given:
		return program.Source{Text: o.Execute[len(o.Execute)-1], Plans: o.Plans}, nil
	case len(files) == 0:
		return program.Source{}, cli.Hinted(cli.Errorf("Must specify a file"), "give a file, - for standard input, or a program with --execute (-e)")
	}
	s, err := o.read(ctx, in, files[0])
	if _, usage := errors.AsType[*cli.UsageError](err); err != nil && !usage && !errors.Is(err, run.ErrStopped) {
		err = unreadable(files[0], s.Name, err)
	}
	return s, err
}

func unreadable(file, name string, err error) error {
	return fault.File(file, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
}

// read reads a file, or for the name "-" standard input.
func (o *Options) read(ctx context.Context, in *input.Input, name string) (program.Source, error) {
	s := program.Named(name)
	s.Plans = s.Plans || o.Plans
	read := func() ([]byte, error) { return readfile.Read(ctx, name, readfile.Language) }
	if name == "-" {
		s.Name = program.StandardInput
		read = func() ([]byte, error) { return in.Whole(ctx, readfile.Language) }
	}
	text, err := read()
	s.Text = string(text)
	return s, err
}

// All returns the programs in files and below directories, and the problems of finding them. If
// ctx has ended, the list is incomplete.
func (o *Options) All(ctx context.Context, in *input.Input, names []string) (list []program.Input, problems []program.Finding) {
	program.Walk(ctx, names, func(name string) {
		s, err := o.read(ctx, in, name)
		if !errors.Is(err, run.ErrStopped) {
			list = append(list, program.Input{Source: s, Err: err})
		}
	}, func(f program.Finding) { problems = append(problems, f) })
	return list, problems
}

// Check returns the problems of the programs in files and below directories. If ctx has ended,
// the list is incomplete.
func (o *Options) Check(ctx context.Context, in *input.Input, names []string, places *program.Placer) []program.Finding {
	all := []program.Finding{}
	program.Walk(ctx, names, func(name string) {
		if ctx.Err() != nil {
			return
		}
		s, err := o.read(ctx, in, name)
		switch {
		case errors.Is(err, run.ErrStopped):
		case err != nil:
			all = append(all, program.Unreadable(name, err))
		default:
			_, problems := s.Check(places.Place(ctx, name))
			all = append(all, problems...)
		}
	}, func(f program.Finding) { all = append(all, f) })
	return all
}

// split divides the arguments of an evaluation into files and variables (or parameters)
// NAME=VALUE. The first argument is the file, unless have is true: then the program is given in
// another way.
func split(args []string, have bool) (files []string, given []program.Variable, err error) {
	if !have && len(args) > 0 {
		if name, _, is := strings.Cut(args[0], "="); is && missing(args[0]) {
			return nil, nil, cli.Hinted(cli.Errorf("Must specify a file"), "%s is a value for %s: the file, or a program with --execute (-e), must come before it", args[0], name)
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
			return nil, nil, cli.Hinted(cli.NoArguments([]string{arg}), "give one file, or a program with --execute (-e); parameters and variables are NAME=VALUE")
		}
		given = append(given, program.ParseVariable(name, text))
	}
	return files, given, nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Batch evaluates the expressions of a file, or for the name "-" of stdin. See
// program.Evaluator.Batch for answer and flush.
func (o *Options) Batch(ctx context.Context, l *program.Evaluator, stdin *os.File, name string, answer func(*program.Evaluation) error, flush func() error) error {
	file := stdin
	if name == "-" {
		name = program.StandardInput
	} else {
		f, err := readfile.Open(name)
		if err != nil {
			return unreadable(name, name, err)
		}
		defer f.Close()
		file = f
	}
	in, stop, err := readfile.Wakeable(ctx, file)
	if err != nil {
		return err
	}
	defer stop()
	return l.Batch(ctx, in, name, o.Plans, answer, flush)
}

// advice returns the hint for the errors of a template whose parameters are missing or
// wrong; "" for all others.
func advice(s program.Source, errs []program.Finding) string {
	if len(errs) == 0 || !s.Template || errs[0].Kind != "parameter" || errs[0].File != s.Name {
		return ""
	}
	return "hint: give parameters after the template: " + safetext.TerminalString(s.Name) + ` NAME=VALUE; a string that looks like a number as NAME='"1"'` + "\n"
}
