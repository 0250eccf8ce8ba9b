package value

import (
	"fmt"
	"strings"
)

// A TypeSetType is a set of types with a common name. It is made from a hash,
// as in TypeSet[{…}].
type TypeSetType struct {
	name        string
	authority   string // the URI of the authority for the names
	uri         string
	pcore       *SemVer // of the format
	version     *SemVer // or nil
	types       []namedType
	references  []*TypeSetReference
	annotations *Hash // or nil
}

type namedType struct {
	name string
	typ  Type
}

// A TypeSetReference is a type set that another type set uses, with a local
// name.
type TypeSetReference struct {
	Alias     string
	Name      string
	Authority string // empty: that of the type set
	Versions  *SemVerRange
	Set       *TypeSetType // nil until it is resolved
}

// RuntimeAuthority is the authority for the names of types of an environment.
const RuntimeAuthority = "http://puppet.com/2016.1/runtime"

// anyTypeSet is TypeSet without parameters.
var anyTypeSet = &TypeSetType{
	name: "DefaultTypeSet", authority: RuntimeAuthority, uri: "http://puppet.com/2016.1/pcore",
	pcore: NewSemVer(1, 0, 0, "", ""), version: NewSemVer(0, 0, 0, "", ""),
}

// NewTypeSetType returns the type set that init describes. Its keys are
// pcore_version, pcore_uri, name_authority, name, version, types, references
// and annotations. Types that refer to each other must be declared first (see
// [DeclareObjectType] and [NewAlias]) and can be defined later. If name and
// authority are not empty, they override those in init. An error is a
// [*TypeError].
func NewTypeSetType(name, authority string, init *Hash) (*TypeSetType, error) {
	t := &TypeSetType{name: name, authority: authority}
	for k, v := range init.All() {
		key, _ := k.(String)
		if err := t.set(string(key), v); err != nil {
			return nil, err
		}
	}
	if t.pcore == nil {
		return nil, t.errorf("the key pcore_version is missing")
	}
	if t.pcore.Major != 1 {
		return nil, t.errorf("pcore_version is %s, known are versions 1.x", t.pcore)
	}
	return t, t.checkReferences()
}

func (t *TypeSetType) errorf(format string, args ...any) error {
	name := "the type set"
	if t.name != "" {
		name = "the type set " + t.name
	}
	return &TypeError{"type-set", name + ": " + fmt.Sprintf(format, args...), -1}
}

func (t *TypeSetType) set(key string, v Value) (err error) {
	ok := true
	switch key {
	case "pcore_version":
		t.pcore, ok = versionOf(v)
	case "version":
		t.version, ok = versionOf(v)
	case "pcore_uri":
		t.uri, ok = text(v)
	case "name_authority":
		var s string
		if s, ok = text(v); t.authority == "" {
			t.authority = s
		}
	case "name":
		var s string
		s, ok = text(v)
		ok = ok && isQualifiedReference(s)
		if t.name == "" {
			t.name = s
		}
	case "types":
		return t.setTypes(v)
	case "references":
		return t.setReferences(v)
	case "annotations":
		t.annotations, ok = v.(*Hash)
	default:
		return t.errorf("the key %s is not supported", quoteString(key))
	}
	if !ok {
		return t.errorf("%s cannot be %s", key, Inspect(v))
	}
	return nil
}

func text(v Value) (string, bool) {
	s, ok := v.(String)
	return string(s), ok && s != ""
}

func (t *TypeSetType) setTypes(v Value) error {
	h, ok := v.(*Hash)
	if !ok || h.Len() == 0 {
		return t.errorf("types has to be a hash with at least one type, got %s", DescribeValue(v))
	}
	for k, v := range h.All() {
		name, _ := text(k)
		if strings.Contains(name, "::") || !isQualifiedReference(name) {
			return t.errorf("%s is not a name for a type", Inspect(k))
		}
		typ, ok := v.(Type)
		if init, isHash := v.(*Hash); isHash {
			o, err := newObjectType(t.name+"::"+name, init)
			if err != nil {
				return err
			}
			typ, ok = o, true
		}
		if !ok {
			return t.errorf("%s is not a type but %s", name, DescribeValue(v))
		}
		t.types = append(t.types, namedType{name, typ})
	}
	return nil
}

