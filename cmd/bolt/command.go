package main

import (
	"context"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/run"
)

type commandOptions struct {
	acting.Options
	line  string
	env   []string
	stdin string
}

func (o *commandOptions) Bind(b *cli.Binder) {
	o.BindPrints(b)
	b.Arg(&o.line)
	b.Text("stdin", &o.stdin)
	bindEnv(b, &o.env)
}

// bindEnv binds variables of the remote environment, NAME=VALUE.
func bindEnv(b *cli.Binder, into *[]string) {
	b.Texts("env-var", into)
	for _, kv := range *into {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsAny(name, " \t\n\x00'\"$`;&|<>()") {
			b.Fail(usagef("Environment variables must be specified using 'myenvvar=key' format"))
		}
	}
}

func runCommand(ctx context.Context, a *app, o *commandOptions) error {
	line, err := a.Arg(ctx, o.line)
	if err != nil {
		return err
	}
	if line == "" {
		return usagef("Must specify a command to run")
	}
	in, closeInput, err := a.Remote(ctx, o.stdin)
	if err != nil {
		return err
	}
	defer closeInput()
	return a.act(ctx, &o.Options, "command", line, func([]*inventory.Target) (run.Action, error) {
		return &run.Command{Line: line, Env: o.env, Input: in}, nil
	})
}
