// Package order finds the order in which the resources of a catalog are applied.
//
// A resource is applied after the resources that it requires (by before, notify, require and
// subscribe) and from which it receives values (recv), and after the resources on which its type depends by itself. A relation of a
// container applies to everything in it. If no relation decides, the order is the order of the
// catalog.
//
// The order is Puppet's with its setting ordering=manifest: a container is entered after everything
// that it requires has been applied, and is left after everything in it has been applied.
package order

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
)

// Options are the dependencies that are not in a catalog.
type Options struct {
	// Auto returns the resources on which a resource depends by its type, such as the directory of
	// a file. Auto may return resources that the catalog does not have, and dependencies whose
	// opposite is a relation; both are ignored. nil means no dependencies.
	Auto func(r *catalog.Resource) []catalog.Ref
	// Soft returns further dependencies. A dependency of Soft that would make a cycle is left out. nil means none.
	Soft func(r *catalog.Resource) []catalog.Ref
}

// A CycleError reports resources that wait for each other.
type CycleError struct {
	// Cycle lists the resources and containers. Each comes before the next; the first comes after
	// the last.
	Cycle []catalog.Ref
}

func (e *CycleError) Error() string {
	var b strings.Builder
	for _, r := range e.Cycle {
		b.WriteString(r.String() + " => ")
	}
	return fmt.Sprintf("The resources wait for each other: %s%s", &b, e.Cycle[0])
}

// Of returns the resources of a catalog in the order in which they are applied. It leaves out containers and
// virtual resources. The error is a *CycleError, or names a relation with a resource that the catalog does
// not have.
func Of(c *catalog.Catalog, o Options) ([]*catalog.Resource, error) {
	g, err := related(c, o)
	if err != nil {
		return nil, err
	}
	sorted, err := g.sort()
	if err != nil {
		return nil, err
	}
	var applied []*catalog.Resource
	for _, p := range sorted {
		if r := g.list[p%len(g.list)]; !r.Container() {
			applied = append(applied, r)
		}
	}
	return applied, nil
}

// A Point is a position in the order: a resource is applied, or a container is entered or left.
type Point struct {
	Resource *catalog.Resource
	// Leaves is set for the point at which a container is left.
	Leaves bool
	After  []Step
}

// A Step leads from a point to a later point.
type Step struct {
	To int // index of the later point
	// Refresh is set if a change before the step refreshes the resources after it: for relations
	// of kind Notify, and between a container and its resources.
	Refresh bool
}

// Graph returns the points of a catalog in the order of application. Steps lead to
// larger indexes only. The error is a *CycleError, or names a relation
// with a resource that the catalog does not have.
func Graph(c *catalog.Catalog, o Options) ([]Point, error) {
	g, err := related(c, o)
	if err != nil {
		return nil, err
	}
	sorted, err := g.sort()
	if err != nil {
		return nil, err
	}
	place := make([]int, 2*len(g.list))
	for i, p := range sorted {
		place[p] = i
	}
	refresh := make(map[[2]int]bool)
	for key, kind := range g.relation {
		if kind == Notify {
			refresh[[2]int{g.leave(key[0]), g.enter(key[1])}] = true
		}
	}
	for _, pair := range g.contained {
		refresh[[2]int{g.enter(pair[0]), g.enter(pair[1])}] = true
		refresh[[2]int{g.leave(pair[1]), g.leave(pair[0])}] = true
	}
	points := make([]Point, len(sorted))
	for i, p := range sorted {
		points[i] = Point{Resource: g.list[p%len(g.list)], Leaves: p >= len(g.list)}
		for _, to := range g.after[p] {
			points[i].After = append(points[i].After, Step{place[to], refresh[[2]int{p, to}]})
		}
	}
	return points, nil
}

// related returns the graph of a catalog with all relations and with containment.
func related(c *catalog.Catalog, o Options) (*graph, error) {
	g := newGraph(c)
	if err := g.relate(); err != nil {
		return nil, err
	}
	if o.Auto != nil {
		g.addAuto(o.Auto)
	}
	g.contain(c)
	if o.Soft != nil {
		g.addSoft(o.Soft)
	}
	return g, nil
}

// A graph has two points for each container, for entering and for leaving it, and one point for
// each other resource. The number of a point is the index of its resource in the catalog, plus
// len(list) for the leaving of a container.
type graph struct {
	list     []*catalog.Resource
	byRef    map[catalog.Ref]int
	after    [][]int // for each point, the later points
	waits    []int   // for each point, the number of earlier points
	relation map[[2]int]Kind
	pairs    [][2]int // of relation, in the order in which they were found

	contained [][2]int // pairs of a container and one of its members
}

