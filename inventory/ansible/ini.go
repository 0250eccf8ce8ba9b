package ansible

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bolt/internal/lazyregexp"
)

var (
	iniSection = lazyregexp.New(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	iniGroup   = lazyregexp.New(`^([^:\]\s]+)\s*(?:#.*)?$`)
)

// An iniReader reads one file in Ansible's INI format: sections of hosts, of
// children of a group (:children), and of its variables (:vars). Lines before the
// first section are hosts without a group.
type iniReader struct {
	inv  *Inventory
	line int // from 1

	group, kind string
	// forward are groups that were used before their section, in order; waiting
	// are those of them whose section has not been read yet.
	forward []*undeclared
	waiting map[string]*undeclared
}

// An undeclared group must have a section of its own in the file.
type undeclared struct {
	name, within string // within is the section that uses it
	line         int
	parents      []*Group
}

func (inv *Inventory) readINI(data []byte) error {
	r := iniReader{inv: inv, group: "ungrouped", waiting: make(map[string]*undeclared)}
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.Lines(text) {
		r.line++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		err := r.read(line)
		if !utf8.ValidString(line) {
			err = fmt.Errorf("it is not text in UTF-8")
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	for _, u := range r.forward {
		if r.waiting[u.name] == u {
			return fmt.Errorf("line %d: [%s] is about the group '%s', which has no section", u.line, told(u.within), told(u.name))
		}
	}
	return nil
}

func (r *iniReader) read(line string) error {
	if m := iniSection().FindStringSubmatch(line); m != nil {
		return r.section(m[1], m[2])
	}
	if line[0] == '[' && line[len(line)-1] == ']' {
		return fmt.Errorf("'%s' is not a section: write [group], [group:children] or [group:vars], without spaces", told(line))
	}
	switch r.kind {
	case "children":
		return r.child(line)
	case "vars":
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("a line of [%s:vars] has no =", told(r.group))
		}
		return r.inv.set(r.group, strings.TrimSpace(key), literal(strings.TrimSpace(value)))
	}
	return r.host(line)
}

func (r *iniReader) section(group, kind string) error {
	switch kind {
	case "", "children", "vars":
	default:
		return fmt.Errorf("[%s:%s]: only children or vars is allowed after the colon", told(group), told(kind))
	}
	r.group, r.kind = group, kind
	if kind == "vars" {
		if r.inv.groups[group] == nil && r.waiting[group] == nil {
			r.await(&undeclared{name: group, within: group + ":vars", line: r.line})
		}
		r.inv.addGroup(group)
		return nil
	}
	g := r.inv.addGroup(group)
	if u := r.waiting[group]; u != nil {
		delete(r.waiting, group)
		for _, p := range u.parents {
			if err := r.inv.link(p, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *iniReader) await(u *undeclared) {
	r.forward = append(r.forward, u)
	r.waiting[u.name] = u
}

func (r *iniReader) child(line string) error {
	m := iniGroup().FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("'%s' is not the name of a group", told(line))
	}
	parent := r.inv.groups[r.group]
	if g := r.inv.groups[m[1]]; g != nil {
		return r.inv.link(parent, g)
	}
	u := r.waiting[m[1]]
	if u == nil {
		u = &undeclared{name: m[1], within: r.group + ":children", line: r.line}
		r.await(u)
	}
	u.parents = append(u.parents, parent)
	return nil
}

func (r *iniReader) host(line string) error {
	words, err := Words(line, true)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return nil
	}
	if words[0] == "---" {
		return fmt.Errorf("--- begins a YAML document, but this file name means INI: rename it to .yml or .yaml, or remove its extension")
	}
	names, port, err := hosts(words[0])
	if err != nil {
		return err
	}
	if strings.HasSuffix(words[0], ":") {
		return fmt.Errorf("the host '%s' has no port after its colon", told(words[0]))
	}
	type variable struct {
		key   string
		value any
	}
	var vars []variable
	for i, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok { // it may be the end of a password that contains a space
			return fmt.Errorf("after the host '%s', word %d is not name=value; put a value that contains spaces in quotes", told(words[0]), i+1)
		}
		vars = append(vars, variable{key, literal(value)})
	}
	for _, name := range names {
		if _, err := r.inv.addHost(name, r.inv.groups[r.group], port); err != nil {
			return err
		}
		for _, v := range vars {
			if err := r.inv.set(name, v.key, v.value); err != nil {
				return err
			}
		}
	}
	return nil
}
