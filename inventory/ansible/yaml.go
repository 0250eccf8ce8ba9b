package ansible

import (
	"bytes"
	"errors"
	"fmt"

	"bolt/format/ordered"
	"bolt/format/yaml"
)

// decode parses YAML or JSON as Ansible does. Encrypted values become Vaulted.
func decode(data []byte, file string) (any, error) {
	if t := bytes.TrimSpace(data); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		if v, err := ordered.ParseJSON(data); err == nil {
			return marked(v), nil
		}
	}
	v, err := yaml.DecodePython(data, file, func(tag, text string) (any, bool) {
		switch tag {
		case "!vault", "!vault-encrypted":
			return Vaulted(text), true
		case "!unsafe":
			return text, true
		}
		return nil, false
	})
	if e, ok := errors.AsType[*yaml.Error](err); ok {
		return nil, fmt.Errorf("line %d: %s", e.Line, told(e.Problem))
	}
	return v, err
}

// marked replaces the maps with special keys by which JSON represents encrypted
// values and strings that are not templates.
func marked(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = marked(e)
		}
	case *ordered.Map:
		if s, ok := v.Value("__ansible_vault").(string); ok {
			return Vaulted(s)
		}
		if s, ok := v.Value("__ansible_unsafe").(string); ok {
			return s
		}
		for k, e := range v.All() {
			v.Set(k, marked(e))
		}
	}
	return v
}

// errPlugin is the error of a YAML file that is the configuration of an inventory
// plugin of Ansible.
type errPlugin struct{ name string }

func (e errPlugin) Error() string {
	return fmt.Sprintf("it configures Ansible's plugin %s, which only Ansible can run: if Ansible is installed, set 'format: ansible-inventory'", told(e.name))
}

// maxNested is the maximum nesting of groups in a file.
const maxNested = 100

// readYAML reads groups: maps with hosts, children and vars.
func (inv *Inventory) readYAML(data *ordered.Map, warn func(string)) error {
	if p, ok := data.Value("plugin").(string); ok {
		return errPlugin{p}
	}
	for name, v := range data.All() {
		if _, err := inv.yamlGroup(name, v, warn, 0); err != nil {
			return err
		}
	}
	return nil
}

// yamlGroup reads one group; the result is nil if v is not a group.
func (inv *Inventory) yamlGroup(name string, v any, warn func(string), depth int) (*Group, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("groups are nested deeper than %d", maxNested)
	}
	m, ok := v.(*ordered.Map)
	if !ok && v != nil {
		warn(fmt.Sprintf("'%s' is not a group: a group is a map with hosts, children and vars", told(name)))
		if inv.groups[name] == nil {
			return nil, nil
		}
		return inv.groups[name], nil
	}
	if name == "" {
		return nil, errors.New("a group has no name")
	}
	g := inv.addGroup(name)
	for key, v := range m.All() {
		section, ok := v.(*ordered.Map)
		if s, text := v.(string); text && (key == "hosts" || key == "children" || key == "vars") {
			section, ok = ordered.Of(s, nil), true
		}
		switch {
		case v == nil:
		case key != "hosts" && key != "children" && key != "vars":
			warn(fmt.Sprintf("the group '%s' has the key '%s', which is ignored: the keys of a group are hosts, children and vars", told(name), told(key)))
		case !ok:
			return nil, fmt.Errorf("the %s of the group '%s' are not a map", key, told(name))
		default:
			if err := inv.yamlSection(g, key, section, warn, depth); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

func (inv *Inventory) yamlSection(g *Group, key string, section *ordered.Map, warn func(string), depth int) error {
	for name, v := range section.All() {
		var err error
		switch key {
		case "vars":
			err = inv.set(g.Name, name, v)
		case "children":
			var child *Group
			if child, err = inv.yamlGroup(name, v, warn, depth+1); err == nil && child != nil {
				err = inv.link(g, child)
			}
		default:
			err = inv.yamlHosts(g, name, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (inv *Inventory) yamlHosts(g *Group, pattern string, v any) error {
	vars, ok := v.(*ordered.Map)
	if !ok && v != nil && v != false && v != "" {
		return fmt.Errorf("the value of the host '%s' in the group '%s' is not a map of variables", told(pattern), told(g.Name))
	}
	names, port, err := hosts(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := inv.addHost(name, g, port); err != nil {
			return err
		}
		for k, v := range vars.All() {
			if err := inv.set(name, k, v); err != nil {
				return err
			}
		}
	}
	return nil
}
