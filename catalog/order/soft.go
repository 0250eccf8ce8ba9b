package order

import "bolt/catalog"

// addSoft adds the dependencies of Options.Soft, in the order of the resources. Nearly always they make no cycle. So all of them are
// added at first, and one by one only if there is a cycle.
func (g *graph) addSoft(soft func(r *catalog.Resource) []catalog.Ref) {
	var found [][2]int // the first comes before the second
	for i, r := range g.list {
		for _, ref := range soft(r) {
			if j, ok := g.byRef[ref]; ok && j != i {
				found = append(found, [2]int{j, i})
			}
		}
	}
	if len(found) == 0 {
		return
	}
	before := len(g.pairs)
	for _, p := range found {
		g.soften(p)
	}
	if _, err := g.sort(); err == nil {
		return
	}
	g.drop(before)
	for _, p := range found {
		if !g.leads(g.enter(p[1]), g.leave(p[0])) {
			g.soften(p)
		}
	}
}

// soften adds a dependency unless the two resources have a relation.
func (g *graph) soften(p [2]int) {
	if g.relation[p] == 0 && g.relation[[2]int{p[1], p[0]}] == 0 {
		g.order(p[0], p[1], Auto)
	}
}

// drop removes the pairs from an index on. Their edges are the last edges of their points.
func (g *graph) drop(from int) {
	for _, p := range g.pairs[from:] {
		before, after := g.leave(p[0]), g.enter(p[1])
		g.after[before] = g.after[before][:len(g.after[before])-1]
		g.waits[after]--
		delete(g.relation, p)
	}
	g.pairs = g.pairs[:from]
}

// leads reports whether a way leads from a point to another.
func (g *graph) leads(from, to int) bool {
	seen := make([]bool, len(g.after))
	next := []int{from}
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		if p == to {
			return true
		}
		for _, q := range g.after[p] {
			if !seen[q] {
				seen[q] = true
				next = append(next, q)
			}
		}
	}
	return false
}
