package hiera

import (
	"fmt"
	"strconv"
	"strings"

	"bolt/puppet/value"
)

// The names of layers.
const (
	placeGlobal = "Global"
	placeEnv    = "Environment"
	placeModule = "Module"
)

// Keys of hiera.yaml whose values are functions, and those whose values are
// locations.
var (
	functionKeys = []string{"data_hash", "lookup_key", "data_dig", "hiera3_backend"}
	locationKeys = []string{"path", "paths", "glob", "globs", "uri", "uris", "mapped_paths"}
)

// A config is a validated hiera.yaml.
type config struct {
	path        string // "" for the config that replaces a missing file
	datadir     string
	hierarchy   []*entry
	plan        []*entry // nil without plan_hierarchy
	defaults    []*entry // default_hierarchy
	hasDefaults bool
	at          Locator
	// late is the error of levels, or nil. As in Puppet, it is an error only
	// when the levels are used. So an explanation shows it there.
	late error
}

// An entry is a level of a hierarchy.
type entry struct {
	name     string
	kind     string // data_hash, lookup_key, data_dig
	function string
	datadir  string
	location string // one of locationKeys, or ""
	values   []string
	options  *value.Hash
	at       []any // position in the file
}

// defaultConfig returns the configuration of a layer that needs one but has no
// file.
func defaultConfig() *config {
	return &config{
		datadir:   "data",
		hierarchy: []*entry{{name: "Common", kind: "data_hash", function: "yaml_data", datadir: "data", location: "path", values: []string{"common.yaml"}, options: value.NewHash()}},
	}
}

// configReader validates a hiera.yaml.
type configReader struct {
	file  string
	at    Locator
	place string
	late  error // the first error of a level
}

// failLate records the error of a level.
func (r *configReader) failLate(path []any, format string, args ...any) {
	if r.late == nil {
		r.late = r.fail(path, format, args...)
	}
}

// shape is fail for a value of the wrong type. As in Puppet, an evaluation
// reports such an error at the lookup.
func (r *configReader) shape(path []any, format string, args ...any) error {
	err := r.fail(path, format, args...)
	if e, ok := err.(*Error); ok {
		e.Kind = kindShape
	}
	return err
}

func (r *configReader) fail(path []any, format string, args ...any) error {
	e := errorf("config", format, args...)
	e.File = r.file
	if r.at != nil {
		e.Line, e.Column = r.at(path...)
	}
	return e
}

// read validates the content of a hiera.yaml. v is the document.
func (r *configReader) read(v value.Value) (*config, error) {
	h, ok := v.(*value.Hash)
	if !ok {
		if _, undef := v.(value.Undef); undef {
			return nil, r.fail(nil, "the file is empty; a hiera.yaml begins with 'version: 5'")
		}
		return nil, r.shape(nil, "a hiera.yaml must be a hash with 'version: 5', not %s", typeName(v))
	}
	if err := r.version(h); err != nil {
		return nil, err
	}
	c := &config{path: r.file, at: r.at, datadir: "data"}
	base := &entry{kind: "data_hash", function: "yaml_data"}
	for k, e := range h.All() {
		switch key, _ := k.(value.String); key {
		case "version":
		case "defaults":
			d, err := r.defaults(e)
			if err != nil {
				return nil, err
			}
			base = d
		case "hierarchy", "plan_hierarchy", "default_hierarchy":
		default:
			return nil, r.shape([]any{value.ToString(k)}, "'%s' is not a key of a hiera.yaml; there are version, defaults, hierarchy, default_hierarchy and plan_hierarchy", value.ToString(k))
		}
	}
	if base.datadir != "" {
		c.datadir = base.datadir
	}
	base.datadir = c.datadir
	if base.options == nil {
		base.options = value.NewHash()
	}
	var err error
	if v, ok := h.GetString("hierarchy"); ok && !isUndef(v) {
		c.hierarchy, err = r.hierarchy("hierarchy", v, base)
	} else {
		c.hierarchy = defaultConfig().hierarchy
		c.hierarchy[0].datadir = c.datadir
		if base.kind == "" {
			err = r.fail(nil, "the hierarchy is missing, and the defaults do not name a data_hash for the default hierarchy")
		}
		c.hierarchy[0].kind, c.hierarchy[0].function, c.hierarchy[0].options = base.kind, base.function, base.options
	}
	if err != nil {
		return nil, err
	}
	if v, ok := h.GetString("plan_hierarchy"); ok && !isUndef(v) {
		if c.plan, err = r.hierarchy("plan_hierarchy", v, base); err != nil {
			return nil, err
		}
		if c.plan == nil {
			c.plan = []*entry{}
		}
	}
	if v, ok := h.GetString("default_hierarchy"); ok && !isUndef(v) {
		if r.place != placeModule {
			return nil, r.fail([]any{"default_hierarchy"}, "default_hierarchy is for the hiera.yaml of modules; this is that of the %s layer", strings.ToLower(r.place))
		}
		c.hasDefaults = true
		if c.defaults, err = r.hierarchy("default_hierarchy", v, base); err != nil {
			return nil, err
		}
	}
	c.late = r.late
	return c, nil
}

