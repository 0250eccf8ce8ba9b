package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/cli"
	"bolt/project"
)

type projectInitOptions struct {
	name    string
	modules string // separated by commas
}

func (o *projectInitOptions) Bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Text("modules", &o.modules)
}

func runProjectInit(ctx context.Context, a *app, o *projectInitOptions) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if a.project.Origin == project.FromOption {
		dir = a.project.Dir
	}
	specs := strings.FieldsFunc(o.modules, func(r rune) bool { return r == ',' || r == ' ' })
	undo, err := project.Create(dir, o.name, specs)
	if err != nil {
		return err
	}
	if len(specs) > 0 {
		if err := a.installInto(ctx, dir); err != nil {
			undo()
			return err
		}
	}
	_, err = fmt.Fprintln(a.messages(), "Successfully created Bolt project at "+dir)
	return written(err)
}

// installInto installs the modules of a new project, which has its own
// configuration.
func (a *app) installInto(ctx context.Context, dir string) error {
	sys := a.sys
	sys.lookup = func(name string) (string, bool) {
		if name == projectVariable {
			return dir, true
		}
		return a.sys.lookup(name)
	}
	values := cli.Values{}
	for _, name := range []string{"log-level", "color"} {
		if a.values.Has(name) {
			values[name] = a.values[name]
		}
	}
	made, err := openApp(ctx, sys, a.flags, values, noFiles)
	if err != nil {
		return err
	}
	defer made.close()
	made.config.Format = a.config.Format
	return made.installing().Into(ctx)
}
