// Package solver finds compatible versions of modules: one for each requested
// module, and one for each of their dependencies.
//
// Newer versions are tried first. If a demand cannot be met, the search goes
// back directly to the choice that caused the failure. If there is no solution,
// the error is a *Conflict with the contradictory demands.
//
// The package does not depend on the Forge or on files: a Source returns the
// versions. Dependencies may be cyclic.
package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"bolt/puppet/semver"
)

// A Range is a set of versions, as metadata of modules writes it.
type Range struct {
	text string
	r    *semver.Range
}

// ParseRange reads a range; "" is all versions.
func ParseRange(text string) (Range, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = ">= 0.0.0"
	}
	r, err := semver.ParseRange(text)
	if err != nil {
		return Range{}, err
	}
	return Range{text, r}, nil
}

// String returns the range as it was written.
func (r Range) String() string { return r.text }

// Includes reports whether a version is in the range. A pre-release is in the
// range only if the range names a pre-release with the same numbers.
func (r Range) Includes(v *semver.Version) bool { return r.r == nil || r.r.Includes(v) }

// A Demand is a requirement for a module in a range of versions.
type Demand struct {
	Module string // owner/name; only the name, if any owner will do
	Range  Range
}

// Name returns the part of a module's name that is the name of its directory.
// Two modules with the same Name cannot be used together.
func Name(module string) string {
	_, name, ok := strings.Cut(module, "/")
	if !ok {
		name = module
	}
	return strings.ToLower(name)
}

// A Candidate is one version of a module.
type Candidate struct {
	Module   string          // owner/name, or name
	Version  *semver.Version // nil is one that nobody knows, which meets all demands
	Requires []Demand
	// Fixed is set if the project sets the source of the module: it then
	// replaces a module of any owner.
	Fixed bool
	Data  any // the Source's own
}

// A Source returns the versions of modules. It is called from several
// goroutines, once for each module.
type Source interface {
	// Candidates returns all versions, in any order. An empty list without an
	// error means that the module does not exist.
	Candidates(ctx context.Context, module string) ([]Candidate, error)
}

// Options are preferences.
type Options struct {
	// Prefer is the version of a module that is tried first, by the module's
	// Name.
	Prefer map[string]string
}

// A Conflict is the reason why there is no solution.
type Conflict struct {
	Summary string   // one line
	Demands []string // who demands what
}

func (c *Conflict) Error() string {
	if len(c.Demands) == 0 {
		return c.Summary
	}
	return c.Summary + ":\n  " + strings.Join(c.Demands, "\n  ")
}

// maxSteps limits the search. Real sets of modules need some hundred steps.
const maxSteps = 200_000

