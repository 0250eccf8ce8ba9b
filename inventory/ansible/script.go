package ansible

import (
	"context"
	"errors"
	"fmt"

	"bolt/format/ordered"
)

// readScript parses the output of a dynamic inventory for --list. Variables of
// hosts are in _meta; if the script prints no _meta, ask runs it with --host for
// each host.
func (inv *Inventory) readScript(ctx context.Context, list []byte, ask func(ctx context.Context, host string) ([]byte, error)) error {
	v, err := ordered.ParseJSON(list)
	if err != nil {
		return fmt.Errorf("its output is not JSON: %w", err)
	}
	data, ok := marked(v).(*ordered.Map)
	if !ok {
		return errors.New("its output is JSON, but not an object of groups")
	}
	named := make(map[string]bool)
	var hosts []string
	for name, v := range data.All() {
		if name == "_meta" {
			continue
		}
		if name == "" {
			return errors.New("a group has no name")
		}
		found, err := inv.scriptGroup(name, v)
		if err != nil {
			return err
		}
		for _, h := range found {
			if !named[h] {
				named[h] = true
				hosts = append(hosts, h)
			}
		}
	}
	meta, _ := data.Value("_meta").(*ordered.Map)
	all, known := meta.Value("hostvars").(*ordered.Map)
	for _, h := range hosts {
		v := all.Value(h)
		if !known {
			if v, err = hostOf(ctx, h, ask); err != nil {
				return err
			}
		}
		vars, ok := v.(*ordered.Map)
		if !ok && v != nil {
			return fmt.Errorf("the variables of the host '%s' are not an object", told(h))
		}
		for k, v := range vars.All() {
			if err := inv.set(h, k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostOf runs a script for one host.
func hostOf(ctx context.Context, host string, ask func(ctx context.Context, host string) ([]byte, error)) (any, error) {
	out, err := ask(ctx, host)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	v, err := ordered.ParseJSON(out)
	if err != nil {
		return nil, fmt.Errorf("its output for --host %s is not JSON: %w", told(host), err)
	}
	return marked(v), nil
}

// scriptGroup reads a group: an object with hosts, children and vars, a list of
// hosts, or the variables of a host with that name.
func (inv *Inventory) scriptGroup(name string, v any) (hosts []string, err error) {
	g := inv.addGroup(name)
	m, ok := v.(*ordered.Map)
	if !ok {
		m = ordered.Of("hosts", v)
	}
	has := func(key string) bool { _, ok := m.Get(key); return ok }
	if !has("hosts") && !has("children") && !has("vars") {
		m = ordered.Of("hosts", []any{name}, "vars", m)
	}
	wrong := func(key string) error {
		return fmt.Errorf("the %s of the group '%s' have the wrong form", key, told(name))
	}
	if has := m.Value("hosts"); has != nil || !ok {
		list, ok := has.([]any)
		if !ok {
			return nil, wrong("hosts")
		}
		for _, e := range list {
			h, ok := e.(string)
			if !ok {
				return nil, wrong("hosts")
			}
			if _, err := inv.addHost(h, g, 0); err != nil {
				return nil, err
			}
			hosts = append(hosts, h)
		}
	}
	if v := m.Value("vars"); v != nil {
		vars, ok := v.(*ordered.Map)
		if !ok {
			return nil, wrong("vars")
		}
		for k, v := range vars.All() {
			if err := inv.set(name, k, v); err != nil {
				return nil, err
			}
		}
	}
	if v := m.Value("children"); v != nil {
		list, ok := v.([]any)
		if !ok {
			return nil, wrong("children")
		}
		for _, e := range list {
			c, ok := e.(string)
			if !ok || c == "" {
				return nil, wrong("children")
			}
			if err := inv.link(g, inv.addGroup(c)); err != nil {
				return nil, err
			}
		}
	}
	return hosts, nil
}
