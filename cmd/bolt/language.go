package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bolt/environment"
	"bolt/internal/logging"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// environment is what programs of the Puppet language see. plans are the rules
// by which files of modules are read.
func (a *app) environment(plans bool) *environment.Environment {
	return environment.New(environment.Options{
		Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Plans: plans, Getenv: a.sys.lookup, Now: time.Now,
	})
}

// warnModulepath tells of directories of --modulepath that do not exist: those
// of a project need not, but who names one means it.
func (a *app) warnModulepath() {
	if !a.values.has("modulepath") {
		return
	}
	for _, dir := range filepath.SplitList(a.values.last("modulepath")) {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			a.logs.Warn("missing_modulepath", fmt.Sprintf("There is no directory %s, which --modulepath names.", dir))
		}
	}
}

// A language evaluates programs, each on its own, with the same facts.
type language struct {
	app   *app
	node  environment.Node
	given []variable // of the command line
	// tell prints what a program says, when it says it; nil keeps that for the
	// answer.
	tell func(*listing.Finding)

	// Made when they are asked for: what manifests see, and what plans see.
	manifests, plans *environment.Environment
}

// A variable is one of the top scope, or a parameter of a template.
type variable struct {
	name  string
	value value.Value
}

// setVariables makes what was given variables of the top scope. As for lookups,
// a fact comes first.
func (l *language) setVariables() error {
	for _, v := range l.given {
		if err := environment.CheckVariable(v.name); err != nil {
			return usagef("%v", err)
		}
		if _, is := l.node.Facts.GetString(v.name); is {
			l.app.logs.Warn("variable_overridden", fmt.Sprintf("The variable $%s is overridden by the fact of the same name", v.name))
			continue
		}
		l.node.Variables = l.node.Variables.With(value.String(v.name), v.value)
	}
	return nil
}

// parameters are what was given, for a template.
func (l *language) parameters() *value.Hash {
	var h value.HashBuilder
	for _, v := range l.given {
		h.Put(value.String(v.name), v.value)
	}
	return h.Build()
}

func (a *app) language(ctx context.Context) (*language, error) {
	a.warnModulepath()
	facts := value.NewHash()
	if a.values.has("facts") {
		var err error
		if facts, err = environment.ReadFacts(ctx, a.values.last("facts")); err != nil {
			return nil, err
		}
	}
	return &language{app: a, node: environment.Local(facts)}, nil
}

func (l *language) env(plans bool) *environment.Environment {
	e := &l.manifests
	if plans {
		e = &l.plans
	}
	if *e == nil {
		*e = l.app.environment(plans)
	}
	return *e
}

// evaluate runs a program, or renders a template, on its own, within limits.
func (l *language) evaluate(ctx context.Context, s source, within eval.Limits) *listing.Evaluation {
	e := &listing.Evaluation{}
	p, problems := s.check(location{})
	for _, f := range problems {
		if f.Level == "error" {
			e.Errors = append(e.Errors, f)
		} else {
			l.say(e, f, slog.LevelWarn)
		}
	}
	if p == nil {
		return e
	}
	node := l.node
	node.Plans, node.Limits = s.plans, within
	node.Log = func(log eval.Log) {
		f := listing.Finding{Level: log.Level.String(), Kind: log.Kind, Msg: log.Msg, File: log.Pos.File, Line: log.Pos.Line, Column: log.Pos.Column}
		l.say(e, f, severity(log.Level))
	}
	ctx, cancel := l.app.limited(ctx)
	defer cancel()
	x := l.env(s.plans).Evaluation(node)
	var v value.Value
	var err error
	if e.Rendered = s.template; s.template {
		v, err = x.Render(ctx, p, l.parameters())
	} else {
		v, err = x.Run(ctx, p)
	}
	if err != nil {
		e.Errors = append(e.Errors, l.failure(ctx, p.File, err))
	} else if err := result(e, v); err != nil {
		e.Errors = append(e.Errors, listing.Finding{Level: "error", Kind: "unprintable-value", Msg: "the program has a value that cannot be printed: " + err.Error()})
	}
	return e
}

// say keeps what was said by a program or about it, unless nobody wants to
// hear it.
func (l *language) say(e *listing.Evaluation, f listing.Finding, level slog.Level) {
	log := l.app.config.Log
	if level < log.ConsoleLevel {
		return
	}
	if f.Kind != "" && (f.Level == "warning" || f.Level == "deprecation") {
		if slices.Contains(log.Disabled, f.Kind) {
			return
		}
		f.ID = f.Kind
	}
	if l.tell != nil {
		l.tell(&f)
		return
	}
	switch e.Said += len(f.Msg); {
	case e.Said <= maxSaid:
		e.Logs = append(e.Logs, f)
	case e.Said-len(f.Msg) <= maxSaid: // the first that is too much
		e.Said = 2 * maxSaid
		e.Logs = append(e.Logs, listing.Finding{Level: "warning", Kind: "too-much-said", Msg: fmt.Sprintf("more was said than %d MiB, and is left out", maxSaid>>20)})
	}
}

// maxSaid bounds what is kept of what a program says, in bytes.
const maxSaid = 16 << 20

// severity is the level of the log from which on a program's message is shown.
//
// A notice is shown as a warning is: the log has no level of its own for it,
// and Puppet shows both unless it is told otherwise.
func severity(l eval.Level) slog.Level {
	switch l {
	case eval.Debug:
		return slog.LevelDebug
	case eval.Info:
		return slog.LevelInfo
	case eval.Notice, eval.Warning:
		return slog.LevelWarn
	case eval.Err:
		return slog.LevelError
	}
	return logging.LevelFatal
}

// limited returns a context that ends when --timeout says so.
func (a *app) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	d := a.timeout()
	if d == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, &lateError{d})
}

// A lateError is the end of what took longer than --timeout allows.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("not finished within %v", e.after) }

// failure is an error of an evaluation as it is printed.
func (l *language) failure(ctx context.Context, file *syntax.File, err error) listing.Finding {
	if x, ok := errors.AsType[*eval.Error](err); ok {
		f := listing.Finding{Level: "error", Kind: x.Kind, Msg: l.app.explain(ctx, x), File: x.Pos.File, Line: x.Pos.Line, Column: x.Pos.Column}
		switch x.Pos.File {
		case "":
			f.File = file.Name
		case file.Name:
			f.Excerpt = file.Excerpt(x.Pos)
		}
		f.Stack = frames(x.Stack)
		return f
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		return findingOf("error", errs[0])
	}
	return listing.Finding{Level: "error", Kind: "internal", Msg: err.Error()}
}

// frames are the calls around an error as they are printed.
func frames(stack []eval.Frame) []string {
	var list []string
	for _, frame := range stack {
		name := frame.Function
		if name == "" {
			name = "the program"
		}
		at := fmt.Sprintf("line %d", frame.Line)
		switch {
		case frame.File != "":
			at = fmt.Sprintf("%s:%d", frame.File, frame.Line)
		case frame.Line == 0:
			continue // a call that nothing of a program makes, as that of a lookup
		}
		list = append(list, name+" ("+at+")")
	}
	return list
}

// result fills in the value of a program that has ended well.
func result(e *listing.Evaluation, v value.Value) error {
	data, err := value.MarshalRich(v)
	if err != nil {
		return err
	}
	text, err := value.Format(v, value.Default{})
	if err != nil {
		return err
	}
	e.Value, e.Type, e.String, e.Text = data, value.TypeString(value.Infer(v)), string(text), value.Inspect(v)
	return nil
}
