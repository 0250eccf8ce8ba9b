package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/format/fault"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/modules/install/puppetfile"
	"bolt/modules/install/solver"
)

// workers is the number of concurrent downloads.
const workers = 8

// each calls f for all numbers below n, in at most workers goroutines. If a call
// fails, each cancels the others and returns the first error.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if ctx.Err() != nil {
				return
			}
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// A source returns the available versions of modules to the solver. A module in
// fixed has one version, and the other modules have the releases of the Forge.
type source struct {
	in    *Installer
	fixed map[string]solver.Candidate // modules from repositories and directories, by name
}

// Candidates implements solver.Source.
func (s *source) Candidates(ctx context.Context, module string) ([]solver.Candidate, error) {
	if c, ok := s.fixed[solver.Name(module)]; ok {
		return []solver.Candidate{c}, nil
	}
	releases, err := s.in.o.Forge.Releases(ctx, module)
	if errors.Is(err, forge.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &fault.Error{Kind: "bolt/module-resolver-error", Msg: "Unable to resolve modules: " + err.Error(), Err: err}
	}
	var list []solver.Candidate
	for _, r := range releases {
		if c, ok := candidate(r); ok {
			list = append(list, c)
		}
	}
	if list == nil {
		return nil, fault.New("bolt/module-resolver-error", "Unable to resolve modules: no release of %s on %s has valid metadata.", module, s.in.o.Forge.Host())
	}
	return list, nil
}

// candidate converts a release for the solver. ok is false if the release has an
// invalid version or dependency.
func candidate(r forge.Release) (solver.Candidate, bool) {
	v, err := parseVersion(r.Version)
	if err != nil || v.String() != r.Version {
		return solver.Candidate{}, false
	}
	c := solver.Candidate{Module: r.Module, Version: v, Data: r}
	for _, d := range r.Dependencies {
		demand, err := parseDemand(d.Module, d.Range)
		if err != nil {
			return solver.Candidate{}, false
		}
		c.Requires = append(c.Requires, demand)
	}
	return c, true
}

// kept is an old resolution, whose versions a new resolution prefers.
type kept struct {
	file  *puppetfile.File // can be nil
	specs []string         // the specs that file was resolved from; nil if they are not known
}

// commit returns the commit that the old resolution has for a spec, or "".
func (k kept) commit(s Spec) string {
	if k.file == nil || !slices.Contains(k.specs, s.String()) {
		return ""
	}
	for _, m := range k.file.Modules {
		if m.Git == s.Git && gitcache.IsCommit(m.Ref) && (s.Name == "" || s.Name == m.Name()) {
			return m.Ref
		}
	}
	return ""
}

// versions returns the old versions of the modules from the Forge, by name.
func (k kept) versions() map[string]string {
	list := map[string]string{}
	if k.file != nil {
		for _, m := range k.file.Modules {
			if m.Git == "" && m.Path == "" && !m.Local {
				list[m.Name()] = m.Version
			}
		}
	}
	return list
}

// resolve returns a Puppetfile that meets specs. It stores the chosen releases of
// the Forge in in.releases.
func (in *Installer) resolve(ctx context.Context, specs []Spec, old kept) (*puppetfile.File, error) {
	found := make([]fixedModule, len(specs))
	err := each(ctx, len(specs), func(ctx context.Context, i int) (err error) {
		switch s := specs[i]; {
		case s.AsIs:
		case s.Git != "":
			found[i], err = in.lookAt(ctx, s, old.commit(s))
		case s.Path != "":
			found[i], err = in.lookInto(ctx, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	src := &source{in: in, fixed: map[string]solver.Candidate{}}
	var wants []solver.Demand
	var asIs []puppetfile.Module
	named := slices.Clone(specs)
	for i, s := range specs {
		switch {
		case s.AsIs && s.Git != "":
			asIs = append(asIs, puppetfile.Module{Title: s.Name, Git: s.Git, Ref: s.Ref})
		case s.AsIs && s.Path != "":
			asIs = append(asIs, puppetfile.Module{Title: s.Name, Path: s.Path})
		case s.AsIs:
			if s.written != "" {
				if _, err := parseVersion(s.written); err != nil {
					return nil, invalid("Invalid version for Forge module %s: %q. With 'resolve: false' it must be one version.", s.Name, s.written)
				}
			}
			asIs = append(asIs, puppetfile.Module{Title: s.Name, Version: s.written})
		case s.Git != "" || s.Path != "":
			g := found[i]
			named[i].Name = g.name
			// The owner is ignored, because a fork has the name of the module that it replaces.
			src.fixed[g.name] = solver.Candidate{Module: g.name, Version: g.version, Requires: g.requires, Fixed: true,
				Data: puppetfile.Module{Title: g.name, Git: s.Git, Ref: g.commit, Path: s.Path}}
			wants = append(wants, solver.Demand{Module: g.name})
		default:
			wants = append(wants, solver.Demand{Module: s.Name, Range: s.Range})
		}
	}
	if err := unique(named); err != nil {
		return nil, err
	}
	answer, err := solver.Solve(ctx, wants, src, solver.Options{Prefer: old.versions()})
	if solver.IsConflict(err) {
		return nil, &fault.Error{Kind: "bolt/module-resolver-error", Msg: "Unable to resolve modules: " + err.Error(), Err: err}
	}
	if err != nil {
		return nil, err
	}
	f := &puppetfile.File{Managed: true, ModuleDir: managedName}
	for _, c := range answer {
		switch d := c.Data.(type) {
		case puppetfile.Module:
			f.Modules = append(f.Modules, d)
		case forge.Release:
			f.Modules = append(f.Modules, puppetfile.Module{Title: c.Module, Version: d.Version})
			in.releases[strings.ToLower(c.Module)+" "+d.Version] = d
		default:
			return nil, fmt.Errorf("internal error: a version of %s without its source", c.Module)
		}
	}
	var rivals []string
	for _, m := range asIs {
		if slices.ContainsFunc(f.Modules, func(o puppetfile.Module) bool { return o.Name() == m.Name() }) {
			rivals = append(rivals, m.Name())
		}
	}
	if rivals != nil {
		return nil, fault.New("bolt/module-name-conflict-error", "Modules with 'resolve: false' have the names of modules that other modules depend on: %s. "+
			"Remove 'resolve: false', or set it for the modules that depend on them.", strings.Join(rivals, ", "))
	}
	f.Modules = append(f.Modules, asIs...)
	return f, nil
}