func (t *TypeSetType) setReferences(v Value) error {
	h, ok := v.(*Hash)
	if !ok || h.Len() == 0 {
		return t.errorf("references has to be a hash with at least one reference, got %s", DescribeValue(v))
	}
	for k, v := range h.All() {
		alias, _ := text(k)
		init, ok := v.(*Hash)
		if strings.Contains(alias, "::") || !isQualifiedReference(alias) || !ok {
			return t.errorf("%s => %s is not a reference to a type set", Inspect(k), Inspect(v))
		}
		r := &TypeSetReference{Alias: alias}
		for k, v := range init.All() {
			key, _ := k.(String)
			ok := false
			switch key {
			case "name":
				r.Name, ok = text(v)
				ok = ok && isQualifiedReference(r.Name)
			case "name_authority":
				r.Authority, ok = text(v)
			case "version_range":
				r.Versions, ok = rangeOf(v)
			case "annotations":
				_, ok = v.(*Hash)
			}
			if !ok {
				return t.errorf("reference %s: %s cannot be %s", alias, key, Inspect(v))
			}
		}
		if r.Name == "" || r.Versions == nil {
			return t.errorf("reference %s needs name and version_range", alias)
		}
		t.references = append(t.references, r)
	}
	return nil
}

func rangeOf(v Value) (*SemVerRange, bool) {
	switch v := v.(type) {
	case *SemVerRange:
		return v, true
	case String:
		r, err := parseSemVerRange(string(v))
		return r, err == nil
	}
	return nil, false
}

// checkReferences checks that references do not conflict with each other or
// with types.
func (t *TypeSetType) checkReferences() error {
	for i, r := range t.references {
		for _, n := range t.types {
			if n.name == r.Alias {
				return t.errorf("%s is both a type and a reference", r.Alias)
			}
		}
		for _, o := range t.references[:i] {
			if o.Name == r.Name && o.Authority == r.Authority && o.Versions.overlap(r.Versions) != nil {
				return t.errorf("the references %s and %s are to versions of %s that overlap", o.Alias, r.Alias, r.Name)
			}
		}
	}
	return nil
}

// References returns the type sets that t refers to, so that a loader can
// resolve them.
func (t *TypeSetType) References() []*TypeSetReference { return t.references }

// Resolve sets the type set that is referred to.
func (r *TypeSetReference) Resolve(set *TypeSetType) error {
	if set.version == nil || !r.Versions.Includes(set.version) {
		return &TypeError{"type-set", fmt.Sprintf("the type set %s has a version that is not in %s", set.name, r.Versions), -1}
	}
	r.Set = set
	return nil
}

func (r *TypeSetReference) init(owner *TypeSetType) *Hash {
	var b HashBuilder
	if r.Authority != "" && r.Authority != owner.authority {
		b.Put(String("name_authority"), String(r.Authority))
	}
	b.Put(String("name"), String(r.Name))
	b.Put(String("version_range"), String(r.Versions.String()))
	return b.Build()
}

// Lookup returns the type with a name. The case does not matter. A name that
// begins with the name of a reference is looked up there.
func (t *TypeSetType) Lookup(name string) (Type, bool) {
	for _, n := range t.types {
		if strings.EqualFold(n.name, name) {
			return n.typ, true
		}
	}
	first, rest, nested := strings.Cut(name, "::")
	for _, r := range t.references {
		if r.Set == nil || !strings.EqualFold(r.Alias, first) {
			continue
		}
		if !nested {
			return r.Set, true
		}
		return r.Set.Lookup(rest)
	}
	return nil, false
}

func (t *TypeSetType) defines(typ Type) bool {
	for _, n := range t.types {
		if sameType(n.typ, typ) {
			return true
		}
	}
	return false
}

// nameOf returns the name of a type within the set, or name.
func (t *TypeSetType) nameOf(typ Type, name string) string {
	for _, n := range t.types {
		if sameType(n.typ, typ) {
			return n.name
		}
	}
	for _, r := range t.references {
		if r.Set != nil && r.Set.defines(typ) {
			return r.Alias + "::" + r.Set.nameOf(typ, name)
		}
	}
	return name
}

func (t *TypeSetType) same(o *TypeSetType) bool {
	if t == o {
		return true
	}
	if (t.version == nil) != (o.version == nil) {
		return false
	}
	return t.authority == o.authority && t.name == o.name && (t.version == nil || t.version.Compare(o.version) == 0)
}
