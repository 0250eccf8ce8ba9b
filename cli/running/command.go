package running

import (
	"context"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/run"
)

// CommandOptions are the options of command run.
type CommandOptions struct {
	acting.Options
	line  string
	env   []string
	stdin string
}

// NeedCommand is the Check of commands that take a command line.
func NeedCommand(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cli.Errorf("Must specify a command to run")
	}
	return cli.Hinted(cli.NoArguments(args[1:]), "the command is one argument: put it in quotes")
}

// Bind reads the flags and arguments.
func (o *CommandOptions) Bind(b *cli.Binder) {
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
			b.Fail(cli.Errorf("Environment variables must be specified using 'myenvvar=key' format"))
		}
	}
}

// Command carries out command run. The argument can refer to a file or to standard input.
func (v *Invocation) Command(ctx context.Context, o *CommandOptions) error {
	line, err := v.Arg(ctx, o.line)
	if err != nil {
		return err
	}
	if line == "" {
		return cli.Errorf("Must specify a command to run")
	}
	in, closeInput, err := v.Input.Remote(ctx, o.stdin)
	if err != nil {
		return err
	}
	defer closeInput()
	return v.Act(ctx, &o.Options, "command", line, func([]*inventory.Target) (run.Action, error) {
		return &run.Command{Line: line, Env: o.env, Input: in}, nil
	})
}
