package releasing

import (
	"context"
	"errors"
	"os"
	"time"

	"bolt/catalog/site"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/ownfile"
	"bolt/internal/readfile"
	"bolt/output/listing"
	"bolt/release"
	"bolt/release/signature"
)

// ListOptions are those of release list.
type ListOptions struct{ StateOptions }

// List prints all releases.
func (v *Invocation) List(ctx context.Context, o *ListOptions) error {
	a, err := v.archive(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	entries, err := a.List(ctx)
	if err != nil {
		return failed(err)
	}
	list := make([]listing.Release, len(entries))
	for i, e := range entries {
		r, err := a.Get(ctx, e.ID)
		if err != nil {
			return failed(err)
		}
		list[i] = *described(e, r, nil)
	}
	return listing.PrintReleases(v.Out, v.How, list)
}

// OneOptions are those of commands that have a release as their argument.
type OneOptions struct {
	StateOptions
	name    string
	signers string // a file
}

// Bind reads the flags and arguments.
func (o *OneOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.name)
	b.Text("allowed-signers", &o.signers)
}

// Show prints a release.
func (v *Invocation) Show(ctx context.Context, o *OneOptions) error {
	_, e, r, err := v.find(ctx, &o.StateOptions, o.name)
	if err != nil {
		return err
	}
	s, err := v.signers(ctx, o.signers)
	if err != nil {
		return err
	}
	return listing.PrintRelease(v.Out, v.How, described(e, r, s))
}

// Verify checks that a release is whole and signed as it must be.
func (v *Invocation) Verify(ctx context.Context, o *OneOptions) error {
	a, e, r, err := v.find(ctx, &o.StateOptions, o.name)
	if err != nil {
		return err
	}
	s, err := v.signers(ctx, o.signers)
	if err != nil {
		return err
	}
	if _, _, err := a.Admit(ctx, e, s, time.Now()); err != nil {
		return failed(err)
	}
	if err := a.Whole(ctx, r); err != nil {
		return failed(err)
	}
	return listing.PrintVerified(v.Out, v.How, described(e, r, s), s != nil)
}

// DiffOptions are those of release diff.
type DiffOptions struct {
	StateOptions
	before, after string
	exitCode      bool
}

// Bind reads the flags and arguments.
func (o *DiffOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.before)
	b.Second(&o.after)
	b.Switch("exit-code", &o.exitCode)
}

// DiffArguments checks one or two releases.
func DiffArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Must specify a release"), "without a second release, it is compared with the last one")
	case len(args) > 2:
		return cli.Errorf("Only two releases can be compared")
	}
	return nil
}

// Diff compares two releases and prints the differences. With --exit-code, it returns cli.ErrDifferent if
// there are any.
func (v *Invocation) Diff(ctx context.Context, o *DiffOptions) error {
	a, _, before, err := v.find(ctx, &o.StateOptions, o.before)
	if err != nil {
		return err
	}
	_, _, after, err := v.find(ctx, &o.StateOptions, o.after)
	if err != nil {
		return err
	}
	d, err := a.Compare(ctx, before, after, v.Vault)
	if err != nil {
		return failed(err)
	}
	found := &site.Differences{Changes: d.Changes, Before: d.Removed, After: d.Added}
	if err := listing.PrintReleaseDifferences(v.Out, v.How, found, d.Programs); err != nil {
		return err
	}
	if o.exitCode && (found.Count() > 0 || d.Applied()) {
		return cli.ErrDifferent
	}
	return nil
}

// SignOptions are those of release sign.
type SignOptions struct {
	StateOptions
	name           string
	key, signature string // files
}

// Bind reads the flags and arguments.
func (o *SignOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.name)
	b.Text("key", &o.key)
	b.Text("signature", &o.signature)
}

// Check refuses options that contradict each other.
func (o *SignOptions) Check() error {
	if (o.key == "") == (o.signature == "") {
		return cli.Hinted(cli.Errorf("Must specify one of --key and --signature"), "--key FILE names an SSH key, --signature FILE a signature of \"ssh-keygen -Y sign -n bolt-release\"")
	}
	return nil
}

