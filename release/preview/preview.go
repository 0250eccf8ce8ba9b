// Package preview folds the changes that a release would make on nodes, as runs in noop mode report them: nodes
// with the same changes are one group. Each change is held once, so the memory of a preview grows with the different changes and
// the names of the nodes, and not with the changes of all nodes.
package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"bolt/apply/report"
)

// A Resource is a resource that would change.
type Resource struct {
	Ref        string     `json:"resource"`
	Properties []Property `json:"properties"`
}

// A Property is a property that would change, or a refresh.
type Property struct {
	Name string `json:"property"` // "" for a refresh
	// Old and New are the values for people. A secret value is report.Redacted.
	Old     string `json:"old"`
	New     string `json:"new"`
	Message string `json:"message"`
	Diff    string `json:"diff,omitempty"` // of the content of a file, in unified form
}

// Of returns the resources that a run in noop mode would have changed, in the order of their names. redact removes other
// secrets from texts.
func Of(r *report.Run, redact func(string) string) []Resource {
	var list []Resource
	for _, res := range r.Results {
		if res.Status != report.Noop {
			continue
		}
		one := Resource{Ref: redact(res.Ref.String())}
		for _, e := range res.Events {
			if e.Outcome == report.NoopOut {
				one.Properties = append(one.Properties, Property{e.Property, redact(e.Is), redact(e.Should), redact(e.Message), redact(e.Diff)})
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Resource) int { return strings.Compare(a.Ref, b.Ref) })
	return list
}

// A Group is the nodes with the same changes.
type Group struct {
	Nodes     []string
	Resources []*Resource
}

// A Failure is a node whose changes are not known.
type Failure struct {
	Node    string
	Outcome string // as in rollouts: unreachable, auth, timeout, lost, refused, failed or cancelled
	Reason  string
}

// A Preview is the changes of all nodes. The zero Preview has no nodes. It is not safe for concurrent use.
type Preview struct {
	Unchanged []string
	Failures  []Failure

	resources map[[sha256.Size]byte]*Resource
	groups    map[[sha256.Size]byte]*Group
}

// Add adds a node with the resources that would change on it.
func (p *Preview) Add(node string, list []Resource) {
	if len(list) == 0 {
		p.Unchanged = append(p.Unchanged, node)
		return
	}
	if p.groups == nil {
		p.resources, p.groups = make(map[[sha256.Size]byte]*Resource), make(map[[sha256.Size]byte]*Group)
	}
	same := make([]*Resource, len(list))
	all := sha256.New()
	for i := range list {
		text, _ := json.Marshal(&list[i]) // strings only
		key := sha256.Sum256(text)
		if p.resources[key] == nil {
			one := list[i] // a pointer into the list would hold all of it
			p.resources[key] = &one
		}
		same[i] = p.resources[key]
		all.Write(key[:])
	}
	key := [sha256.Size]byte(all.Sum(nil))
	g := p.groups[key]
	if g == nil {
		g = &Group{Resources: same}
		p.groups[key] = g
	}
	g.Nodes = append(g.Nodes, node)
}

// Fail adds a node whose changes are not known.
func (p *Preview) Fail(f Failure) { p.Failures = append(p.Failures, f) }

// Sort sorts the nodes by name, because they end in any order.
func (p *Preview) Sort() {
	slices.Sort(p.Unchanged)
	slices.SortFunc(p.Failures, func(a, b Failure) int { return strings.Compare(a.Node, b.Node) })
	for _, g := range p.groups {
		slices.Sort(g.Nodes)
	}
}

// Groups returns the groups of a sorted preview, the largest first.
func (p *Preview) Groups() []*Group {
	list := make([]*Group, 0, len(p.groups))
	for _, g := range p.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), strings.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return list
}

// Changed returns the number of nodes that would change.
func (p *Preview) Changed() int {
	n := 0
	for _, g := range p.groups {
		n += len(g.Nodes)
	}
	return n
}

// Beyond returns the nodes with more than a number of resources that would change, by name.
func (p *Preview) Beyond(most int) []string {
	var names []string
	for _, g := range p.groups {
		if len(g.Resources) > most {
			names = append(names, g.Nodes...)
		}
	}
	slices.Sort(names)
	return names
}
