package hiera

import (
	"strings"

	"bolt/puppet/value"
)

// eyaml implements the function eyaml_lookup_key: YAML whose strings can
// contain encrypted blocks.
func (l *lookup) eyaml(p *provider, i int, key string) (value.Value, bool, error) {
	loc := p.locations[i]
	if loc == nil || loc.uri {
		return nil, false, p.config.blame(errorf("config", "the level '%s' uses eyaml_lookup_key and so needs one of path, paths, glob, globs and mapped_paths", p.entry.name), p.entry)
	}
	return l.eyamlFile(loc.path, key, p.options)
}

// eyamlFile is eyaml for a file. options are the options for keys, from the
// level of the hierarchy or from a function.
func (l *lookup) eyamlFile(path, key string, options *value.Hash) (value.Value, bool, error) {
	h, err := l.fileData(path, "yaml")
	if err != nil {
		return nil, false, err
	}
	v, ok := h.hash.GetString(key)
	if !ok {
		return nil, false, nil
	}
	e := &eyamlValue{l: l, path: path, key: key, options: options}
	v, err = e.decrypt(v)
	return v, err == nil, err
}

// An eyamlValue is the value of a key whose strings are being decrypted.
type eyamlValue struct {
	l         *lookup
	path, key string
	options   *value.Hash
	open      func(string) (string, error) // nil until it is needed
}

func (e *eyamlValue) decrypt(v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case value.String:
		s := string(v)
		if strings.Contains(s, "ENC[") {
			plain, err := e.plain(s)
			if err != nil && e.l.ctx.Err() != nil {
				return nil, ended(e.l.ctx, e.path)
			}
			if err != nil {
				bad := errorf("data", "the value of '%s' cannot be decrypted: %v", e.key, err)
				bad.File = e.path
				return nil, bad
			}
			s = plain
		}
		return e.l.interpolate(value.String(s), true)
	case *value.Array:
		out := make([]value.Value, v.Len())
		for i, c := range v.All() {
			d, err := e.decrypt(c)
			if err != nil {
				return nil, err
			}
			out[i] = d
		}
		return value.NewArray(out...), nil
	case *value.Hash:
		var b value.HashBuilder
		for k, c := range v.All() {
			key, err := e.l.interpolate(k, true)
			if err != nil {
				return nil, err
			}
			d, err := e.decrypt(c)
			if err != nil {
				return nil, err
			}
			b.Put(key, d)
		}
		return b.Build(), nil
	}
	return v, nil
}

func (e *eyamlValue) plain(s string) (string, error) {
	if e.open == nil {
		o := e.l.s.h.o
		if o.Eyaml == nil {
			return "", errorf("config", "decryption is not available here")
		}
		options := map[string]string{}
		for k, v := range e.options.All() {
			if s, ok := v.(value.String); ok {
				options[value.ToString(k)] = string(s)
			}
		}
		open, err := o.Eyaml(e.l.ctx, options)
		if err != nil {
			return "", err
		}
		e.open = open
	}
	return e.open(s)
}