// Sign adds a signature to a release.
func (v *Invocation) Sign(ctx context.Context, o *SignOptions) error {
	a, _, r, err := v.find(ctx, &o.StateOptions, o.name)
	if err != nil {
		return err
	}
	var text string
	if o.signature != "" {
		data, err := readfile.Read(ctx, o.signature, readfile.Key)
		if err != nil {
			return fault.File(o.signature, err, "The signature '%s' could not be read: %v", o.signature, fault.WithoutPath(err))
		}
		text = string(data)
	} else {
		k := signature.Key{File: o.key, Agent: v.Agent, Passphrase: func(ctx context.Context, file string) (string, error) {
			return v.Ask(ctx, "Please enter the passphrase of "+file+": ")
		}}
		if text, err = k.Sign(ctx, r.Text, release.Namespace); err != nil {
			return fault.File(o.key, err, "The release could not be signed: %v", err)
		}
	}
	key, err := a.Sign(ctx, r, text)
	if err != nil {
		return failed(err)
	}
	return listing.PrintSigned(v.Out, v.How, r, key)
}

// ExportOptions are those of release export.
type ExportOptions struct {
	StateOptions
	name, file string
}

// Bind reads the flags and arguments.
func (o *ExportOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.name)
	b.Second(&o.file)
}

// ExportArguments checks a release and a file.
func ExportArguments(args []string) error {
	switch {
	case len(args) < 2:
		return cli.Hinted(cli.Errorf("Must specify a release and a file"), "for example: bolt release export last release.tar")
	case len(args) > 2:
		return cli.Errorf("Only one file can be written")
	}
	return nil
}

// Export writes a release to a new file.
func (v *Invocation) Export(ctx context.Context, o *ExportOptions) error {
	a, e, r, err := v.find(ctx, &o.StateOptions, o.name)
	if err != nil {
		return err
	}
	f, err := ownfile.Open(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.File(o.file, err, "The file '%s' could not be made: %v", o.file, fault.WithoutPath(err))
	}
	err = a.Export(ctx, e, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(o.file)
		return failed(err)
	}
	return listing.PrintTransferred(v.Out, v.How, r, o.file, false)
}

// ImportOptions are those of release import.
type ImportOptions struct {
	StateOptions
	file string
}

// Bind reads the flags and arguments.
func (o *ImportOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.file)
}

// Import adds the release of a file.
func (v *Invocation) Import(ctx context.Context, o *ImportOptions) error {
	a, err := v.archive(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	f, err := readfile.Open(o.file)
	if err != nil {
		return fault.File(o.file, err, "The file '%s' could not be read: %v", o.file, fault.WithoutPath(err))
	}
	defer f.Close()
	r, err := a.Import(ctx, f, v.Author, v.waiting)
	if err != nil {
		return failed(err)
	}
	return listing.PrintTransferred(v.Out, v.How, r, o.file, true)
}

// CollectOptions are those of release gc.
type CollectOptions struct {
	StateOptions
	keep cli.Optional
	noop bool
}

// Bind reads the flags.
func (o *CollectOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Optional("keep", &o.keep)
	b.Switch("noop", &o.noop)
}

// Collect removes old releases, and contents that no release needs.
func (v *Invocation) Collect(ctx context.Context, o *CollectOptions) error {
	keep := 0
	if o.keep.Given {
		var err error
		if keep, err = cli.ParseCount(o.keep.Text); err != nil || keep < 1 {
			return cli.Invalid("keep", o.keep.Text)
		}
	}
	a, err := v.archive(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	c, err := a.Collect(ctx, release.CollectOptions{Author: v.Author, Keep: keep, Noop: o.noop, Waiting: v.waiting})
	if err != nil {
		return failed(err)
	}
	return listing.PrintCollected(v.Out, v.How, c, o.noop)
}
