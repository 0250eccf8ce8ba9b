package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/environment"
	"bolt/internal/fault"
	"bolt/internal/output"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// formatPN is the format of puppet dump that no other command has.
const formatPN = "pn"

func wordsOfFiles(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a file")
	}
	return nil
}

// oneFileAtMost is for commands that take their program from --execute, too.
func oneFileAtMost(args []string) error {
	if len(args) > 1 {
		return hinted(noWords(args[1:]), "give one file, or a program with --execute (-e)")
	}
	return nil
}

// A source is a program of the Puppet language as it was given.
type source struct {
	name, text string
	template   bool
	plans      bool // the rules of plans hold
}

// source reads the program of a command: that of --execute, or a file, or with
// the word "-" standard input.
func (a *app) source(args []string) (source, error) {
	switch given := a.values.has("execute"); {
	case given && len(args) > 0:
		return source{}, usagef("Only one of --execute and a file can be given")
	case given:
		return source{text: a.values.last("execute"), plans: a.values.on("tasks", false)}, nil
	case len(args) == 0:
		return source{}, hinted(usagef("Must specify a file"), "give a file, - for standard input, or a program with --execute (-e)")
	}
	return a.readSource(args[0])
}

func (a *app) readSource(name string) (source, error) {
	s := source{name: name, template: filepath.Ext(name) == ".epp", plans: a.values.on("tasks", false) || inPlans(name)}
	if name == "-" {
		s.name = "standard input"
		text, err := a.readArg(name)
		s.text = text
		return s, err
	}
	text, err := readLocal(name)
	if err != nil {
		return s, fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
	}
	s.text = string(text)
	return s, nil
}

// inPlans reports whether a file is in a folder for plans, where other rules
// hold than in manifests.
func inPlans(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(path)), "/"), "plans")
}

// parse reads a program and checks it. Problems are what it is refused for and
// what it is warned of.
func (s source) parse() (p *syntax.Program, problems []output.Finding) {
	file, o := syntax.NewFile(s.name, s.text), syntax.Options{Tasks: s.plans}
	var err error
	if s.template {
		p, err = syntax.ParseTemplate(file, o)
	} else {
		p, err = syntax.Parse(file, o)
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		for _, e := range errs {
			problems = append(problems, findingOf("error", e))
		}
		return nil, problems
	}
	for _, w := range p.Warnings {
		problems = append(problems, findingOf("warning", w))
	}
	found := check.Program(p, check.Options{Tasks: s.plans})
	for _, e := range found {
		problems = append(problems, findingOf(e.Severity.String(), e.Error))
	}
	if found.Err() != nil {
		return nil, problems
	}
	return p, problems
}

// findingOf is a problem of a text as it is printed.
func findingOf(level string, e *syntax.Error) output.Finding {
	pos := e.Position()
	return output.Finding{Level: level, Kind: e.Kind, Msg: e.Msg, File: pos.File, Line: pos.Line, Column: pos.Column, Excerpt: e.Excerpt()}
}

func runPuppetValidate(_ context.Context, a *app, args []string) error {
	all := []output.Finding{}
	bad := false
	for _, name := range args {
		s, err := a.readSource(name)
		if err != nil {
			return err
		}
		p, problems := s.parse()
		bad = bad || p == nil
		all = append(all, problems...)
	}
	if err := output.PrintFindings(a.sys.out, a.format(), a.color(), all); err != nil {
		return written(err)
	}
	if bad {
		return errPrinted
	}
	return nil
}

func runPuppetDump(_ context.Context, a *app, args []string) error {
	s, err := a.source(args)
	if err != nil {
		return err
	}
	p, problems := s.parseOnly()
	if p == nil {
		if err := output.PrintFindings(a.sys.err, output.Human, a.color(), problems); err != nil {
			return written(err)
		}
		return errPrinted
	}
	format := syntax.PN
	if a.own != formatPN && a.format() != output.Human {
		format = syntax.JSON
	}
	out := bufio.NewWriter(a.sys.out)
	if err := syntax.Dump(out, p, format); err != nil {
		return written(err)
	}
	_, _ = out.WriteString("\n")
	return written(out.Flush())
}

// parseOnly reads a program without checking more than its grammar.
func (s source) parseOnly() (*syntax.Program, []output.Finding) {
	p, err := syntax.Parse(syntax.NewFile(s.name, s.text), syntax.Options{Tasks: s.plans})
	if s.template {
		p, err = syntax.ParseTemplate(syntax.NewFile(s.name, s.text), syntax.Options{Tasks: s.plans})
	}
	errs, ok := errors.AsType[syntax.Errors](err)
	if !ok {
		return p, nil
	}
	var problems []output.Finding
	for _, e := range errs {
		problems = append(problems, findingOf("error", e))
	}
	return nil, problems
}