func newGraph(c *catalog.Catalog) *graph {
	all := len(c.Resources())
	g := &graph{list: make([]*catalog.Resource, 0, all), byRef: make(map[catalog.Ref]int, all), relation: make(map[[2]int]Kind), contained: make([][2]int, 0, len(c.Edges))}
	for _, r := range c.Resources() {
		if !r.Virtual {
			g.byRef[r.Ref] = len(g.list)
			g.list = append(g.list, r)
		}
	}
	for i, r := range g.list {
		for _, alias := range otherNames(r) {
			ref := catalog.Ref{Type: r.Type, Title: alias}
			if _, taken := g.byRef[ref]; !taken {
				g.byRef[ref] = i
			}
		}
	}
	g.after = make([][]int, 2*len(g.list))
	g.waits = make([]int, 2*len(g.list))
	return g
}

// otherNames returns the names besides its title by which others can refer to a resource.
func otherNames(r *catalog.Resource) []string {
	names := texts(r.Params.Value("alias"))
	for _, param := range []string{"name", "path"} {
		if name, is := r.Params.Value(param).(string); is && !r.Container() {
			names = append(names, name)
		}
	}
	return names
}

// enter returns the point at which a resource or container begins; leave returns the point at its
// end.
func (g *graph) enter(i int) int { return i }

func (g *graph) leave(i int) int {
	if g.list[i].Container() {
		return len(g.list) + i
	}
	return i
}

func (g *graph) edge(from, to int) {
	g.after[from] = append(g.after[from], to)
	g.waits[to]++
}

// find returns the index of the resource that a reference names. References in catalogs of other
// programs can be in lower case, and paths can end in a slash.
func (g *graph) find(r catalog.Ref) (int, bool) {
	if i, ok := g.byRef[r]; ok {
		return i, true
	}
	r.Type = catalog.Capitals(r.Type)
	switch r.Type {
	case "Class":
		if r.Title != "main" {
			r.Title = catalog.Capitals(strings.TrimPrefix(r.Title, "::"))
		}
	case "File":
		if len(r.Title) > 1 {
			r.Title = strings.TrimRight(r.Title, "/")
		}
	}
	i, ok := g.byRef[r]
	return i, ok
}

// relations are the parameters that name other resources. later is true if these resources come
// after the resource with the parameter.
var relations = []struct {
	param string
	later bool
	kind  Kind
}{{"before", true, Before}, {"notify", true, Notify}, {"require", false, Before}, {"subscribe", false, Notify}}

// relate adds the relations that parameters name.
func (g *graph) relate() error {
	for i, r := range g.list {
		for _, rel := range relations {
			for _, text := range texts(r.Params.Value(rel.param)) {
				ref, err := catalog.ParseRef(text)
				j, ok := g.find(ref)
				switch {
				case err != nil || !ok:
					if r.Secret(rel.param) {
						text = "a secret"
					}
					return fmt.Errorf("%s of %s names %s, which the catalog does not have", rel.param, r.Ref, text)
				case rel.later:
					g.order(i, j, rel.kind)
				default:
					g.order(j, i, rel.kind)
				}
			}
		}
		g.receive(i, r)
	}
	return nil
}

// receive makes a resource come after the resources that send values to it. types.CheckRecv reports mistakes.
func (g *graph) receive(i int, r *catalog.Resource) {
	list, _ := r.Receives()
	for _, x := range list {
		if j, ok := g.byRef[x.From]; ok && j != i {
			g.order(j, i, Before)
		}
	}
}

// order makes one resource or container come before another, once. The strongest kind of
// their relations stays.
func (g *graph) order(before, after int, kind Kind) {
	key := [2]int{before, after}
	if g.relation[key] == 0 {
		g.pairs = append(g.pairs, key)
		g.edge(g.leave(before), g.enter(after))
	}
	g.relation[key] = max(g.relation[key], kind)
}

func (g *graph) addAuto(auto func(r *catalog.Resource) []catalog.Ref) {
	for i, r := range g.list {
		for _, ref := range auto(r) {
			if j, ok := g.byRef[ref]; ok && j != i && g.relation[[2]int{i, j}] == 0 {
				g.order(j, i, Auto)
			}
		}
	}
}

