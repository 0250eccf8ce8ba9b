package ansiblehosts

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory/ansible"
	"bolt/transport"
)

// A builder makes targets and groups from an inventory.
type builder struct {
	request
	inv    *ansible.Inventory
	others *others
	lookup func(name string) string
	open   func(ansible.Vaulted) ([]byte, error)
	notes  notes

	targets map[string]*ordered.Map // by the names of hosts, without hosts that are left out
	told    map[string]bool         // the full definition of the target was written
	placed  map[*ansible.Group]bool
}

// build returns the data in the requested shape.
func (b *builder) build(ctx context.Context) (any, error) {
	b.targets, b.told, b.placed = make(map[string]*ordered.Map), make(map[string]bool), make(map[*ansible.Group]bool)
	b.others = newOthers(ctx, b.inv)
	all, err := b.inv.AllVars(ctx)
	if err != nil {
		return nil, err
	}
	shared := &common{config: b.sharedConfig(all), unfit: make(map[string]map[string]bool)}
	shared.vars = b.shown(all, nil, func(string, string) {})
	var list []any
	for _, h := range b.inv.Hosts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if why := illegal(b.nameOf(h)); why != "" {
			b.notes.add("the host is left out: "+why, h.Name)
			continue
		}
		vars, err := b.inv.Vars(ctx, h)
		if err != nil {
			return nil, err
		}
		t := b.target(h, vars, shared)
		if b.nameOf(h) != h.Name {
			b.notes.add("the target's name has underscores instead of the blanks in the name of the host", h.Name)
		}
		b.targets[h.Name] = t
		list = append(list, t)
		if b.as == whole {
			shared.narrow(t)
		}
	}
	switch b.as {
	case targets:
		return list, nil
	case groups:
		return b.withOthers(b.children(b.inv.All)), nil
	}
	shared.giveBack(b.targets)
	for _, h := range b.inv.Hosts {
		b.told[h.Name] = true
		if t := b.targets[h.Name]; t != nil {
			shared.take(t)
		}
	}
	data := &ordered.Map{}
	shared.say(data)
	data.Set("targets", list)
	data.Set("groups", b.children(b.inv.All))
	return data, nil
}

// target returns the entry of a host. For a whole inventory it leaves out the
// variables that the group all has.
func (b *builder) target(h *ansible.Host, vars *ordered.Map, all *common) *ordered.Map {
	note := func(text string) { b.notes.add(text, h.Name) }
	t := ordered.Of("name", b.nameOf(h), "config", b.connection(h, vars, note).config())
	var known *ordered.Map
	if b.as == whole {
		known = all.vars
	}
	shown := b.shown(vars, known, func(name, why string) {
		note(fmt.Sprintf("the variable %s is left out: %s", safetext.TerminalString(name), why))
		all.without(name, h.Name)
	})
	if shown.Len() > 0 {
		t.Set("vars", shown)
	}
	return t
}

func (b *builder) connection(h *ansible.Host, vars *ordered.Map, note func(string)) *connection {
	return &connection{scope: scope{host: h, vars: vars, others: b.others, lookup: b.lookup, open: b.open}, inv: b.inv, defaults: b.defaults, password: b.password, note: note}
}

// sharedConfig returns the configuration from the variables of the group all alone.
// It leaves out options that belong to one host, and secrets, which must not be sent
// to other machines.
func (b *builder) sharedConfig(all *ordered.Map) *ordered.Map {
	config := b.connection(&ansible.Host{Name: "all"}, all, func(string) {}).config()
	if section, ok := config.Value(fmt.Sprint(config.Value("transport"))).(*ordered.Map); ok {
		for _, option := range []string{"host", "password", "sudo-password", "refuse"} {
			section.Delete(option)
		}
	}
	return config
}

// shown returns the variables of a target that are not in known. It leaves out
// variables of connections, and values that contain secrets or would be plugin
// references.
func (b *builder) shown(vars, known *ordered.Map, unfitting func(name, why string)) *ordered.Map {
	m := &ordered.Map{}
	for name, v := range vars.All() {
		if consumed(name) {
			continue
		}
		if why := unfit(v); why != "" {
			unfitting(name, why)
			continue
		}
		if k, ok := known.Get(name); !ok || !reflect.DeepEqual(k, v) {
			m.Set(name, v)
		}
	}
	return m
}