func runPuppetEval(ctx context.Context, a *app, args []string) error {
	l, err := a.language()
	if err != nil {
		return err
	}
	if a.values.has("batch") {
		if len(args) > 0 || a.values.has("execute") {
			return usagef("Only one of --batch, --execute and a file can be given")
		}
		return a.evalBatch(ctx, l)
	}
	s, err := a.source(args)
	if err != nil {
		return err
	}
	e := l.evaluate(ctx, s)
	if err := output.PrintEvaluation(a.sys.out, a.format(), a.color(), e); err != nil {
		return written(err)
	}
	if len(e.Errors) > 0 {
		return errPrinted
	}
	return nil
}

// evalBatch evaluates the expressions of a file, each on its own. That one of
// them is an error is an answer, and no failure.
func (a *app) evalBatch(ctx context.Context, l *language) error {
	in := io.Reader(a.sys.in)
	name := a.values.last("batch")
	if name != "-" {
		f, err := openLocal(name)
		if err != nil {
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
		defer f.Close()
		in = f
	}
	lines, out := bufio.NewReader(in), bufio.NewWriter(a.sys.out)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var asked struct {
				Expr *string `json:"expr"`
			}
			if err := json.Unmarshal(line, &asked); err != nil || asked.Expr == nil {
				_ = out.Flush()
				return fault.File(name, err, `Line %d of %s is not of the form {"expr": "…"}`, n, name)
			}
			if err := output.PrintEvaluationLine(out, l.evaluate(ctx, source{text: *asked.Expr})); err != nil {
				return written(err)
			}
			if lines.Buffered() == 0 { // an editor waits for the answer
				if err := out.Flush(); err != nil {
					return written(err)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return written(out.Flush())
		}
		if err != nil {
			return fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
	}
}

// environment is what programs of the Puppet language see.
func (a *app) environment() *environment.Environment {
	return environment.New(environment.Options{
		Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Getenv: a.sys.lookup, Now: time.Now,
	})
}

// A language evaluates programs, each on its own, with the same facts.
type language struct {
	env  *environment.Environment
	node environment.Node
}

func (a *app) language() (*language, error) {
	facts := value.NewHash()
	if a.values.has("facts") {
		var err error
		if facts, err = environment.ReadFacts(a.values.last("facts")); err != nil {
			return nil, err
		}
	}
	return &language{a.environment(), environment.Local(facts)}, nil
}

// evaluate runs a program on its own.
func (l *language) evaluate(ctx context.Context, s source) *output.Evaluation {
	e := &output.Evaluation{}
	p, problems := s.parse()
	for _, f := range problems {
		if f.Level == "error" {
			e.Errors = append(e.Errors, f)
		} else {
			e.Logs = append(e.Logs, f)
		}
	}
	if p == nil {
		return e
	}
	node := l.node
	node.Plans = s.plans
	node.Log = func(log eval.Log) {
		e.Logs = append(e.Logs, output.Finding{Level: log.Level.String(), Kind: log.Kind, Msg: log.Msg, File: log.Pos.File, Line: log.Pos.Line, Column: log.Pos.Column})
	}
	v, err := l.env.Evaluation(node).Run(ctx, p)
	if err == nil {
		err = result(e, v)
	}
	if err != nil {
		e.Errors = append(e.Errors, failure(p.File, err))
	}
	return e
}

// failure is an error of an evaluation as it is printed.
func failure(file *syntax.File, err error) output.Finding {
	switch x := err.(type) {
	case *eval.Error:
		f := output.Finding{Level: "error", Kind: x.Kind, Msg: x.Msg, File: x.Pos.File, Line: x.Pos.Line, Column: x.Pos.Column}
		if x.Pos.File == file.Name {
			f.Excerpt = file.Excerpt(x.Pos)
		}
		for _, frame := range x.Stack {
			name := frame.Function
			if name == "" {
				name = "the program"
			}
			at := fmt.Sprintf("line %d", frame.Line)
			if frame.File != "" {
				at = fmt.Sprintf("%s:%d", frame.File, frame.Line)
			}
			f.Stack = append(f.Stack, name+" ("+at+")")
		}
		return f
	case syntax.Errors:
		return findingOf("error", x[0])
	}
	return output.Finding{Level: "error", Kind: "internal", Msg: err.Error()}
}

// result fills in the value of a program that has ended well.
func result(e *output.Evaluation, v value.Value) error {
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
