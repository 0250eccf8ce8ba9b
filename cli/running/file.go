package running

import (
	"context"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/project"
	"bolt/run"
)

// CopyOptions are the options of commands that copy files.
type CopyOptions struct {
	acting.Options
	source, dest string
}

// NeedPaths is the Check of commands that take a source and a destination.
func NeedPaths(args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return cli.Errorf("Must specify a source")
	case len(args) == 1 || args[1] == "":
		return cli.Errorf("Must specify a destination")
	case len(args) > 2:
		return cli.Hinted(cli.Errorf("Unknown arguments %s", strings.Join(args[2:], ", ")), "put a pattern such as '*.conf' in quotes, so that your shell does not expand it")
	}
	return nil
}

// Bind reads the flags and arguments.
func (o *CopyOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	o.Rolling.Bind(b)
	b.Arg(&o.source)
	b.Second(&o.dest)
}

// Upload carries out file upload.
func (v *Invocation) Upload(ctx context.Context, o *CopyOptions) error {
	return v.Act(ctx, &o.Options, "upload", o.source, func([]*inventory.Target) (run.Action, error) {
		path, matches, err := project.Upload(v.Modules.Find(o.source), v.Home)
		if err != nil {
			return nil, err
		}
		return &run.Upload{Source: path, Dest: o.dest, Matches: matches}, nil
	})
}

// DownloadOptions are the options of file download.
type DownloadOptions struct {
	CopyOptions
	limits acting.Limits
}

// Bind reads the flags and arguments.
func (o *DownloadOptions) Bind(b *cli.Binder) {
	o.CopyOptions.Bind(b)
	o.limits.Bind(b)
}

// Check rejects options that contradict each other.
func (o *DownloadOptions) Check() error {
	if err := o.CopyOptions.Check(); err != nil {
		return err
	}
	_, err := o.limits.Parse()
	return err
}

// Download carries out file download. Directories that it has made and that stay empty are removed.
func (v *Invocation) Download(ctx context.Context, o *DownloadOptions) error {
	limits, err := o.limits.Parse()
	if err != nil {
		return err
	}
	var d *run.Download
	defer func() { d.RemoveEmpty() }()
	return v.Act(ctx, &o.Options, "download", o.source, func(targets []*inventory.Target) (_ run.Action, err error) {
		d, err = run.NewDownload(o.source, o.dest, limits, targets)
		return d, err
	})
}
