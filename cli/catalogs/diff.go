package catalogs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/revision"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/run"
)

// DiffOptions are the options of catalog diff.
type DiffOptions struct {
	code          selection // of revisions
	before, after string    // after is "" for the present files
	exitCode      bool
}

// Bind reads the flags and arguments.
func (o *DiffOptions) Bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) > 0 {
		o.before = args[0]
	}
	if len(args) > 1 {
		o.after = args[1]
	}
	b.Switch("exit-code", &o.exitCode)
	o.code.bind(b)
}

// Check rejects options that contradict each other.
func (o *DiffOptions) Check() error {
	if o.code.path == "" {
		if o.after == "" {
			return cli.Hinted(cli.Errorf("Must specify two catalogs"), "give two files, two directories with a file for each node, or a git revision with --environment-path")
		}
		if o.code.given() {
			return cli.Errorf("Options that choose nodes need --environment-path, for catalogs of git revisions")
		}
		return nil
	}
	return o.code.check(false)
}

// DiffArguments checks one or two files, directories or revisions.
func DiffArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Must specify two catalogs"), "give two files, two directories with a file for each node, or git revisions with --environment-path")
	case len(args) > 2:
		return cli.Errorf("Only two catalogs can be compared")
	case slices.Contains(args, ""):
		return cli.Hinted(cli.Errorf("The name of a catalog or of a revision is empty"), "check that the variables of your script are set")
	}
	return nil
}

// Diff compares catalogs and prints the differences. It returns cli.ErrFailed if a node could not be
// compiled, or else, with --exit-code, cli.ErrDifferent if there are differences.
func (v *Invocation) Diff(ctx context.Context, o *DiffOptions) error {
	before, whole, err := v.side(ctx, o, o.before, false)
	if err != nil {
		return err
	}
	after, alsoWhole, err := v.side(ctx, o, o.after, true)
	if err != nil {
		return err
	}
	if !whole || !alsoWhole { // a node that failed on one side is left out on both sides
		before.Keep(after)
		after.Keep(before)
	}
	found, err := site.Compare(ctx, before, after)
	if err != nil {
		return err
	}
	if err := listing.PrintDifferences(v.Out, listing.Options{Format: v.Format, Color: v.Color}, found); err != nil {
		return err
	}
	switch {
	case !whole || !alsoWhole:
		return cli.ErrFailed
	case o.exitCode && found.Count() > 0:
		return cli.ErrDifferent
	}
	return nil
}

// side returns the catalogs of an argument: it reads files, and compiles a revision. "" stands for the
// present code. whole is false if a node failed. last is set for the side whose messages are printed.
func (v *Invocation) side(ctx context.Context, o *DiffOptions, arg string, last bool) (s *site.Side, whole bool, err error) {
	if arg == "" {
		s, failed, err := v.compiledSide(ctx, &o.code, last)
		if err != nil {
			return nil, false, err
		}
		return s, failed == nil, v.printFailed("the files as they are now", failed)
	}
	if _, err := os.Stat(arg); o.code.path == "" || !errors.Is(err, fs.ErrNotExist) {
		s, err := site.ReadSide(arg, v.Vault)
		if err != nil && o.code.path == "" {
			if e, is := errors.AsType[*fault.Error](err); is && errors.Is(e.Err, fs.ErrNotExist) {
				e.Hint = "To compile the catalogs of a git revision, give --environment-path and the nodes (-t or --node)."
			}
		}
		return s, true, err
	}
	repo, err := revision.In(ctx, o.code.path, v.Environ)
	if err != nil {
		return nil, false, fault.New(site.Kind, "'%s' is not a file, and cannot be a git revision: %v", arg, err)
	}
	rel, err := repo.Relative(o.code.path)
	if err != nil {
		return nil, false, fault.New(site.Kind, "'%s' cannot be compiled: %v", arg, err)
	}
	if !repo.Has(ctx, arg) {
		return nil, false, fault.New(site.Kind, "'%s' is neither a file, nor a directory, nor a git revision of '%s'.", arg, o.code.path)
	}
	dir, err := os.MkdirTemp("", "bolt-revision-")
	if err != nil {
		return nil, false, fault.New(site.Kind, "The files of '%s' could not be written: %v", arg, err)
	}
	defer os.RemoveAll(dir)
	if err := repo.Write(ctx, arg, dir); err != nil {
		return nil, false, fault.New(site.Kind, "The files of '%s' could not be written: %v", arg, err)
	}
	code := o.code
	code.path = filepath.Join(dir, rel)
	s, failed, err := v.compiledSide(ctx, &code, last)
	if err != nil {
		return nil, false, ofRevision(err, dir, arg)
	}
	for _, c := range failed {
		c.Err = ofRevision(c.Err, dir, arg)
	}
	return s, failed == nil, v.printFailed(arg, failed)
}

// ofRevision replaces the directory with the files of a revision in an error, because git names files
// REVISION:PATH.
func ofRevision(err error, dir, rev string) error {
	if !strings.Contains(err.Error(), dir) {
		return err
	}
	e := fault.New(site.Kind, "%s", strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), rev+":"))
	if f, is := errors.AsType[*fault.Error](err); is {
		e.Hint = f.Hint
	}
	return e
}

// printFailed prints the errors of the nodes of one side on standard error.
func (v *Invocation) printFailed(name string, failed []*site.Compiled) error {
	if failed == nil {
		return nil
	}
	return listing.PrintFailures(v.Err, listing.Options{Color: v.ErrColor}, " in "+name, failed)
}

// compiledSide compiles the catalogs of nodes. failed are the nodes without a catalog.
func (v *Invocation) compiledSide(ctx context.Context, code *selection, last bool) (side *site.Side, failed []*site.Compiled, err error) {
	s, nodes, err := v.prepare(ctx, code, nil)
	if err != nil {
		return nil, nil, err
	}
	made := make(map[string]*catalog.Catalog)
	for c := range site.CompileAll(ctx, s, nodes, v.Timeout) {
		if ctx.Err() != nil {
			return nil, nil, run.ErrStopped // the user knows it
		}
		for _, l := range c.Logs {
			if last && l.Level >= eval.Warning {
				v.Say(c.Node, l)
			}
		}
		if c.Err != nil {
			failed = append(failed, c)
			continue
		}
		made[c.Node] = c.Catalog
	}
	return site.CompiledSide(made), failed, nil
}