// contain orders the members of a container between its two points.
func (g *graph) contain(c *catalog.Catalog) {
	for i, r := range g.list {
		if r.Container() {
			g.edge(g.enter(i), g.leave(i))
		}
	}
	for _, e := range c.Edges {
		i, known := g.byRef[e.Source]
		j, is := g.byRef[e.Target]
		if known && is {
			g.edge(g.enter(i), g.enter(j))
			g.edge(g.leave(j), g.leave(i))
			g.contained = append(g.contained, [2]int{i, j})
		}
	}
}

// sort repeatedly takes the point of the first resource in the catalog that waits for no other.
func (g *graph) sort() ([]int, error) {
	ready := &points{size: len(g.list)}
	waits := slices.Clone(g.waits)
	for i := range g.list {
		if waits[i] == 0 {
			ready.list = append(ready.list, i)
		}
	}
	heap.Init(ready)
	sorted := make([]int, 0, len(g.list))
	for ready.Len() > 0 {
		p := heap.Pop(ready).(int)
		sorted = append(sorted, p)
		waits[p] = -1
		for _, next := range g.after[p] {
			if waits[next]--; waits[next] == 0 {
				heap.Push(ready, next)
			}
		}
	}
	for _, w := range waits {
		if w > 0 {
			return nil, &CycleError{g.cycle(waits)}
		}
	}
	return sorted, nil
}

// points is a heap of points, sorted by the index of their resources.
type points struct {
	list []int
	size int
}

func (p *points) Len() int { return len(p.list) }
func (p *points) Less(i, j int) bool {
	a, b := p.list[i], p.list[j]
	if a%p.size != b%p.size {
		return a%p.size < b%p.size
	}
	return a < b
}
func (p *points) Swap(i, j int) { p.list[i], p.list[j] = p.list[j], p.list[i] }
func (p *points) Push(x any)    { p.list = append(p.list, x.(int)) }
func (p *points) Pop() any {
	last := p.list[len(p.list)-1]
	p.list = p.list[:len(p.list)-1]
	return last
}

// cycle returns the shortest cycle that a bounded search finds. waits is positive for the points that could not
// be ordered.
func (g *graph) cycle(waits []int) []catalog.Ref {
	g.prune(waits)
	var best []int
	visits := maxVisits
	for p, w := range waits {
		if w > 0 && visits > 0 {
			if found := g.way(p, waits, &visits); found != nil && (best == nil || len(found) < len(best)) {
				best = found
			}
		}
	}
	if best == nil {
		best = g.any(waits)
	}
	var refs []catalog.Ref
	for _, p := range best {
		if r := g.list[p%len(g.list)].Ref; len(refs) == 0 || refs[len(refs)-1] != r {
			refs = append(refs, r)
		}
	}
	if len(refs) > 1 && refs[0] == refs[len(refs)-1] {
		refs = refs[1:]
	}
	return refs
}

// maxVisits is the number of steps that the search for the shortest cycle can make in a large catalog.
const maxVisits = 5_000_000

// prune sets waits to 0 for the points that wait for a cycle but do not lead to one. From each point that is
// left, at least one way leads on.
func (g *graph) prune(waits []int) {
	ways := make([]int, len(waits))
	before := make([][]int, len(waits))
	var ends []int
	for p, w := range waits {
		if w <= 0 {
			continue
		}
		for _, next := range g.after[p] {
			if waits[next] > 0 {
				ways[p]++
				before[next] = append(before[next], p)
			}
		}
		if ways[p] == 0 {
			ends = append(ends, p)
		}
	}
	for len(ends) > 0 {
		p := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		waits[p] = 0
		for _, b := range before[p] {
			if ways[b]--; ways[b] == 0 {
				ends = append(ends, b)
			}
		}
	}
}

// any returns any cycle of the points that prune has left.
func (g *graph) any(waits []int) []int {
	left := func(p int) bool { return waits[p] > 0 }
	p := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	at := make(map[int]int)
	var way []int
	for {
		if i, seen := at[p]; seen {
			return way[i:]
		}
		at[p] = len(way)
		way = append(way, p)
		p = g.after[p][slices.IndexFunc(g.after[p], left)]
	}
}

// way returns the shortest way from a point back to itself. It returns nil if no way exists or if visits runs out.
func (g *graph) way(start int, waits []int, visits *int) []int {
	from := map[int]int{}
	queue := []int{start}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		if *visits -= len(g.after[p]); *visits <= 0 {
			return nil
		}
		for _, next := range g.after[p] {
			if next == start {
				var way []int
				for ; p != start; p = from[p] {
					way = append(way, p)
				}
				way = append(way, start)
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen && waits[next] > 0 {
				from[next] = p
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// texts returns the strings in a parameter, in lists or alone.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			list = append(list, texts(x)...)
		}
	}
	return list
}