// Solve returns a version for each requested module, in that order, followed by
// their dependencies, sorted by name. The error is a *Conflict, or the
// Source's.
func Solve(ctx context.Context, wants []Demand, source Source, o Options) ([]Candidate, error) {
	s := &solver{source: source, o: o, known: map[string][]Candidate{}, demands: map[string][]demand{}, chosen: map[string]*Candidate{}}
	for _, d := range wants {
		s.order = append(s.order, Name(d.Module))
		s.add(d, "")
	}
	if _, ok, err := s.search(ctx); err != nil {
		return nil, err
	} else if !ok {
		return nil, s.first
	}
	var answer []Candidate
	for _, name := range s.order {
		if c := s.chosen[name]; c != nil {
			answer = append(answer, *c)
			delete(s.chosen, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.chosen)) {
		answer = append(answer, *s.chosen[name])
	}
	return answer, nil
}

// A demand is a Demand and the name of the chosen module that makes it, "" for
// the project.
type demand struct {
	Demand
	by string
}

type solver struct {
	source Source
	o      Options
	order  []string // names of what the project wants

	known   map[string][]Candidate // by module, the best first
	demands map[string][]demand    // by name
	chosen  map[string]*Candidate  // by name
	steps   int
	first   *Conflict // the first that was met: that of the newest versions
}

// A set of names of chosen modules.
type set map[string]bool

func (s *solver) add(d Demand, by string) {
	name := Name(d.Module)
	s.demands[name] = append(s.demands[name], demand{d, by})
}

// remove removes the demands of a module.
func (s *solver) remove(by string) {
	for name, list := range s.demands {
		list = slices.DeleteFunc(slices.Clone(list), func(d demand) bool { return d.by == by })
		if len(list) == 0 {
			delete(s.demands, name)
		} else {
			s.demands[name] = list
		}
	}
}

// search chooses a version for every demanded module that has none. If it
// cannot, it returns the chosen modules that cause the failure.
func (s *solver) search(ctx context.Context) (blame set, ok bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if s.steps++; s.steps > maxSteps {
		return nil, false, &Conflict{Summary: fmt.Sprintf("no set of versions was found in %d steps; name versions of more modules in the project", maxSteps)}
	}
	if err := s.fetch(ctx); err != nil {
		return nil, false, err
	}
	name := s.pick()
	if name == "" {
		return nil, true, nil
	}
	blame = set{}
	for _, d := range s.demands[name] {
		blame[d.by] = true
	}
	candidates := s.candidates(name)
	if !slices.ContainsFunc(candidates, func(c *Candidate) bool { return s.meets(c, name) }) {
		s.note(s.unmet(name, candidates))
	}
	for _, c := range candidates {
		if !s.meets(c, name) {
			continue // those who demand are blamed already
		}
		if rival, d := s.clash(c); rival != "" {
			s.note(s.clashing(name, c, rival, d))
			blame[rival] = true
			continue
		}
		s.chosen[name] = c
		for _, d := range c.Requires {
			s.add(d, name)
		}
		deeper, ok, err := s.search(ctx)
		if err != nil || ok {
			return nil, ok, err
		}
		delete(s.chosen, name)
		s.remove(name)
		if !deeper[name] {
			return deeper, false, nil // another version of this one would change nothing
		}
		maps.Copy(blame, deeper)
		delete(blame, name)
	}
	return blame, false, nil
}

// pick returns the module to choose next: one with a preferred version first,
// then the requested modules in order, then the module with the fewest
// versions.
func (s *solver) pick() string {
	best, bestRank, bestCount := "", 0, 0
	for name := range s.demands {
		if s.chosen[name] != nil {
			continue
		}
		rank := 2 + len(s.order)
		if i := slices.Index(s.order, name); i >= 0 {
			rank = 1 + i
		}
		if s.o.Prefer[name] != "" {
			rank -= 2 + 2*len(s.order)
		}
		count := len(s.candidates(name))
		if best == "" || rank < bestRank || rank == bestRank && (count < bestCount || count == bestCount && name < best) {
			best, bestRank, bestCount = name, rank, count
		}
	}
	return best
}

// candidates returns the versions of what is demanded by a name. Demands for
// modules of two owners have none, unless the project says which one it is.
func (s *solver) candidates(name string) []*Candidate {
	var list []*Candidate
	module := ""
	for _, d := range s.demands[name] {
		known := s.known[d.Module]
		switch {
		case len(known) > 0 && known[0].Fixed:
			return pointers(known)
		case module == "":
			module = d.Module
			list = pointers(known)
		case !strings.EqualFold(module, d.Module):
			return nil
		}
	}
	return list
}

func pointers(list []Candidate) []*Candidate {
	p := make([]*Candidate, len(list))
	for i := range list {
		p[i] = &list[i]
	}
	return p
}

// meets reports whether a version meets all current demands for it.
func (s *solver) meets(c *Candidate, name string) bool {
	for _, d := range s.demands[name] {
		if c.Version != nil && !d.Range.Includes(c.Version) || !c.Fixed && !strings.EqualFold(c.Module, d.Module) {
			return false
		}
	}
	return true
}

// clash returns a chosen module that does not meet a demand of c.
func (s *solver) clash(c *Candidate) (rival string, d Demand) {
	for _, d := range c.Requires {
		name := Name(d.Module)
		other := s.chosen[name]
		if name == Name(c.Module) {
			other = c
		}
		if other == nil {
			continue
		}
		if other.Version != nil && !d.Range.Includes(other.Version) || !other.Fixed && !strings.EqualFold(other.Module, d.Module) {
			return name, d
		}
	}
	return "", Demand{}
}

// fetches is the number of parallel requests to the source.
const fetches = 8

// fetch requests the versions of all demanded modules that are not known.
func (s *solver) fetch(ctx context.Context) error {
	var missing []string
	for _, list := range s.demands {
		for _, d := range list {
			if _, known := s.known[d.Module]; !known && !slices.Contains(missing, d.Module) {
				missing = append(missing, d.Module)
			}
		}
	}
	slices.Sort(missing)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([][]Candidate, len(missing))
	var wg sync.WaitGroup
	limit := make(chan struct{}, fetches)
	for i, module := range missing {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if ctx.Err() != nil {
				return
			}
			list, err := s.source.Candidates(ctx, module)
			if err != nil {
				cancel(err) // the first one counts
				return
			}
			results[i] = list
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, module := range missing {
		s.known[module] = s.sorted(results[i])
	}
	return nil
}

// sorted returns the preferred version, followed by the others, newest first.
func (s *solver) sorted(list []Candidate) []Candidate {
	list = slices.Clone(list)
	preferred := func(c Candidate) bool {
		return c.Version != nil && c.Version.String() == s.o.Prefer[Name(c.Module)]
	}
	slices.SortStableFunc(list, func(a, b Candidate) int {
		switch pa, pb := preferred(a), preferred(b); {
		case pa && !pb:
			return -1
		case pb && !pa:
			return 1
		case a.Version == nil || b.Version == nil:
			return 0
		}
		return b.Version.Compare(a.Version)
	})
	return list
}

// IsConflict reports whether an error is a Conflict.
func IsConflict(err error) bool {
	_, ok := errors.AsType[*Conflict](err)
	return ok
}
