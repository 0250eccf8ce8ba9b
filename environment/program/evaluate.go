package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"bolt/environment"
	"bolt/internal/logging"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options are the settings of an Evaluator. Modules is required.
type Options struct {
	Environment environment.Options // Plans is set as a program needs it
	Facts       *value.Hash         // of this machine for the programs; nil for none
	// Given are variables of the top scope, or the parameters of a template.
	Given []Variable
	// Tell receives the log messages of a program as they occur. If it is nil, the
	// Evaluation stores them.
	Tell func(*Finding)
	// Level is the lowest level of messages that are reported. Disabled are the IDs
	// of warnings that are not reported.
	Level    slog.Level
	Disabled []string
	// Explain returns the text of an error. If it is nil, the error's own text is
	// used.
	Explain func(context.Context, *eval.Error) string
	Timeout time.Duration // of each program; 0 for none
}

// An Evaluator evaluates programs, each on its own, with the same facts. It is for
// one goroutine at a time.
type Evaluator struct {
	o    Options
	node environment.Node

	// manifests and plans are the environments for manifests and for plans. They
	// are created at their first use.
	manifests, plans *environment.Environment
}

// A Variable is a variable of the top scope, or a parameter of a template.
type Variable struct {
	Name  string
	Value value.Value
}

// ParseVariable reads a value as JSON. If it is not JSON, the value is the
// string itself.
func ParseVariable(name, text string) Variable {
	v, err := value.FromJSON([]byte(text))
	if err != nil {
		v = value.String(text)
	}
	return Variable{name, v}
}

// NewEvaluator makes an Evaluator.
func NewEvaluator(o Options) *Evaluator {
	if o.Facts == nil {
		o.Facts = value.NewHash()
	}
	return &Evaluator{o: o, node: environment.Local(o.Facts)}
}

// SetVariables makes the given variables variables of the top scope. Templates
// do not need it. As in lookups, a fact overrides a variable: SetVariables
// calls overridden with the name of each variable that a fact hides. The error
// is an invalid variable name.
func (l *Evaluator) SetVariables(overridden func(name string)) error {
	for _, v := range l.o.Given {
		if err := environment.CheckVariable(v.Name); err != nil {
			return err
		}
		if _, is := l.node.Facts.GetString(v.Name); is {
			overridden(v.Name)
			continue
		}
		l.node.Variables = l.node.Variables.With(value.String(v.Name), v.Value)
	}
	return nil
}

// parameters returns the given variables as parameters of a template.
func (l *Evaluator) parameters() *value.Hash {
	var h value.HashBuilder
	for _, v := range l.o.Given {
		h.Put(value.String(v.Name), v.Value)
	}
	return h.Build()
}

func (l *Evaluator) env(plans bool) *environment.Environment {
	e := &l.manifests
	if plans {
		e = &l.plans
	}
	if *e == nil {
		o := l.o.Environment
		o.Plans = plans
		*e = environment.New(o)
	}
	return *e
}

// Evaluate runs a program, or renders a template, on its own.
func (l *Evaluator) Evaluate(ctx context.Context, s Source) *Evaluation {
	return l.evaluate(ctx, s, eval.Limits{})
}

// evaluate implements Evaluate with limits.
func (l *Evaluator) evaluate(ctx context.Context, s Source, within eval.Limits) *Evaluation {
	e := &Evaluation{}
	p, problems := s.Check(Location{})
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
	node.Plans, node.Limits = s.Plans, within
	node.Log = func(log eval.Log) {
		f := Finding{Level: log.Level.String(), Kind: log.Kind, Msg: log.Msg, File: log.Pos.File, Line: log.Pos.Line, Column: log.Pos.Column}
		l.say(e, f, Severity(log.Level))
	}
	ctx, cancel := Limited(ctx, l.o.Timeout)
	defer cancel()
	x := l.env(s.Plans).Evaluation(node)
	var v value.Value
	var err error
	if e.Rendered = s.Template; s.Template {
		v, err = x.Render(ctx, p, l.parameters())
	} else {
		v, err = x.Run(ctx, p)
	}
	if err != nil {
		e.Errors = append(e.Errors, l.failure(ctx, p.File, err))
	} else if err := result(e, v); err != nil {
		e.Errors = append(e.Errors, Finding{Level: "error", Kind: "unprintable-value", Msg: "the program has a value that cannot be printed: " + err.Error()})
	}
	return e
}

// say reports or stores a message of or about a program, unless its level or
// its ID is disabled.
func (l *Evaluator) say(e *Evaluation, f Finding, level slog.Level) {
	if level < l.o.Level {
		return
	}
	if f.Kind != "" && (f.Level == "warning" || f.Level == "deprecation") {
		if slices.Contains(l.o.Disabled, f.Kind) {
			return
		}
		f.ID = f.Kind
	}
	if l.o.Tell != nil {
		l.o.Tell(&f)
		return
	}
	switch e.Said += len(f.Msg); {
	case e.Said <= maxSaid:
		e.Logs = append(e.Logs, f)
	case e.Said-len(f.Msg) <= maxSaid: // the first message beyond the limit
		e.Said = 2 * maxSaid
		e.Logs = append(e.Logs, Finding{Level: "warning", Kind: "too-much-said", Msg: fmt.Sprintf("log messages beyond %d MiB are left out", maxSaid>>20)})
	}
}

// maxSaid limits the stored messages of a program, in bytes.
const maxSaid = 16 << 20

// Severity returns the log level of a program's message.
//
// A notice has the level of a warning, because the log has no level for notices
// and Puppet prints both by default.
func Severity(l eval.Level) slog.Level {
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

// failure returns an error of an evaluation in its printed form.
func (l *Evaluator) failure(ctx context.Context, file *syntax.File, err error) Finding {
	if x, ok := errors.AsType[*eval.Error](err); ok {
		f := Finding{Level: "error", Kind: x.Kind, Msg: l.explained(ctx, x), File: x.Pos.File, Line: x.Pos.Line, Column: x.Pos.Column}
		switch x.Pos.File {
		case "":
			f.File = file.Name
		case file.Name:
			f.Excerpt = file.Excerpt(x.Pos)
		}
		f.Stack = Frames(x.Stack)
		return f
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		return findingOf("error", errs[0])
	}
	return Finding{Level: "error", Kind: "internal", Msg: err.Error()}
}

// Frames returns the calls around an error in their printed form.
func Frames(stack []eval.Frame) []string {
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
func result(e *Evaluation, v value.Value) error {
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

func (l *Evaluator) explained(ctx context.Context, e *eval.Error) string {
	if l.o.Explain == nil {
		return e.Msg
	}
	return l.o.Explain(ctx, e)
}