// advice describes how to convert version 3 to version 5.
const advice = "convert it to version 5 (each path of ':hierarchy' becomes an entry with name and path, ':backends' becomes data_hash)"

// version returns an error if the version is not 5.
//
// Differs from Puppet: there version 4 is deprecated in environments and
// modules, and version 3 in the global layer.
func (r *configReader) version(h *value.Hash) error {
	at := []any{"version"}
	v, ok := h.GetString("version")
	if !ok || isUndef(v) {
		if _, old := h.GetString("backends"); old {
			return r.shape(nil, "this is a hiera.yaml of version 3, which is not supported: %s", advice)
		}
		return r.shape(nil, "the version is missing: a hiera.yaml without 'version: 5' is one of version 3, which is not supported")
	}
	n := -1
	switch v := v.(type) {
	case value.Int:
		if v == 5 {
			return nil
		}
		n = int(v)
	case value.String: // Puppet accepts a string here and rejects it later
		n, _ = strconv.Atoi(string(v))
		if n == 5 {
			return r.fail(at, "the version must be the number 5, not a string; leave out the quotes")
		}
	}
	switch n {
	case 3:
		return r.fail(at, "hiera.yaml version 3 is not supported: %s", advice)
	case 4:
		return r.fail(at, "hiera.yaml version 4 is not supported: convert it to version 5 ('backend: yaml' becomes 'data_hash: yaml_data', paths get their extension)")
	}
	return r.fail(at, "hiera.yaml version %s is not supported, only version 5 is", value.ToString(v))
}

// defaults reads the key defaults into an entry without a name.
func (r *configReader) defaults(v value.Value) (*entry, error) {
	path := []any{"defaults"}
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, r.shape(path, "defaults must be a hash, not %s", typeName(v))
	}
	e := &entry{at: path}
	for k, v := range h.All() {
		key := value.ToString(k)
		at := append(path[:1:1], key)
		switch key {
		case "data_hash", "lookup_key", "data_dig":
			if e.kind != "" {
				return nil, r.fail(at, "defaults have both %s and %s; only one can be", e.kind, key)
			}
			s, err := r.text(at, key, v)
			if err != nil {
				return nil, err
			}
			e.kind, e.function = key, s
		case "datadir":
			s, err := r.text(at, key, v)
			if err != nil {
				return nil, err
			}
			e.datadir = s
		case "options":
			o, err := r.options(at, v)
			if err != nil {
				return nil, err
			}
			e.options = o
		default:
			return nil, r.shape(at, "'%s' is not a key of defaults; there are datadir, data_hash, lookup_key, data_dig and options", key)
		}
	}
	return e, nil
}

func (r *configReader) hierarchy(key string, v value.Value, base *entry) ([]*entry, error) {
	list, ok := v.(*value.Array)
	if !ok {
		return nil, r.shape([]any{key}, "%s must be an array, not %s", key, typeName(v))
	}
	var out []*entry
	first := map[string]*entry{}
	for i, v := range list.All() {
		e, err := r.entry([]any{key, i}, v, base)
		if err != nil {
			return nil, err
		}
		if f := first[e.name]; f != nil {
			where := ""
			if r.at != nil {
				if line, _ := r.at(append(f.at[:2:2], "name")...); line > 0 {
					where = fmt.Sprintf(", first in line %d", line)
				}
			}
			r.failLate(append(e.at[:2:2], "name"), "two levels of %s are named '%s'%s", key, e.name, where)
			continue
		}
		first[e.name] = e
		out = append(out, e)
	}
	return out, nil
}

