// Package file reads the text of an inventory.
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

// Parse reads an inventory that a variable holds.
func Parse(text, variable string) (*ordered.Map, error) {
	v, err := yaml.Decode([]byte(text), variable)
	m, ok := v.(*ordered.Map)
	if err != nil || !ok {
		return nil, &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse inventory from " + variable, Err: err}
	}
	return m, nil
}

// Read reads the file of an inventory. It warns of one that looks like an inventory
// of Ansible's.
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

// ofAnsible says how an inventory of Ansible's is read.
func ofAnsible(path string) string {
	return fmt.Sprintf("If %s is an inventory of Ansible's, write an inventory.yaml of these two lines: '_plugin: ansible' and 'path: %[1]s'", path)
}