// unfit returns the reason why a value cannot be a target's variable; "" if it can.
func unfit(v any) string {
	switch v := v.(type) {
	case ansible.Vaulted, transport.Secret:
		return "it is a secret of ansible-vault"
	case []any:
		for _, e := range v {
			if why := unfit(e); why != "" {
				return why
			}
		}
	case *ordered.Map:
		for k, e := range v.All() {
			if k == "_plugin" {
				return "it has a key _plugin"
			}
			if why := unfit(e); why != "" {
				return why
			}
		}
	}
	return ""
}

// nameOf returns the target name of a host. It replaces spaces by underscores, unless
// another host or a group has that name.
func (b *builder) nameOf(h *ansible.Host) string {
	name := strings.ReplaceAll(h.Name, " ", "_")
	if name != h.Name && (b.inv.Host(name) != nil || b.inv.Group(name) != nil) {
		return h.Name
	}
	return name
}

// illegal returns the reason why a host cannot be a target; "" if it can.
func illegal(name string) string {
	switch {
	case name == "all":
		return "all is the group of all targets"
	case strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }):
		return "names of targets are ASCII"
	case strings.ContainsFunc(name, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "there is a comma, a blank or a control character in its name"
	}
	return ""
}

// children returns the child groups that are not placed yet.
func (b *builder) children(g *ansible.Group) []any {
	list := []any{}
	for _, c := range g.Children {
		if b.placed[c] {
			continue
		}
		b.placed[c] = true
		if why := b.illegalGroup(c); why != "" {
			if why != sameMembers {
				b.notes.add("the group is left out: "+why, c.Name)
			}
			list = append(list, b.children(c)...)
			continue
		}
		m := ordered.Of("name", c.Name)
		within := b.children(c)
		members := b.members(c, within)
		if c.Name == "ungrouped" && len(members) == 0 && len(within) == 0 {
			continue
		}
		if len(members) > 0 {
			m.Set("targets", members)
		}
		if len(within) > 0 {
			m.Set("groups", within)
		}
		list = append(list, m)
	}
	return list
}

// withOthers adds a group with the targets that are in none of the groups, because
// their own group was left out.
func (b *builder) withOthers(list []any) []any {
	others := []any{}
	for _, h := range b.inv.Hosts {
		if t := b.targets[h.Name]; t != nil && !b.told[h.Name] {
			others = append(others, t)
		}
	}
	if len(others) == 0 {
		return list
	}
	for _, g := range list {
		if g := g.(*ordered.Map); g.Value("name") == "ungrouped" {
			has, _ := g.Value("targets").([]any)
			g.Set("targets", append(has, others...))
			return list
		}
	}
	return append(list, ordered.Of("name", "ungrouped", "targets", others))
}

// sameMembers is the reason for leaving out a group without losing data.
const sameMembers = "its only target has the same name"

// illegalGroup returns the reason why a group cannot be a group here; "" if it can.
func (b *builder) illegalGroup(g *ansible.Group) string {
	if strings.ContainsFunc(g.Name, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "there is a comma, a blank or a control character in its name"
	}
	if b.targets[g.Name] != nil {
		if len(g.Hosts) == 1 && g.Hosts[0].Name == g.Name && len(g.Children) == 0 {
			return sameMembers
		}
		return "a target has its name"
	}
	return ""
}

// members returns the targets to list in a group: its own, and the targets of child
// groups that are defined elsewhere. within is the list of groups that are defined in
// it.
func (b *builder) members(g *ansible.Group, within []any) []any {
	here := make(map[string]bool)
	for _, c := range within {
		here[c.(*ordered.Map).Value("name").(string)] = true
	}
	var list []any
	listed := make(map[string]bool)
	seen := make(map[*ansible.Group]bool)
	var add func(g *ansible.Group)
	add = func(g *ansible.Group) {
		if seen[g] {
			return
		}
		seen[g] = true
		for _, h := range g.Hosts {
			t := b.targets[h.Name]
			if t == nil || listed[h.Name] {
				continue
			}
			listed[h.Name] = true
			if b.told[h.Name] {
				list = append(list, b.nameOf(h))
			} else {
				b.told[h.Name] = true
				list = append(list, t)
			}
		}
		for _, c := range g.Children {
			if !here[c.Name] {
				add(c)
			}
		}
	}
	add(g)
	return list
}

