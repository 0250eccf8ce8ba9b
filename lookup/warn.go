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

// isFact reports whether a variable in a path stands for a fact.
func isFact(name string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(name, "::"), ".")
	return root == "facts" || slices.Contains(factNames, root)
}

// factNames are the facts that paths of hierarchies use without the prefix
// "facts.": facts of every machine, and the old names of their parts.
var factNames = strings.Fields(`
	architecture clientcert domain fqdn hardwaremodel hostname identity ipaddress is_virtual kernel kernelmajversion kernelrelease
	kernelversion lsbdistcodename lsbdistid macaddress networking operatingsystem operatingsystemmajrelease
	operatingsystemrelease os osfamily processors timezone virtual`)

// tell logs the warnings and messages of a lookup.
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
	// A message that functions of the hierarchy log for several targets is logged
	// once. Repeated messages for the same target are all logged.
	for _, text := range said {
		s.warned[text] = true
	}
}

// tellRefused warns about variables of the inventory whose names are not valid
// in programs, once for all targets that have such a variable.
func (s *Search) tellRefused() {
	for _, what := range slices.Sorted(maps.Keys(s.refused)) {
		s.warn("variable_refused", fmt.Sprintf("A variable that %s has for %s is left out: %s", s.o.Source, nodeset.Fold(s.refused[what]), what))
	}
}

// tellBare warns about targets that get less specific data because bolt has no
// facts of them.
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

// log logs a message of the lookup or of a function of the hierarchy.
func (s *Search) log(ctx context.Context, l eval.Log) {
	if l.Kind != "" {
		s.warn(l.Kind, program.TextOf(l))
		return
	}
	s.o.Logger.Log(ctx, program.Severity(l.Level), program.TextOf(l))
}

// warn logs a warning once, although it can apply to every target.
func (s *Search) warn(id, text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.o.Warn(id, text)
	}
}

// Unlisted returns the folded names of targets that are not in the inventory,
// if there is an inventory. A misspelt name is not an error, because any name
// can be a target. known are the targets of the inventory.
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
