// Package file reads an inventory from a file or from the text of a variable.
package file

import (
	"context"
	"errors"
	"fmt"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory/ansible"
)

// Parse reads an inventory from the text of an environment variable.
func Parse(text, variable string) (*ordered.Map, error) {
	v, err := yaml.Decode([]byte(text), variable)
	m, ok := v.(*ordered.Map)
	if err != nil || !ok {
		f := &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse inventory from " + variable, Err: err}
		if e, is := errors.AsType[*yaml.Error](err); is { // the message is Bolt's, so the hint has the position
			f.Hint = fmt.Sprintf("Correct line %d, column %d: %s. %s", e.Line, e.Column, e.Problem, e.Hint)
		}
		return nil, f
	}
	return m, nil
}

// Read reads an inventory file. It warns if the file looks like an Ansible
// inventory.
func Read(ctx context.Context, path string, warn func(id, text string)) (*ordered.Map, error) {
	text, err := yaml.Read(ctx, path, "inventory")
	if err != nil {
		return nil, err
	}
	data, err := yaml.DecodeMap(text, path, "inventory")
	if f, ok := errors.AsType[*fault.Error](err); ok && ansible.LooksLike(text) {
		f.Hint = ofAnsible(path)
	}
	if err == nil && ansible.HasGroups(data) {
		warn("ansible_inventory", ofAnsible(path))
	}
	return data, err
}

// ofAnsible returns the hint for an Ansible inventory.
func ofAnsible(path string) string {
	return fmt.Sprintf("If %s is an Ansible inventory, write an inventory.yaml with these two lines: '_plugin: ansible' and 'path: %[1]s'", path)
}