// common holds the data of the group all, so that it is not repeated for every
// target.
type common struct {
	vars, config *ordered.Map
	unfit        map[string]map[string]bool // variables in vars, with the targets that must not have them
}

// without records that a target must not have a variable of the group all.
func (s *common) without(name, target string) {
	if _, ok := s.vars.Get(name); !ok {
		return
	}
	if s.unfit[name] == nil {
		s.unfit[name] = make(map[string]bool)
	}
	s.unfit[name][target] = true
}

// giveBack moves data from the group all back to the targets, if it does not apply to
// some targets.
func (s *common) giveBack(targets map[string]*ordered.Map) {
	for _, name := range slices.Sorted(maps.Keys(s.unfit)) {
		not := s.unfit[name]
		value := s.vars.Value(name)
		s.vars.Delete(name)
		for target, t := range targets {
			own, _ := t.Value("vars").(*ordered.Map)
			if _, has := own.Get(name); has || not[target] {
				continue
			}
			if own == nil {
				own = &ordered.Map{}
				t.Set("vars", own)
			}
			own.Set(name, value)
		}
	}
}

// section returns the options of the transport in a configuration.
func section(config *ordered.Map) *ordered.Map {
	name, _ := config.Value("transport").(string)
	m, _ := config.Value(name).(*ordered.Map)
	return m
}

// narrow keeps in the group all only the options that every target sets, to any
// value.
func (s *common) narrow(t *ordered.Map) {
	config := t.Value("config").(*ordered.Map)
	if config.Value("transport") != s.config.Value("transport") {
		return
	}
	mine, all := section(config), section(s.config)
	for _, option := range all.Keys() {
		if _, ok := mine.Get(option); !ok {
			all.Delete(option)
		}
	}
}

// take removes from a target the options that the group all has.
func (s *common) take(t *ordered.Map) {
	config := t.Value("config").(*ordered.Map)
	// A target named localhost is local, whatever transport the group all has.
	if config.Value("transport") != s.config.Value("transport") || t.Value("name") == "localhost" {
		return
	}
	mine := section(config)
	for option, v := range section(s.config).All() {
		if reflect.DeepEqual(mine.Value(option), v) {
			mine.Delete(option)
		}
	}
	if name := config.Value("transport").(string); mine.Len() == 0 {
		config.Delete(name)
	}
	if config.Delete("transport"); config.Len() == 0 {
		t.Delete("config")
	}
}

func (s *common) say(data *ordered.Map) {
	if name := s.config.Value("transport").(string); section(s.config).Len() == 0 {
		s.config.Delete(name)
	}
	data.Set("config", s.config)
	if s.vars.Len() > 0 {
		data.Set("vars", s.vars)
	}
}

// notes collects warnings, so that each text is printed once for all hosts.
type notes struct {
	order []string
	of    map[string][]string
}

func (n *notes) add(text, name string) {
	if n.of == nil {
		n.of = make(map[string][]string)
	}
	if n.of[text] == nil {
		n.order = append(n.order, text)
	}
	if !slices.Contains(n.of[text][max(0, len(n.of[text])-1):], name) {
		n.of[text] = append(n.of[text], name)
	}
}

// maxNamed is the maximum length of a list of names in a warning.
const maxNamed = 200

func (n *notes) tell(warn func(string)) {
	for _, text := range n.order {
		names := safetext.TerminalString(nodeset.Fold(n.of[text]))
		if len(names) > maxNamed {
			names = fmt.Sprintf("%s … (%d in total)", strings.ToValidUTF8(names[:maxNamed], ""), len(n.of[text]))
		}
		// A string from an inventory must not look like a line that bolt prints.
		text = strings.Join(strings.Fields(safetext.TerminalString(text)), " ")
		warn(fmt.Sprintf("Ansible inventory, %s: %s", names, text))
	}
}

func directory(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Dir(path)
}
