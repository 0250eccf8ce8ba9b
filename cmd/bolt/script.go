package main

import (
	"context"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/project"
	"bolt/run"
)

type scriptOptions struct {
	acting.Options
	script string
	args   []string
	env    []string
	stdin  string
}

func (o *scriptOptions) Bind(b *cli.Binder) {
	o.BindPrints(b)
	b.Arg(&o.script)
	b.Rest(1, &o.args)
	b.Text("stdin", &o.stdin)
	bindEnv(b, &o.env)
}

func runScript(ctx context.Context, a *app, o *scriptOptions) error {
	in, closeInput, err := a.Remote(ctx, o.stdin)
	if err != nil {
		return err
	}
	defer closeInput()
	return a.act(ctx, &o.Options, "script", o.script, func([]*inventory.Target) (run.Action, error) {
		path := a.modules.Find(o.script)
		data, err := project.Script(ctx, path)
		if err != nil {
			return nil, err
		}
		return &run.Script{Path: path, Data: data, Args: o.args, Env: o.env, Input: in, Interpret: a.config.ScriptInterpreter}, nil
	})
}
