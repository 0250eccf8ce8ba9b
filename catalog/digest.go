package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"bolt/format/ordered"
)

// digestFormat changes when Canonical writes an equal catalog in another way.
const digestFormat = 1

// Digest returns the SHA-256 of the canonical form, in hexadecimal digits. Two catalogs
// have the same digest if and only if applying them has the same effect.
//
// The digest depends on the values of secrets. A person who knows the digest and the rest
// of the catalog can guess a short secret by trials.
func (c *Catalog) Digest() string {
	sum := sha256.Sum256(c.Canonical())
	return hex.EncodeToString(sum[:])
}

// Canonical returns a canonical form, in which equal states are equal bytes: JSON without
// blanks, with sorted keys.
//
// It has the resources in their order, because that is the order of application unless
// relations change it. Of containers, it only has the relations. It has the edges,
// sorted, and the content, owner and mode of files. It has the names of sensitive
// parameters, so that a catalog that would show a secret differs from a catalog that
// would not.
//
// It has Catalog.Graph, because relations are the only order of a graph.
//
// It does not have the node, the environment, versions, tags, aliases, files and lines of
// declarations, parameters of classes and defined types, virtual resources, and the
// origin of a file's content.
func (c *Catalog) Canonical() []byte {
	const perResource, perEdge = 200, 60 // bytes, of most catalogs
	b := make([]byte, 0, perResource*len(c.resources)+perEdge*len(c.Edges))
	b = strconv.AppendInt(append(b, `{"format":`...), digestFormat, 10)
	b = append(b, `,"resources":[`...)
	first := true
	for _, r := range c.resources {
		if r.Virtual {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = c.appendResource(b, r)
	}
	b = append(b, `],"edges":[`...)
	for i, e := range c.sortedEdges() {
		if i > 0 {
			b = append(b, ',')
		}
		b = ordered.AppendString(append(b, '['), e.Source.String())
		b = append(ordered.AppendString(append(b, ','), e.Target.String()), ']')
	}
	b = append(b, ']')
	if c.Graph {
		b = append(b, `,"graph":true`...)
	}
	return append(b, '}')
}

func (c *Catalog) sortedEdges() []Edge {
	edges := slices.DeleteFunc(slices.Clone(c.Edges), func(e Edge) bool { return !c.applied(e.Source) || !c.applied(e.Target) })
	byRef := func(a, b Ref) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Title, b.Title)) }
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(byRef(a.Source, b.Source), byRef(a.Target, b.Target)) })
	return slices.Compact(edges)
}

// containerParams are the parameters of a container that have an effect themselves. The
// compiler has copied other parameters with an effect to the resources in it.
var containerParams = []string{"before", "notify", "require", "stage", "subscribe"}

func (c *Catalog) appendResource(b []byte, r *Resource) []byte {
	state := c.State(r)
	b = appendMap(append(b, `{"parameters":`...), state)
	var secret []string
	for _, name := range state.Keys() {
		if slices.Contains(r.Sensitive, name) {
			secret = append(secret, name)
		}
	}
	if secret != nil {
		slices.Sort(secret)
		b = appendValue(append(b, `,"sensitive":`...), ordered.Strings(secret))
	}
	b = ordered.AppendString(append(b, `,"title":`...), r.Title)
	b = ordered.AppendString(append(b, `,"type":`...), r.Type)
	return append(b, '}')
}

// SourceFiles is the key of State for the files of a source. No parameter has this name.
const SourceFiles = "(files)"

// State returns the parameters of a resource that affect the apply, as in Canonical. If
// the content of sources is known, the key SourceFiles replaces the parameter source.
func (c *Catalog) State(r *Resource) *ordered.Map {
	files := c.sourceFiles(r)
	state := &ordered.Map{}
	for name, v := range r.Params.All() {
		switch {
		case name == "tag", name == "alias":
		case r.Container() && !slices.Contains(containerParams, name):
		case name == "source" && files != nil:
		default:
			state.Set(name, v)
		}
	}
	if files != nil {
		state.Set(SourceFiles, files)
	}
	return state
}

// sourceFiles returns the metadata of the files of a resource, nil if there is none.
func (c *Catalog) sourceFiles(r *Resource) (files []any) {
	if f := c.Files[FileKey(r.Ref)]; f != nil {
		files = append(files, f.canonical())
	}
	if r.Type != "File" {
		return files
	}
	for _, t := range c.Trees[r.Title] {
		tree := make([]any, 0, len(t.Files))
		for _, f := range t.Files {
			tree = append(tree, f.canonical())
		}
		files = append(files, tree)
	}
	return files
}

// EqualValues reports whether two values of parameters are equal. The order of the keys
// of hashes does not matter.
func EqualValues(a, b any) bool { return bytes.Equal(appendValue(nil, a), appendValue(nil, b)) }

func (f *FileMeta) canonical() *ordered.Map {
	m := ordered.Of("path", f.Relative, "type", f.Type, "links", f.Links, "destination", f.Destination, "owner", f.Owner, "group", f.Group, "mode", f.Mode)
	if f.Type == "file" {
		m.Set("sum", f.Sum) // for a directory, it is a time
	}
	return m
}

// appendValue writes data with sorted keys.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return ordered.AppendFloat(b, v)
	case string:
		return ordered.AppendString(b, v)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, x)
		}
		return append(b, ']')
	case *ordered.Map:
		return appendMap(b, v)
	}
	panic("catalog: parameters hold a value that is not data of package ordered")
}

func appendMap(b []byte, m *ordered.Map) []byte {
	b = append(b, '{')
	keys := m.Keys()
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ordered.AppendString(b, key), ':')
		b = appendValue(b, m.Value(key))
	}
	return append(b, '}')
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
