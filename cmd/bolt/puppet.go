package main

import "bolt/cli/programs"

// programs returns the parts of this invocation that the commands for programs of the Puppet language use.
func (a *app) programs() *programs.Invocation {
	v := &programs.Invocation{
		Out: results{a.sys.out}, Err: a.sys.err, Console: a.Console, Format: a.format(), Color: a.Color(), ErrColor: a.ErrColor(), Terminal: a.Terminal(),
		Input: a.Input, Stdin: a.sys.in, Project: a.project.Dir, Warn: a.logs.Warn,
	}
	e := &v.Evaluator
	e.Environment, e.Explain, e.Timeout = a.languageOptions(), a.names().Explain, a.timeout()
	e.Level, e.Disabled = a.config.Log.ConsoleLevel, a.config.Log.Disabled
	return v
}
