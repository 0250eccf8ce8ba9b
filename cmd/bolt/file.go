package main

import (
	"context"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/project"
	"bolt/run"
)

// copyOptions are the options of commands that copy files.
type copyOptions struct {
	acting.Options
	source, dest string
}

func (o *copyOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	o.Rolling.Bind(b)
	b.Arg(&o.source)
	b.Second(&o.dest)
}

func runUpload(ctx context.Context, a *app, o *copyOptions) error {
	return a.act(ctx, &o.Options, "upload", o.source, func([]*inventory.Target) (run.Action, error) {
		path, matches, err := project.Upload(a.modules.Find(o.source), home(a.sys))
		if err != nil {
			return nil, err
		}
		return &run.Upload{Source: path, Dest: o.dest, Matches: matches}, nil
	})
}

type downloadOptions struct {
	copyOptions
	limits acting.Limits
}

func (o *downloadOptions) Bind(b *cli.Binder) {
	o.copyOptions.Bind(b)
	o.limits.Bind(b)
}

func (o *downloadOptions) Check() error {
	if err := o.copyOptions.Check(); err != nil {
		return err
	}
	_, err := o.limits.Parse()
	return err
}

func runDownload(ctx context.Context, a *app, o *downloadOptions) error {
	limits, err := o.limits.Parse()
	if err != nil {
		return err
	}
	var d *run.Download
	defer func() { d.RemoveEmpty() }()
	return a.act(ctx, &o.Options, "download", o.source, func(targets []*inventory.Target) (_ run.Action, err error) {
		d, err = run.NewDownload(o.source, o.dest, limits, targets)
		return d, err
	})
}
