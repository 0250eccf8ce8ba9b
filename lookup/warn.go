package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bolt/environment/program"
	"bolt/internal/nodeset"
	"bolt/inventory"
	"bolt/puppet/eval"
)

// isFact reports whether a variable, as a path has it, is meant for a fact.
func isFact(name string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(name, "::"), ".")
	return root == "facts" || slices.Contains(factNames, root)
}

// factNames are the facts that paths of hierarchies use without facts before
// them: those of every machine, and the old names of their parts.
var factNames = strings.Fields(`
	architecture clientcert domain fqdn hardwaremodel hostname identity ipaddress is_virtual kernel kernelmajversion kernelrelease
	kernelversion lsbdistcodename lsbdistid macaddress networking operatingsystem operatingsystemmajrelease
	operatingsystemrelease os osfamily processors timezone virtual`)

// tell says what a lookup had to say.
func (s *Search) tell(ctx context.Context, f *found) {
	for _, text := range f.odd.Overridden {
		s.warn("variable_overridden", text)
	}
	if f.bare {
		s.bare = append(s.bare, f.result.Target.SafeName())
	}
	for _, err := range f.odd.Refused {
		s.refused[err.Error()] = append(s.refused[err.Error()], f.result.Target.SafeName())
	}
	var said []string
	for _, l := range f.logs {
		if text := program.TextOf(l); l.Kind != "" || !s.warned[text] {
			s.log(ctx, l)
			said = append(said, text)
		}
	}
	// What functions of the hierarchy say counts once, however many targets they
	// say it for; but all of what they say for one of these.
	for _, text := range said {
		s.warned[text] = true
	}
}

// tellRefused warns of the inventory's variables that programs cannot name,
// once for all targets that have one.
func (s *Search) tellRefused() {
	for _, what := range slices.Sorted(maps.Keys(s.refused)) {
		s.warn("variable_refused", fmt.Sprintf("A variable that %s has for %s is left out: %s", s.o.Source, nodeset.Fold(s.refused[what]), what))
	}
}

// tellBare warns of targets that get less specific data than they should.
func (s *Search) tellBare() {
	if s.bare == nil {
		return
	}
	targets := "target"
	if len(s.bare) > 1 {
		targets = "targets"
	}
	s.warn("lookup_no_facts", fmt.Sprintf("%s has no facts for %d %s (%s): levels of the hierarchy that need facts are left out.",
		s.o.Source, len(s.bare), targets, nodeset.Fold(s.bare)))
}

// log passes on what the lookup, or a function of the hierarchy, says.
func (s *Search) log(ctx context.Context, l eval.Log) {
	if l.Kind != "" {
		s.warn(l.Kind, program.TextOf(l))
		return
	}
	s.o.Logger.Log(ctx, program.Severity(l.Level), program.TextOf(l))
}

// warn warns of what may be so for every target, once.
func (s *Search) warn(id, text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.o.Warn(id, text)
	}
}

// Unlisted returns the folded names of targets that are not in the inventory, though
// there is one: as any name can be a target's, a slip in a name is no error. known
// are those of the inventory.
func Unlisted(targets, known []*inventory.Target) string {
	if len(known) == 0 {
		return ""
	}
	listed := make(map[string]bool, len(known))
	for _, t := range known {
		listed[t.Name] = true
	}
	var names []string
	for _, t := range targets {
		if !listed[t.Name] {
			names = append(names, t.SafeName())
		}
	}
	if names == nil {
		return ""
	}
	return nodeset.Fold(names)
}
