package solver

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/semver"
)

// note keeps the first conflict: it is about the newest versions, which are
// what people think of.
func (s *solver) note(c *Conflict) {
	if s.first == nil {
		s.first = c
	}
}

// project is who makes the demands that nobody else does.
const project = "the project"

// who names the one that makes a demand, with its version.
func (s *solver) who(by string) string {
	if by == "" {
		return project
	}
	return describe(s.chosen[by])
}

func describe(c *Candidate) string {
	if c.Version == nil {
		return c.Module
	}
	return c.Module + " " + c.Version.String()
}

// demanded returns a description of a demand.
func demanded(d Demand) string {
	if d.Range.text == "" || d.Range.text == ">= 0.0.0" {
		return d.Module
	}
	return d.Module + " " + d.Range.text
}

// unmet returns the conflict of a module of which no version meets all demands.
func (s *solver) unmet(name string, candidates []*Candidate) *Conflict {
	list := s.demands[name]
	c := &Conflict{Demands: s.lines(list)}
	module := list[0].Module
	missing := slices.IndexFunc(list, func(d demand) bool { return len(s.known[d.Module]) == 0 })
	switch {
	case missing >= 0:
		c.Summary = fmt.Sprintf("module %s does not exist", list[missing].Module)
	case len(candidates) == 0:
		c.Summary = fmt.Sprintf("modules of different owners are called %s, and only one can be installed", name)
	case len(list) == 1:
		c.Summary = fmt.Sprintf("no version of %s is right", module)
		c.Demands = append(c.Demands, versions(module, candidates))
	default:
		c.Summary = fmt.Sprintf("no version of %s is right for all", module)
		c.Demands = append(c.Demands, versions(module, candidates))
	}
	return c
}

// clashing returns the conflict of a version that demands something else of a module
// that was chosen before.
func (s *solver) clashing(name string, c *Candidate, rival string, d Demand) *Conflict {
	if rival == name { // it demands another version of itself
		return &Conflict{Summary: fmt.Sprintf("%s needs %s, which is another version of itself", describe(c), demanded(d))}
	}
	s.chosen[name] = c // so that lines can name it
	defer delete(s.chosen, name)
	list := append(slices.Clone(s.demands[rival]), demand{d, name})
	conflict := &Conflict{
		Summary: fmt.Sprintf("no version of %s is right for all", s.chosen[rival].Module),
		Demands: s.lines(list),
	}
	if !strings.EqualFold(s.chosen[rival].Module, d.Module) && !s.chosen[rival].Fixed {
		conflict.Summary = fmt.Sprintf("modules of different owners are called %s, and only one can be installed", rival)
	} else {
		conflict.Demands = append(conflict.Demands, versions(s.chosen[rival].Module, s.candidates(rival)))
	}
	return conflict
}

// lines says who makes demands, and why those are there who do.
func (s *solver) lines(list []demand) []string {
	var lines []string
	told := set{"": true}
	add := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	var why func(by string)
	why = func(by string) {
		if told[by] {
			return
		}
		told[by] = true
		// One reason is enough; the project's own is the best.
		reasons := s.demands[by]
		if len(reasons) == 0 {
			return
		}
		d := reasons[0]
		for _, r := range reasons {
			if r.by == "" {
				d = r
			}
		}
		why(d.by)
		add(s.demandLine(d))
	}
	for _, d := range list {
		why(d.by)
		add(s.demandLine(d))
	}
	return lines
}

func (s *solver) demandLine(d demand) string {
	verb := "needs"
	if d.by == "" {
		verb = "wants"
	}
	return s.who(d.by) + " " + verb + " " + demanded(d.Demand)
}

// shown is how many versions a message lists.
const shown = 8

// versions lists what there is of a module.
func versions(module string, candidates []*Candidate) string {
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b *Candidate) int { return compare(b.Version, a.Version) })
	var words []string
	for i, c := range sorted {
		if i == shown && len(sorted) > shown+1 {
			words = append(words, fmt.Sprintf("and %d older ones", len(sorted)-shown))
			break
		}
		if c.Version == nil {
			words = append(words, "one without a number")
		} else {
			words = append(words, c.Version.String())
		}
	}
	verb := "are"
	if len(sorted) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("of %s there %s %s", module, verb, strings.Join(words, ", "))
}

func compare(a, b *semver.Version) int {
	if a == nil || b == nil {
		return 0
	}
	return a.Compare(b)
}
