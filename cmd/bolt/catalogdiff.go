package main

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
)

type diffOptions struct {
	code          compileOptions // of revisions
	before, after string         // after is "" for the files as they are now
	exitCode      bool
}

func (o *diffOptions) bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) > 0 {
		o.before = args[0]
	}
	if len(args) > 1 {
		o.after = args[1]
	}
	b.Switch("exit-code", &o.exitCode)
	o.code.bindNodes(b)
}

func (o *diffOptions) Check() error {
	if o.code.path == "" {
		if o.after == "" {
			return hinted(usagef("Must specify two catalogs"), "give two files, two directories with a file for each node, or a git revision with --environment-path")
		}
		if o.code.named() || o.code.classes != nil {
			return usagef("Options that choose nodes need --environment-path, for catalogs of git revisions")
		}
		return nil
	}
	if err := o.code.foreign.check(&o.code, false); err != nil {
		return err
	}
	return o.code.checkNodes()
}

// wordsOfCatalogDiff are two files, directories or revisions.
func wordsOfCatalogDiff(args []string) error {
	switch {
	case len(args) == 0:
		return hinted(usagef("Must specify two catalogs"), "give two files, two directories with a file for each node, or git revisions with --environment-path")
	case len(args) > 2:
		return usagef("Only two catalogs can be compared")
	case slices.Contains(args, ""):
		return hinted(usagef("The name of a catalog or of a revision is empty"), "look whether a variable of your script is not set")
	}
	return nil
}

func runCatalogDiff(ctx context.Context, a *app, o *diffOptions) error {
	before, whole, err := a.side(ctx, o, o.before, false)
	if err != nil {
		return err
	}
	after, alsoWhole, err := a.side(ctx, o, o.after, true)
	if err != nil {
		return err
	}
	if !whole || !alsoWhole { // a node that failed on one side is on neither
		before.Keep(after)
		after.Keep(before)
	}
	changes, different, err := site.Compare(ctx, before, after)
	if err != nil {
		return stopped(err)
	}
	if err := listing.PrintDifferences(a.sys.out, listing.Options{Format: a.format(), Color: a.Color()}, changes); err != nil {
		return written(err)
	}
	switch {
	case !whole || !alsoWhole:
		return errFailedTargets
	case o.exitCode && different:
		return errDifferent
	}
	return nil
}

// side are the catalogs that an argument names: those of files, or those of a revision, which
// are compiled. "" is the code as it is now. whole is false if a node failed. last is set for the
// side whose messages are told.
func (a *app) side(ctx context.Context, o *diffOptions, arg string, last bool) (s *site.Side, whole bool, err error) {
	if arg == "" {
		s, failed, err := a.compiledSide(ctx, &o.code, last)
		if err != nil {
			return nil, false, err
		}
		return s, failed == nil, a.tellFailed("the files as they are now", failed)
	}
	if _, err := os.Stat(arg); o.code.path == "" || !errors.Is(err, fs.ErrNotExist) {
		s, err := site.ReadSide(arg)
		if err != nil && o.code.path == "" {
			if e, is := errors.AsType[*fault.Error](err); is && errors.Is(e.Err, fs.ErrNotExist) {
				e.Hint = "To compile the catalogs of a git revision, give --environment-path and the nodes (-t or --node)."
			}
		}
		return s, true, err
	}
	repo, err := revision.In(ctx, o.code.path, a.sys.environ())
	if err != nil {
		return nil, false, fault.New(site.Kind, "'%s' is no file, and cannot be a git revision: %v", arg, err)
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
	s, failed, err := a.compiledSide(ctx, &code, last)
	if err != nil {
		return nil, false, ofRevision(err, dir, arg)
	}
	for _, c := range failed {
		c.Err = ofRevision(c.Err, dir, arg)
	}
	return s, failed == nil, a.tellFailed(arg, failed)
}

// ofRevision replaces the directory with the files of a revision in an error: git names them
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

// tellFailed prints the errors of the nodes of one side on standard error.
func (a *app) tellFailed(name string, failed []*site.Compiled) error {
	if failed == nil {
		return nil
	}
	return written(listing.PrintFailures(a.sys.err, listing.Options{Color: a.ErrColor()}, " in "+name, failed))
}

// compiledSide compiles the catalogs of nodes. failed are the nodes without a catalog.
func (a *app) compiledSide(ctx context.Context, code *compileOptions, last bool) (side *site.Side, failed []*site.Compiled, err error) {
	with, err := a.compiler(ctx, code)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := a.nodes(ctx, code)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.exporting(ctx, code, with, nodes)
	if err != nil {
		return nil, nil, err
	}
	made := make(map[string]*catalog.Catalog)
	for c := range site.CompileAll(ctx, s, nodes, a.timeout()) {
		if ctx.Err() != nil {
			return nil, nil, errPrinted // the user knows
		}
		for _, l := range c.Logs {
			if last && l.Level >= eval.Warning {
				a.sayOfNode(c.Node, l)
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

type findOptions struct {
	resource string
	paths    []string
}

func (o *findOptions) bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) > 1 {
		o.resource, o.paths = args[0], args[1:]
	}
}

// wordsOfCatalogFind are a resource, and files or directories.
func wordsOfCatalogFind(args []string) error {
	if len(args) < 2 {
		return hinted(usagef("Must specify a resource and where to find it"), "for example: bolt catalog find 'File[/etc/motd]' catalogs/")
	}
	return nil
}

func runCatalogFind(ctx context.Context, a *app, o *findOptions) error {
	sides := make([]*site.Side, len(o.paths))
	for i, path := range o.paths {
		var err error
		if sides[i], err = site.ReadSide(path); err != nil {
			return err
		}
	}
	found, nodes, err := site.Search(ctx, sides, o.resource)
	if err != nil {
		return stopped(err)
	}
	if err := listing.PrintFound(a.sys.out, listing.Options{Format: a.format(), Color: a.Color()}, found, nodes); err != nil {
		return written(err)
	}
	if len(found) == 0 {
		return errFailedTargets
	}
	return nil
}