func (r *configReader) entry(path []any, v value.Value, base *entry) (*entry, error) {
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, r.shape(path, "a level of a hierarchy must be a hash, not %s", typeName(v))
	}
	e := &entry{at: path, datadir: base.datadir, options: base.options}
	name, ok := h.GetString("name")
	if !ok {
		return nil, r.shape(path, "the level has no name")
	}
	at := func(key string) []any { return append(path[:len(path):len(path)], key) }
	var err error
	if e.name, err = r.text(at("name"), "name", name); err != nil {
		return nil, err
	}
	for k, v := range h.All() {
		key := value.ToString(k)
		switch key {
		case "name":
		case "data_hash", "lookup_key", "data_dig", "hiera3_backend":
			if e.kind != "" {
				return nil, r.fail(at(key), "the level '%s' has both %s and %s; only one can be", e.name, e.kind, key)
			}
			e.kind = key
			if e.function, err = r.text(at(key), key, v); err != nil {
				return nil, err
			}
			if key == "hiera3_backend" {
				return nil, r.backend(at(key), e)
			}
		case "datadir":
			if e.datadir, err = r.text(at(key), key, v); err != nil {
				return nil, err
			}
		case "options":
			if e.options, err = r.options(at(key), v); err != nil {
				return nil, err
			}
		case "path", "glob", "uri", "paths", "globs", "uris", "mapped_paths":
			if e.location != "" {
				return nil, r.fail(at(key), "the level '%s' has both %s and %s; only one of %s can be", e.name, e.location, key, strings.Join(locationKeys, ", "))
			}
			e.location = key
			if e.values, err = r.locations(at(key), key, v); err != nil {
				return nil, err
			}
		default:
			return nil, r.shape(at(key), "'%s' is not a key of a level; there are name, datadir, options, %s, and %s", key, strings.Join(functionKeys[:3], ", "), strings.Join(locationKeys, ", "))
		}
	}
	if e.kind == "" {
		if e.kind, e.function = base.kind, base.function; e.kind == "" {
			return nil, r.fail(path, "the level '%s' does not have a source of data: one of data_hash, lookup_key and data_dig must be there or in defaults", e.name)
		}
	}
	return e, nil
}

// backend returns the error of a backend of Hiera 3.
func (r *configReader) backend(path []any, e *entry) error {
	switch e.function {
	case "yaml", "json", "hocon":
		return r.fail(path, "hiera3_backend is not supported: write 'data_hash: %s_data' instead", e.function)
	case "eyaml":
		return r.fail(path, "hiera3_backend is not supported: write 'lookup_key: eyaml_lookup_key' instead")
	}
	return r.fail(path, "hiera3_backend is not supported, because backends of Hiera 3 are Ruby code: replace '%s' by a data_hash, lookup_key or data_dig function written in the Puppet language", e.function)
}

// text reads a string that is not empty.
func (r *configReader) text(path []any, key string, v value.Value) (string, error) {
	s, ok := v.(value.String)
	if !ok {
		return "", r.shape(path, "%s must be a string, not %s", key, typeName(v))
	}
	if s == "" {
		return "", r.shape(path, "%s must not be empty", key)
	}
	return string(s), nil
}

func (r *configReader) locations(path []any, key string, v value.Value) ([]string, error) {
	switch key {
	case "path", "glob", "uri":
		s, err := r.text(path, key, v)
		return []string{s}, err
	}
	list, ok := v.(*value.Array)
	if !ok {
		return nil, r.shape(path, "%s must be an array of strings, not %s", key, typeName(v))
	}
	if key == "mapped_paths" && list.Len() != 3 {
		return nil, r.shape(path, "mapped_paths must have three strings: a variable, a name for each of its elements, and a path that uses that name")
	}
	if list.Len() == 0 {
		return nil, r.shape(path, "%s must not be empty", key)
	}
	var out []string
	for i, e := range list.All() {
		s, err := r.text(append(path[:len(path):len(path)], i), "an element of "+key, e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *configReader) options(path []any, v value.Value) (*value.Hash, error) {
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, r.shape(path, "options must be a hash, not %s", typeName(v))
	}
	for k, v := range h.All() {
		key, ok := k.(value.String)
		at := append(path[:len(path):len(path)], value.ToString(k))
		switch {
		case key == "path" || key == "uri":
			return nil, r.fail(at, "the option '%s' cannot be set: Hiera uses it to pass the location to a function", key)
		case !ok || !isOptionName(string(key)):
			return nil, r.shape(at, "'%s' is not the name of an option: it must begin with a letter, end with a letter or digit, and have nothing but these, _ and - between", value.ToString(k))
		case !isData(v):
			return nil, r.shape(at, "the option '%s' must be plain data", key)
		}
	}
	return h, nil
}

func isOptionName(s string) bool {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	if s == "" || !letter(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if !letter(c) && (c < '0' || c > '9') && (i == len(s)-1 || c != '_' && c != '-') {
			return false
		}
	}
	return true
}
