package releasing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/catalogs"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/revision"
	"bolt/output/listing"
	"bolt/release"
	"bolt/run"
)

// CreateOptions are those of release create.
type CreateOptions struct {
	StateOptions
	catalogs.Subject
	from   string // a directory of catalogs
	engine string // one of fleet.Engines; "" if the inventory chooses
}

// Bind reads the flags and arguments.
func (o *CreateOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	o.Subject.Bind(b)
	b.Text("from-catalogs", &o.from)
	b.Text("engine", &o.engine)
}

// Check refuses options that contradict each other.
func (o *CreateOptions) Check() error {
	if o.from == "" {
		if !o.Given() {
			return nil // Create looks for the code of the project
		}
		o.AllTargets()
		return o.Subject.Check()
	}
	if o.Compiles() {
		return cli.Hinted(cli.Errorf("Option '--from-catalogs' takes no options that compile catalogs"), "the release has all catalogs of the directory")
	}
	return nil
}

// Create creates a release and prints it. If a node could not be compiled, it creates no release and returns
// cli.ErrFailed.
func (v *Invocation) Create(ctx context.Context, o *CreateOptions) error {
	a, err := v.archive(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	if err := v.standard(o); err != nil {
		return err
	}
	how := release.Options{Author: v.Author, Environment: o.Environment(), Vault: v.Vault, Waiting: v.waiting}
	fill := func(ctx context.Context, d *release.Draft) error { return v.read(ctx, d, o) }
	if o.from == "" {
		if how.Code, err = v.code(ctx, o); err != nil {
			return err
		}
		fill = func(ctx context.Context, d *release.Draft) error { return v.compile(ctx, d, o) }
	}
	r, err := a.Create(ctx, how, fill)
	if errors.Is(err, errCompile) {
		return cli.ErrFailed
	}
	if ctx.Err() != nil {
		return run.ErrStopped // the user knows
	}
	if err != nil {
		return failed(err)
	}
	return listing.PrintCreated(v.Out, v.How, r)
}

// standard chooses the code of the project if no option names any.
func (v *Invocation) standard(o *CreateOptions) error {
	if o.from != "" || o.Given() {
		return nil
	}
	environments, manifest := filepath.Join(v.Project, "environments"), filepath.Join(v.Project, "manifests", "site.pp")
	if info, err := os.Stat(environments); err == nil && info.IsDir() {
		o.Default(environments, nil)
	} else if info, err := os.Stat(manifest); err == nil && info.Mode().IsRegular() {
		o.Default("", []string{manifest})
	}
	o.AllTargets()
	return o.Subject.Check()
}

func (v *Invocation) waiting(author string) {
	v.Logs.Warn("release_waits", fmt.Sprintf("Waiting for another command that changes the releases, of %s.", author))
}

// code returns the version of the code that is compiled; nil if it is not in a git repository.
func (v *Invocation) code(ctx context.Context, o *CreateOptions) (*release.Code, error) {
	if o.Foreign() {
		return nil, nil
	}
	dir := v.Project
	if o.Path() != "" {
		dir = o.Path()
	}
	repo, err := revision.In(ctx, dir, v.Environ)
	if err != nil {
		if ctx.Err() != nil {
			return nil, run.ErrStopped
		}
		v.Logs.Logger().Info("the version of the code is unknown", "dir", dir, "err", err)
		return nil, nil
	}
	c := &release.Code{}
	if c.Commit, c.Dirty, err = repo.Head(ctx, dir, v.dir(&o.StateOptions)); err != nil {
		return nil, fault.New(release.Kind, "The version of the code in %s is unknown: %v", dir, err)
	}
	return c, nil
}

// read adds the catalogs of a directory.
func (v *Invocation) read(ctx context.Context, d *release.Draft, o *CreateOptions) error {
	side, err := site.ReadSide(o.from, v.Vault)
	if err != nil {
		return err
	}
	p := v.programs(o)
	return side.Each(ctx, func(c *catalog.Catalog) error {
		engines, err := p.engines(ctx, []string{c.Name})
		if err != nil {
			return err
		}
		by, err := p.making(ctx, c, engines[c.Name])
		if err != nil {
			return err
		}
		return d.Add(ctx, c.Name, c, by)
	})
}

// errCompile is the error if nodes could not be compiled. The errors were printed.
var errCompile = fault.New(release.Kind, "a node could not be compiled")

// An adder adds each compiled catalog to a draft. So the workers of CompileAll also compare and
// store the catalogs.
type adder struct {
	site.Compiler
	draft    *release.Draft
	programs *programs
	engines  map[string]string // by nodes
}

func (c adder) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	made, err := c.Compiler.Compile(ctx, n)
	if err != nil {
		return nil, err
	}
	by, err := c.programs.making(ctx, made.Catalog, c.engines[n.Name])
	if err == nil {
		err = c.draft.Add(ctx, n.Name, made.Catalog, by)
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return made, nil
}

// A storeError is an error of the store, and not of a node.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// compile compiles the catalogs of nodes and adds them.
func (v *Invocation) compile(ctx context.Context, d *release.Draft, o *CreateOptions) error {
	c, nodes, err := v.Catalogs.Prepare(ctx, &o.Subject)
	if err != nil {
		return err
	}
	p := v.programs(o)
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	engines, err := p.engines(ctx, names)
	if err != nil {
		return err
	}
	var without []*site.Compiled
	for made := range site.CompileAll(ctx, adder{c, d, p, engines}, nodes, v.Catalogs.Timeout) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, l := range made.Logs {
			v.Catalogs.Say(made.Node, l)
		}
		if e, is := errors.AsType[*storeError](made.Err); is {
			return e.err
		}
		if made.Err != nil {
			without = append(without, made)
		}
	}
	if without == nil {
		return nil
	}
	if v.How.Format.Data {
		return uncompiled(without, len(nodes))
	}
	if err := listing.PrintFailures(v.Catalogs.Err, listing.Options{Color: v.Catalogs.ErrColor}, "", without); err != nil {
		return err
	}
	return errCompile
}

// uncompiled is the error for programs if nodes could not be compiled. Its details have the errors
// by node.
func uncompiled(without []*site.Compiled, nodes int) error {
	byNode := &ordered.Map{}
	for _, c := range without {
		byNode.Set(c.Node, site.Failure(c.Node, c.Err).Map())
	}
	e := fault.New(release.Kind, "%d of %d nodes could not be compiled, so bolt did not create a release.", len(without), nodes)
	e.Details = ordered.Of("nodes", byNode)
	return e
}
