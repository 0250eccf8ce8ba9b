package ansible

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// Limits of an inventory. Without them, a few lines could expand to more names
// than fit in memory.
const (
	// MaxHosts is the maximum number of hosts in an inventory.
	MaxHosts = 100_000
	// MaxGroups is the maximum number of groups.
	MaxGroups = 20_000
	// maxMembers is the maximum number of hosts in all groups together.
	maxMembers = 2_000_000
)

// A Host is a machine.
type Host struct {
	Name   string
	Source string       // the first file that names it
	Vars   *ordered.Map // its own variables; see Inventory.Vars

	groups []*Group // that contain it directly
}

// A Group is a set of hosts: its own, and those of its children. A group can be
// the child of several groups.
type Group struct {
	Name     string
	Hosts    []*Host // its own, in order
	Children []*Group
	Vars     *ordered.Map
	Priority int64
	// Depth is the length of the longest path from the group all.
	Depth int

	index   int // in Inventory.order
	parents []*Group
	names   map[string]bool // of Hosts
}

// An Inventory is the merged content of all sources.
type Inventory struct {
	Hosts []*Host // in the order in which they are first named
	All   *Group

	hosts   map[string]*Host
	groups  map[string]*Group
	order   []*Group
	members int
	source  string // the source that is being read

	files vars                    // of the directories group_vars and host_vars
	bases map[string]*ordered.Map // variables of groups, by sets of groups
}

func newInventory() *Inventory {
	inv := &Inventory{hosts: make(map[string]*Host), groups: make(map[string]*Group), bases: make(map[string]*ordered.Map)}
	inv.All = inv.addGroup("all")
	_ = inv.link(inv.All, inv.addGroup("ungrouped")) // it is new
	return inv
}

func (inv *Inventory) addGroup(name string) *Group {
	if g := inv.groups[name]; g != nil {
		return g
	}
	g := &Group{Name: name, Vars: &ordered.Map{}, Priority: 1, index: len(inv.order), names: make(map[string]bool)}
	inv.groups[name] = g
	inv.order = append(inv.order, g)
	return g
}

// addHost makes a host a member of a group. The port takes effect only where the
// host is named first.
func (inv *Inventory) addHost(name string, g *Group, port int64) (*Host, error) {
	if name == "" {
		return nil, errors.New("a host has no name")
	}
	h := inv.hosts[name]
	if h == nil {
		if len(inv.Hosts) == MaxHosts {
			return nil, limited("there are more than %d hosts", MaxHosts)
		}
		h = &Host{Name: name, Source: inv.source, Vars: &ordered.Map{}}
		if port != 0 {
			h.Vars.Set("ansible_port", port)
		}
		inv.hosts[name] = h
		inv.Hosts = append(inv.Hosts, h)
	}
	if g != nil && !g.names[name] {
		if inv.members++; inv.members > maxMembers {
			return nil, limited("the groups name hosts more than %d times", maxMembers)
		}
		g.names[name] = true
		g.Hosts = append(g.Hosts, h)
		h.groups = append(h.groups, g)
	}
	return h, nil
}

// set sets a variable of the group, or else the host, with that name.
func (inv *Inventory) set(name, key string, value any) error {
	if g := inv.groups[name]; g != nil {
		if key != "ansible_group_priority" {
			g.Vars.Set(key, value)
			return nil
		}
		switch v := value.(type) {
		case int64:
			g.Priority = v
			return nil
		case string:
			if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
				g.Priority = n
				return nil
			}
		}
		return fmt.Errorf("the ansible_group_priority of the group '%s' is not a whole number", told(name))
	}
	if h := inv.hosts[name]; h != nil {
		h.Vars.Set(key, value)
	}
	return nil
}

var errGroups = limited("there are more than %d groups", MaxGroups)

// link makes a group the child of another.
func (inv *Inventory) link(parent, child *Group) error {
	switch {
	case slices.Contains(child.parents, parent):
		return nil
	case len(inv.order) > MaxGroups:
		return errGroups
	case parent == child || len(child.Children) > 0 && child.above(parent):
		return fmt.Errorf("the group '%s' cannot be a child of '%s', which is in it", told(child.Name), told(parent.Name))
	}
	parent.Children = append(parent.Children, child)
	child.parents = append(child.parents, parent)
	return nil
}

// above reports whether g is a parent of other, or of one of its parents.
func (g *Group) above(other *Group) bool {
	seen := make(map[*Group]bool)
	var look func(*Group) bool
	look = func(o *Group) bool {
		if seen[o] {
			return false
		}
		seen[o] = true
		return slices.ContainsFunc(o.parents, func(p *Group) bool { return p == g || look(p) })
	}
	return look(other)
}

