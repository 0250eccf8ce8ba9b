package ansible

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"bolt/format/ordered"
)

// readTOML reads groups: tables with hosts, children and vars. Unlike in YAML,
// children are a list of names.
func (inv *Inventory) readTOML(data []byte, warn func(string)) error {
	var tables map[string]any
	meta, err := toml.Decode(string(data), &tables)
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Errorf("line %d: %s", e.Position.Line, told(e.Message))
	}
	if err != nil {
		return fmt.Errorf("not valid TOML: %s", told(err.Error()))
	}
	at := make(map[string]int)
	for i, key := range meta.Keys() {
		for n := range len(key) {
			if name := keyPath(key[:n+1]); at[name] == 0 {
				at[name] = i + 1
			}
		}
	}
	groups := inOrder(tables, at, nil).(*ordered.Map)
	if p, ok := groups.Value("plugin").(string); ok {
		return errPlugin{p}
	}
	if groups.Len() == 0 {
		return errors.New("it has no groups")
	}
	for name, v := range groups.All() {
		if g, ok := v.(*ordered.Map); ok {
			if err := childrenAsMap(name, g); err != nil {
				return err
			}
		}
		if _, err := inv.yamlGroup(name, v, warn, 0); err != nil {
			return err
		}
	}
	return nil
}

// childrenAsMap converts a group to the form of YAML inventories.
func childrenAsMap(name string, g *ordered.Map) error {
	wrong := func(key, form string) error {
		return fmt.Errorf("the %s of the group '%s' are not a %s", key, told(name), form)
	}
	for _, key := range []string{"hosts", "vars"} {
		v, has := g.Get(key)
		if _, ok := v.(*ordered.Map); has && !ok {
			return wrong(key, "table")
		}
	}
	v, has := g.Get("children")
	if !has {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return wrong("children", "list")
	}
	children := &ordered.Map{}
	for _, c := range list {
		child, ok := c.(string)
		if !ok {
			return wrong("children", "list of names")
		}
		children.Set(child, nil)
	}
	g.Set("children", children)
	return nil
}

// keyPath joins a key of TOML to one string.
func keyPath(key []string) string { return strings.Join(key, "\x00") }

// inOrder converts tables to maps of package ordered. at has the position of each key
// in the file.
func inOrder(v any, at map[string]int, key []string) any {
	switch v := v.(type) {
	case map[string]any:
		m := &ordered.Map{}
		place := func(k string) int { return at[keyPath(append(slices.Clip(key), k))] }
		for _, k := range slices.SortedFunc(maps.Keys(v), func(a, b string) int {
			return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
		}) {
			m.Set(k, inOrder(v[k], at, append(slices.Clip(key), k)))
		}
		return m
	case []map[string]any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = inOrder(e, at, key)
		}
		return list
	case []any:
		for i, e := range v {
			v[i] = inOrder(e, at, key)
		}
		return v
	case time.Time:
		// Ansible prints times as Python does, without the T.
		switch layout := v.Location().String(); layout {
		case "date-local":
			return v.Format(time.DateOnly)
		case "time-local":
			return v.Format("15:04:05.999999999")
		case "datetime-local":
			return v.Format("2006-01-02T15:04:05.999999999")
		}
		return v.Format(time.RFC3339Nano)
	}
	return v
}
