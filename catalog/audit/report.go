package audit

import (
	"cmp"
	"slices"
	"strings"
)

// A Report is the result of an audit.
type Report struct {
	Units []Unit
	// Reasons are the parts with a need, most frequent first, and Uses are the others, by kind and name.
	Reasons, Uses []Counted
	// Left is the number of branches for systems other than Linux, which were not read. Computed is the number of
	// names of classes and types that the code computes, so that reading does not follow them.
	Left, Computed int
}

// A UnitKind is the kind of a unit.
type UnitKind string

// The kinds of units.
const (
	UnitNode       UnitKind = "node" // a node whose catalog was compiled. All other units were read only
	UnitDefinition UnitKind = "node definition"
	UnitClass      UnitKind = "class"
	UnitDefine     UnitKind = "define"
	UnitApply      UnitKind = "apply" // an apply block of a plan
	UnitFile       UnitKind = "file"  // a file that cannot be used, or a template that no class names
)

// UnitKinds are the kinds of units, in the order of reports.
func UnitKinds() []UnitKind {
	return []UnitKind{UnitNode, UnitDefinition, UnitClass, UnitDefine, UnitApply, UnitFile}
}

// A Unit is a node, a class or another piece of code with a verdict.
type Unit struct {
	Kind  UnitKind
	Name  string
	Place Place
	// Need is the hardest of the needs, which are sorted; Nothing if there are none.
	Need  Need
	Needs []Need
	// Reasons are indexes of Report.Reasons.
	Reasons []int
}

// A Counted is a part with its places.
type Counted struct {
	Part
	Places []Place // sorted; each line once
	Units  int     // the number of units that have it
}

// Report returns the report of everything that was read and compiled so far.
func (r *Result) Report() *Report {
	t := &tally{Result: r, report: &Report{}, places: make(map[*Part][]Place), units: make(map[*Part]int), seen: make(map[*body]bool), reach: newReach()}
	for _, b := range r.nodes {
		t.unit(b, UnitNode)
	}
	for _, b := range r.order {
		if kind := kindOf(b); kind != "" && r.inScope(b) {
			t.unit(b, kind)
		}
	}
	for _, b := range r.order { // code that no unit reaches
		if !t.seen[b] && r.inScope(b) && len(b.parts) > 0 {
			t.unit(b, UnitFile)
		}
	}
	t.finish()
	return t.report
}

// kindOf returns the kind of the unit that a body is by itself; "" if it is only a part of others.
func kindOf(b *body) UnitKind {
	switch b.sort {
	case sortNode:
		return UnitDefinition
	case sortClass:
		return UnitClass
	case sortDefine:
		return UnitDefine
	case sortApply:
		return UnitApply
	}
	return ""
}

// inScope reports whether a body is reported.
func (r *Result) inScope(b *body) bool {
	switch {
	case r.code.OnlyFiles:
		return slices.Contains(r.code.Manifests, b.at.File) || slices.Contains(r.code.Plans, b.at.File)
	case r.code.Only != "":
		return b.module == r.code.Only
	}
	return true
}

// A tally adds units to a report.
type tally struct {
	*Result
	report *Report
	places map[*Part][]Place
	units  map[*Part]int
	seen   map[*body]bool // bodies that a unit reaches
	reach  *reach
	own    []set // the parts of each unit, by their numbers in reach
}

// unit adds a body, and everything that it reaches.
func (t *tally) unit(b *body, kind UnitKind) {
	own := t.reach.of(b)
	for n := range own.all() {
		t.units[t.reach.parts[n]]++
	}
	t.own = append(t.own, own)
	t.see(b)
	name := b.name
	if kind == UnitFile {
		name = b.at.File
	}
	t.report.Units = append(t.report.Units, Unit{Kind: kind, Name: name, Place: b.at})
}

// see adds the places of bodies that no earlier unit reaches.
func (t *tally) see(b *body) {
	for queue := []*body{b}; len(queue) > 0; queue = queue[1:] {
		b := queue[0]
		if t.seen[b] {
			continue
		}
		t.seen[b] = true
		queue = append(queue, b.deps...)
		for _, f := range b.parts {
			t.places[f.part] = append(t.places[f.part], f.at)
		}
		t.report.Left += b.left
		t.report.Computed += b.computed
	}
}

// finish counts the parts, and judges the units.
func (t *tally) finish() {
	var pointers []*Part
	for p, places := range t.places {
		slices.SortFunc(places, func(a, b Place) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
		t.places[p] = slices.Compact(places)
		pointers = append(pointers, p)
	}
	slices.SortFunc(pointers, func(a, b *Part) int {
		return cmp.Or(len(t.places[b])-len(t.places[a]), int(b.Need-a.Need), byName(*a, *b))
	})
	index := make(map[*Part]int)
	for _, p := range pointers {
		c := Counted{*p, t.places[p], t.units[p]}
		if p.Need == Nothing {
			t.report.Uses = append(t.report.Uses, c)
			continue
		}
		index[p] = len(t.report.Reasons)
		t.report.Reasons = append(t.report.Reasons, c)
	}
	slices.SortFunc(t.report.Uses, func(a, b Counted) int { return byName(a.Part, b.Part) })
	for i, own := range t.own {
		u := &t.report.Units[i]
		for n := range own.all() {
			p := t.reach.parts[n]
			if p.Need == Nothing {
				continue
			}
			u.Reasons = append(u.Reasons, index[p])
			if !p.Optional {
				u.Needs = append(u.Needs, p.Need)
				u.Need = max(u.Need, p.Need)
			}
		}
		slices.Sort(u.Reasons)
		slices.Sort(u.Needs)
		u.Needs = slices.Compact(u.Needs)
	}
	order := UnitKinds()
	slices.SortStableFunc(t.report.Units, func(a, b Unit) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), strings.Compare(a.Name, b.Name))
	})
}

func byName(a, b Part) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason))
}

// Counts returns the number of units of a kind by their needs.
func (r *Report) Counts(kind UnitKind) (total int, by map[Need]int) {
	by = make(map[Need]int)
	for _, u := range r.Units {
		if u.Kind == kind {
			total++
			by[u.Need]++
		}
	}
	return total, by
}

// Verdict returns the hardest need of the nodes whose catalogs were compiled. If there are none, it is that of all
// units.
func (r *Report) Verdict() Need {
	compiled, _ := r.Counts(UnitNode)
	worst := Nothing
	for _, u := range r.Units {
		if u.Kind == UnitNode || compiled == 0 {
			worst = max(worst, u.Need)
		}
	}
	return worst
}