// finish runs after all sources are read. It puts every group below all, and
// every host into a group.
func (inv *Inventory) finish() {
	for _, g := range inv.order {
		if g != inv.All && len(g.parents) == 0 {
			_ = inv.link(inv.All, g) // it has no parents, so there is no cycle, and the limits hold
		}
	}
	ungrouped := inv.groups["ungrouped"]
	for _, h := range inv.Hosts {
		others := slices.ContainsFunc(h.groups, func(g *Group) bool { return g != inv.All && g != ungrouped })
		switch {
		case others && ungrouped.names[h.Name]:
			delete(ungrouped.names, h.Name)
			h.groups = slices.DeleteFunc(h.groups, func(g *Group) bool { return g == ungrouped })
		case !others && !ungrouped.names[h.Name]:
			ungrouped.names[h.Name] = true
			ungrouped.Hosts = append(ungrouped.Hosts, h)
			h.groups = append(h.groups, ungrouped)
		}
	}
	ungrouped.Hosts = slices.DeleteFunc(ungrouped.Hosts, func(h *Host) bool { return !ungrouped.names[h.Name] })
	inv.measure()
}

// measure sets the depths. It visits each group after all of its parents.
func (inv *Inventory) measure() {
	waiting := make(map[*Group]int)
	for _, g := range inv.order {
		waiting[g] = len(g.parents)
	}
	var ready []*Group
	for _, g := range inv.order {
		if waiting[g] == 0 {
			ready = append(ready, g)
		}
	}
	for len(ready) > 0 {
		g := ready[0]
		ready = ready[1:]
		for _, c := range g.Children {
			c.Depth = max(c.Depth, g.Depth+1)
			if waiting[c]--; waiting[c] == 0 {
				ready = append(ready, c)
			}
		}
	}
}

// GroupsOf lists the groups of a host and their ancestors, without all, in the
// order in which their variables are merged: later groups override earlier ones.
func (inv *Inventory) GroupsOf(h *Host) []*Group {
	seen := map[*Group]bool{inv.All: true}
	var list []*Group
	var add func(g *Group)
	add = func(g *Group) {
		if seen[g] {
			return
		}
		seen[g] = true
		list = append(list, g)
		for _, p := range g.parents {
			add(p)
		}
	}
	for _, g := range h.groups {
		add(g)
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Vars returns the merged variables of a host: those of the group all, of its
// groups, then those of files for all, for its groups, then its own, then its
// files. A later value replaces an earlier value of the same name; values are
// never merged.
func (inv *Inventory) Vars(ctx context.Context, h *Host) (*ordered.Map, error) {
	groups := inv.GroupsOf(h)
	var key []byte
	for _, g := range groups {
		key = binary.AppendUvarint(key, uint64(g.index))
	}
	base, known := inv.bases[string(key)]
	if !known {
		var err error
		if base, err = inv.groupVars(ctx, groups); err != nil {
			return nil, err
		}
		inv.bases[string(key)] = base
	}
	m := &ordered.Map{}
	put(m, base)
	put(m, h.Vars)
	return m, inv.files.host(ctx, m, h.Name)
}

// AllVars returns the variables of the group all.
func (inv *Inventory) AllVars(ctx context.Context) (*ordered.Map, error) {
	return inv.groupVars(ctx, nil)
}

func (inv *Inventory) groupVars(ctx context.Context, groups []*Group) (*ordered.Map, error) {
	m := &ordered.Map{}
	put(m, inv.All.Vars)
	for _, g := range groups {
		put(m, g.Vars)
	}
	names := []string{}
	for _, g := range groups {
		names = append(names, g.Name)
	}
	if err := inv.files.groups(ctx, m, []string{"all"}); err != nil {
		return nil, err
	}
	return m, inv.files.groups(ctx, m, names)
}

// Host returns the host with that name, nil if there is none.
func (inv *Inventory) Host(name string) *Host { return inv.hosts[name] }

// Group returns the group with that name, nil if there is none.
func (inv *Inventory) Group(name string) *Group { return inv.groups[name] }

// Members lists the hosts of a group and of all groups below it, each once, in
// the order of Ansible's variable groups: its own hosts, then the hosts of its
// children, then those of their children.
func (g *Group) Members() []*Host {
	var list []*Host
	seen := map[*Group]bool{g: true}
	listed := make(map[*Host]bool)
	for todo := []*Group{g}; len(todo) > 0; todo = todo[1:] {
		for _, h := range todo[0].Hosts {
			if !listed[h] {
				listed[h] = true
				list = append(list, h)
			}
		}
		for _, c := range todo[0].Children {
			if !seen[c] {
				seen[c] = true
				todo = append(todo, c)
			}
		}
	}
	return list
}

// Place returns where a variable of a host is set: the file of group_vars or
// host_vars, or the group or the host of an inventory; "" if it is not set.
func (inv *Inventory) Place(h *Host, variable string) string {
	if file := inv.files.setting("host_vars", h.Name, variable); file != "" {
		return file
	}
	if _, ok := h.Vars.Get(variable); ok {
		return fmt.Sprintf("the host '%s' of %s", told(h.Name), h.Source)
	}
	groups := append([]*Group{inv.All}, inv.GroupsOf(h)...)
	for _, g := range slices.Backward(groups) {
		if file := inv.files.setting("group_vars", g.Name, variable); file != "" {
			return file
		}
	}
	for _, g := range slices.Backward(groups) {
		if _, ok := g.Vars.Get(variable); ok {
			return fmt.Sprintf("the group '%s'", told(g.Name))
		}
	}
	return ""
}

func put(m, over *ordered.Map) {
	for k, v := range over.All() {
		m.Set(k, v)
	}
}
