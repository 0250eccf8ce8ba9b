package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// A state is the JSON of a state file. Version 4 has resources with instances;
// earlier versions have modules with resources.
type state struct {
	Version   int
	Resources []struct {
		Module    string // "module.a.module.b[0]"
		Mode      string // "managed" or "data"
		Type      string
		Name      string
		Instances []struct {
			Index   json.RawMessage `json:"index_key"` // a number, or a string
			Deposed string          // if set, the instance is about to be destroyed
			Nested  json.RawMessage `json:"attributes"`
			Flat    json.RawMessage `json:"attributes_flat"`
		}
	}
	Modules []struct {
		Path      []string // "root", "a", "b"
		Resources map[string]struct {
			Primary struct {
				Attributes json.RawMessage
			}
		}
	}
	Encrypted json.RawMessage `json:"encrypted_data"`
}

// A resource is one instance of a resource.
type resource struct {
	module       string // "module.a.", or "" at the top
	name         string // "aws_instance.web", "aws_instance.web.0"
	nested, flat json.RawMessage
}

// resources calls each for every resource of a state. Attributes are decoded
// only when a caller needs them. Errors do not quote the state.
func resources(data []byte, each func(resource) error) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil // the state was moved to a backend
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return unreadable(err)
	}
	switch {
	case len(s.Encrypted) > 0:
		return errors.New("it is encrypted; set 'backend: remote' so that OpenTofu itself reads it")
	case s.Version > 4:
		return fmt.Errorf("its version is %d; supported are versions up to 4", s.Version)
	case s.Version < 1:
		return errors.New("it is JSON, but not a state: it has no version")
	}
	for _, r := range s.Resources {
		module := r.Module
		if module != "" {
			module += "."
		}
		for _, i := range r.Instances {
			if i.Deposed != "" {
				continue
			}
			index, err := index(i.Index)
			if err != nil {
				return err
			}
			if err := each(resource{module, r.Type + "." + r.Name + index, i.Nested, i.Flat}); err != nil {
				return err
			}
		}
	}
	for _, m := range s.Modules {
		module := ""
		for _, name := range m.Path[min(1, len(m.Path)):] {
			module += "module." + name + "."
		}
		for _, name := range slices.Sorted(maps.Keys(m.Resources)) {
			if err := each(resource{module, name, nil, m.Resources[name].Primary.Attributes}); err != nil {
				return err
			}
		}
	}
	return nil
}

// unreadable describes an error in JSON without quoting the JSON.
func unreadable(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON, or ends too early, at byte %d", e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("it is JSON, but not a state: byte %d", e.Offset)
	}
	return errors.New("it is not a state")
}

// index returns the suffix of an instance's name.
func index(raw json.RawMessage) (string, error) {
	var v any
	if len(raw) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", unreadable(err)
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return "." + v, nil
	case float64:
		return "." + strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", errors.New("it has an index that is neither a number nor a string")
}

// attributes returns the attributes of a resource.
func (r resource) attributes() (*ordered.Map, error) {
	raw, flat := r.nested, false
	if len(raw) == 0 || string(raw) == "null" {
		raw, flat = r.flat, true
	}
	if len(raw) == 0 {
		return &ordered.Map{}, nil
	}
	v, err := ordered.ParseJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("the attributes of %s%s cannot be read", r.module, r.name)
	}
	m, _ := v.(*ordered.Map)
	if flat {
		return structure(m), nil
	}
	return m, nil
}

// structure converts the flat keys of old states to nested maps: "tags.Name",
// "network_interface.0.address".
func structure(flat *ordered.Map) *ordered.Map {
	tree := &ordered.Map{}
	for key, v := range flat.All() {
		at, parts := tree, strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			inner, ok := at.Value(part).(*ordered.Map)
			if !ok {
				inner = &ordered.Map{}
				at.Set(part, inner)
			}
			at = inner
		}
		if last := parts[len(parts)-1]; at.Value(last) == nil {
			at.Set(last, v)
		}
	}
	return tree
}
