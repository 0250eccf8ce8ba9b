package main

import (
	"context"

	"bolt/cli/programs"
)

// programs returns the parts of this invocation that the commands for programs of the Puppet language use.
func (a *app) programs() *programs.Invocation {
	a.warnModulepath()
	v := &programs.Invocation{
		Out: results{a.sys.out}, Err: a.sys.err, Console: a.Console, Format: a.format(), Color: a.Color(), ErrColor: a.ErrColor(), Terminal: a.Terminal(),
		Input: a.Input, Stdin: a.sys.in, Project: a.project.Dir, Warn: a.logs.Warn,
	}
	e := &v.Evaluator
	e.Environment, e.Explain, e.Timeout = a.languageOptions(), a.names().Explain, a.timeout()
	e.Level, e.Disabled = a.config.Log.ConsoleLevel, a.config.Log.Disabled
	return v
}

// concluded returns the error of work whose errors were printed.
func concluded(failed bool, err error) error {
	if err == nil && failed {
		return errPrinted
	}
	return stopped(err)
}

func runPuppetValidate(ctx context.Context, a *app, o *programs.ValidateOptions) error {
	return concluded(a.programs().Validate(ctx, o))
}

func runPuppetDump(ctx context.Context, a *app, o *programs.DumpOptions) error {
	return concluded(a.programs().Dump(ctx, o))
}

func runPuppetEval(ctx context.Context, a *app, o *programs.EvalOptions) error {
	return concluded(a.programs().Eval(ctx, o))
}
