package running

import (
	"context"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/project"
	"bolt/run"
)

// ScriptOptions are the options of script run.
type ScriptOptions struct {
	acting.Options
	script string
	args   []string
	env    []string
	stdin  string
}

// NeedScript is the Check of commands that take a script and its arguments.
func NeedScript(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cli.Errorf("Must specify a script to run")
	}
	return nil
}

// Bind reads the flags and arguments.
func (o *ScriptOptions) Bind(b *cli.Binder) {
	o.BindPrints(b)
	b.Arg(&o.script)
	b.Rest(1, &o.args)
	b.Text("stdin", &o.stdin)
	bindEnv(b, &o.env)
}

// Script carries out script run.
func (v *Invocation) Script(ctx context.Context, o *ScriptOptions) error {
	in, closeInput, err := v.Input.Remote(ctx, o.stdin)
	if err != nil {
		return err
	}
	defer closeInput()
	return v.Act(ctx, &o.Options, "script", o.script, func([]*inventory.Target) (run.Action, error) {
		path := v.Modules.Find(o.script)
		data, err := project.Script(ctx, path)
		if err != nil {
			return nil, err
		}
		return &run.Script{Path: path, Data: data, Args: o.args, Env: o.env, Input: in, Interpret: v.Config.ScriptInterpreter}, nil
	})
}
