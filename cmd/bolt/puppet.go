package main

import (
	"bufio"
	"context"
	"errors"

	"bolt/internal/output"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
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

// anyFiles is for commands that take their program from --execute, too: then
// there are none.
func anyFiles([]string) error { return nil }

// oneFileAtMost is for commands that take one program, a file or that of
// --execute.
func oneFileAtMost(args []string) error {
	if len(args) > 1 {
		return hinted(noWords(args[1:]), "give one file, or a program with --execute (-e)")
	}
	return nil
}

func runPuppetValidate(ctx context.Context, a *app, args []string) error {
	all := []output.Finding{}
	bad := false
	add := func(f ...output.Finding) {
		for i := range f {
			bad = bad || f[i].Level == "error"
		}
		all = append(all, f...)
	}
	programs(ctx, args, func(name string) {
		if ctx.Err() != nil {
			return
		}
		s, err := a.readSource(ctx, name)
		if errors.Is(err, run.ErrStopped) {
			return // who stopped it knows
		}
		if err != nil {
			add(unreadable(name, err))
			return
		}
		_, problems := s.check(a.namespace(name))
		add(problems...)
	}, func(f output.Finding) { add(f) })
	if err := output.PrintFindings(a.sys.out, a.format(), a.color(), all); err != nil {
		return written(err)
	}
	if bad || ctx.Err() != nil {
		return errPrinted
	}
	return nil
}

// runPuppetDump prints the tree of each program. Of several, each has its name
// above it, as Puppet prints it; as JSON each is one document, null for one
// that has none.
func runPuppetDump(ctx context.Context, a *app, args []string) error {
	format := syntax.PN
	json := a.own != formatPN && a.format() != output.Human
	switch pretty := a.values.on("pretty", false); {
	case json && pretty:
		format = syntax.PrettyJSON
	case json:
		format = syntax.JSON
	case pretty:
		format = syntax.PrettyPN
	}
	type input struct {
		source
		err error // why there is none
	}
	var list []input
	var problems []output.Finding
	if a.values.has("execute") || len(args) == 0 {
		given, err := a.given(ctx, args)
		if err != nil {
			return err
		}
		list = []input{{source: given[0]}}
	} else {
		programs(ctx, args, func(name string) {
			s, err := a.readSource(ctx, name)
			if !errors.Is(err, run.ErrStopped) {
				list = append(list, input{s, err})
			}
		}, func(f output.Finding) { problems = append(problems, f) })
		if ctx.Err() != nil {
			return errPrinted
		}
	}
	out := bufio.NewWriter(a.sys.out)
	for _, in := range list {
		var p *syntax.Program
		var found []output.Finding
		if in.err != nil {
			found = append(found, unreadable(in.name, in.err))
		} else {
			p, found = in.parse()
		}
		several := len(list) > 1
		switch {
		case p == nil:
			problems = append(problems, found...)
			if several && json {
				_, _ = out.WriteString("null\n")
			}
			continue
		case several && !json:
			_, _ = out.WriteString("--- " + in.name + "\n")
		}
		if err := syntax.Dump(out, p, format); err != nil {
			return written(err)
		}
		_, _ = out.WriteString("\n")
	}
	if err := out.Flush(); err != nil {
		return written(err)
	}
	if err := output.PrintFindings(a.sys.err, output.Human, a.color(), problems); err != nil {
		return written(err)
	}
	for _, f := range problems {
		if f.Level == "error" {
			return errPrinted
		}
	}
	return nil
}

func runPuppetEval(ctx context.Context, a *app, args []string) error {
	l, err := a.language(ctx)
	if err != nil {
		return err
	}
	if a.values.has("batch") {
		if len(args) > 0 || a.values.has("execute") {
			return usagef("Only one of --batch, --execute and a file can be given")
		}
		return l.batch(ctx, a.values.last("batch"))
	}
	list, err := a.given(ctx, args)
	if err != nil {
		return err
	}
	e := l.evaluate(ctx, list[0], eval.Limits{})
	if err := output.PrintEvaluation(a.sys.out, a.format(), a.terminal(), a.color(), e); err != nil {
		return written(err)
	}
	if len(e.Errors) > 0 {
		return errPrinted
	}
	return nil
}
