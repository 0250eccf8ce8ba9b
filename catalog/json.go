package catalog

import (
	"fmt"
	"strconv"

	"bolt/format/ordered"
)

// catalogFormat is the version of Puppet's format in MarshalJSON.
const catalogFormat = 2

// Parse reads a catalog in Puppet's JSON: the answer of a compilation, with or without
// {"catalog": ...} around it, or the form for PuppetDB (package wire). It ignores unknown keys.
// An error names the invalid part.
func Parse(data []byte) (*Catalog, error) {
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, err
	}
	in := reader{}
	m := in.object(v, "the catalog")
	if inner, ok := m.Get("catalog"); ok && m.Value("resources") == nil {
		m = in.object(inner, "catalog")
	}
	c := in.catalog(m)
	if in.err != nil {
		return nil, in.err
	}
	return c, nil
}

// A reader reads the parts of decoded JSON. It keeps the first error.
type reader struct{ err error }

func (in *reader) fail(where, format string, a ...any) {
	if in.err == nil {
		in.err = fmt.Errorf("%s: %s", where, fmt.Sprintf(format, a...))
	}
}

func (in *reader) object(v any, where string) *ordered.Map {
	m, ok := v.(*ordered.Map)
	if !ok {
		in.fail(where, "expected an object")
	}
	return m
}

// list returns the elements of a key's list; nil if there is no such key.
func (in *reader) list(m *ordered.Map, key, where string) []any {
	v := m.Value(key)
	list, ok := v.([]any)
	if v != nil && !ok {
		in.fail(where+key, "expected a list")
	}
	return list
}

// text returns the string of a key; "" if there is none, or null.
func (in *reader) text(m *ordered.Map, key, where string) string {
	v := m.Value(key)
	s, ok := v.(string)
	if v != nil && !ok {
		in.fail(where+key, "expected a string")
	}
	return s
}

func (in *reader) number(m *ordered.Map, key, where string) int64 {
	v := m.Value(key)
	n, ok := v.(int64)
	if v != nil && !ok {
		in.fail(where+key, "expected a whole number")
	}
	return n
}

func (in *reader) texts(m *ordered.Map, key, where string) []string {
	list := in.list(m, key, where)
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			in.fail(where+key, "expected a list of strings")
		}
		texts[i] = s
	}
	return texts
}

func (in *reader) catalog(m *ordered.Map) *Catalog {
	c := &Catalog{
		Name:        in.text(m, "name", ""),
		Environment: in.text(m, "environment", ""),
		UUID:        in.text(m, "catalog_uuid", ""),
		CodeID:      in.text(m, "code_id", ""),
		Tags:        in.texts(m, "tags", ""),
		Classes:     in.texts(m, "classes", ""),
		Graph:       m.Value("graph") == true,
	}
	if _, stored := m.Get("certname"); stored {
		c.Name = in.text(m, "certname", "")
	}
	switch v := m.Value("version").(type) {
	case string:
		c.Version = v
	case int64:
		c.Version = strconv.FormatInt(v, 10)
	case nil:
	default:
		in.fail("version", "expected a number or a string")
	}
	if format := in.number(m, "catalog_format", ""); format > catalogFormat {
		in.fail("catalog_format", "this version reads formats up to %d, and not %d", catalogFormat, format)
	}
	list := in.list(m, "resources", "")
	if _, has := m.Get("resources"); !has {
		in.fail("the catalog", "it has no resources")
	}
	for i, v := range list {
		where := fmt.Sprintf("resources[%d]", i)
		r := in.resource(in.object(v, where), where+".")
		if in.err != nil {
			return nil
		}
		if err := c.Add(r); err != nil {
			in.fail(where, "%v", err)
		}
	}
	for i, v := range in.list(m, "edges", "") {
		where := fmt.Sprintf("edges[%d]", i)
		e := in.object(v, where)
		if kind := in.text(e, "relationship", where+"."); kind != "" && kind != "contains" {
			continue // the relationship of a parameter, which the parameter has, too
		}
		edge := Edge{in.end(c, e, "source", where+"."), in.end(c, e, "target", where+".")}
		if in.err != nil {
			return nil
		}
		c.Find(edge.Source).contains = true
		c.Edges = append(c.Edges, edge)
	}
	in.metadata(c, m)
	return c
}

// resource reads one resource. where ends in a dot.
func (in *reader) resource(m *ordered.Map, where string) *Resource {
	r := &Resource{
		Ref:       Ref{in.text(m, "type", where), in.text(m, "title", where)},
		Kind:      Kind(in.text(m, "kind", where)),
		Tags:      in.texts(m, "tags", where),
		File:      in.text(m, "file", where),
		Line:      int(in.number(m, "line", where)),
		Sensitive: in.texts(m, "sensitive_parameters", where),
	}
	if r.Type == "" || r.Title == "" {
		in.fail(where[:len(where)-1], "a resource needs a type and a title")
	}
	switch v := m.Value("exported").(type) {
	case bool:
		r.Exported = v
	case nil:
	default:
		in.fail(where+"exported", "expected true or false")
	}
	if v := m.Value("parameters"); v != nil {
		if params := in.object(v, where+"parameters"); params.Len() > 0 {
			r.Params = params
		}
	}
	return r
}

// end reads one end of an edge, which must be a resource: a string, or an object in PuppetDB's
// form.
func (in *reader) end(c *Catalog, m *ordered.Map, key, where string) Ref {
	var r Ref
	var err error
	if parts, is := m.Value(key).(*ordered.Map); is {
		r = Ref{in.text(parts, "type", where+key+"."), in.text(parts, "title", where+key+".")}
	} else {
		r, err = ParseRef(in.text(m, key, where))
	}
	switch {
	case err != nil:
		in.fail(where+key, "%v", err)
	case c.Find(r) == nil:
		in.fail(where+key, "%s is not among the resources", r)
	}
	return r
}

func (in *reader) metadata(c *Catalog, m *ordered.Map) {
	if v := m.Value("metadata"); v != nil {
		files := in.object(v, "metadata")
		for title, v := range files.All() {
			where := "metadata." + title
			if c.Files == nil {
				c.Files = make(map[string]*FileMeta)
			}
			c.Files[title] = in.file(in.object(v, where), where+".")
		}
	}
	v := m.Value("recursive_metadata")
	if v == nil {
		return
	}
	for title, v := range in.object(v, "recursive_metadata").All() {
		where := "recursive_metadata." + title
		if c.Trees == nil {
			c.Trees = make(map[string][]Tree)
		}
		sources := in.object(v, where)
		trees := make([]Tree, 0, sources.Len())
		for source := range sources.All() {
			t := Tree{Source: source}
			for i, v := range in.list(sources, source, where+".") {
				where := fmt.Sprintf("%s.%s[%d]", where, source, i)
				t.Files = append(t.Files, in.file(in.object(v, where), where+"."))
			}
			trees = append(trees, t)
		}
		c.Trees[title] = trees
	}
}

func (in *reader) file(m *ordered.Map, where string) *FileMeta {
	f := &FileMeta{
		Path:        in.text(m, "path", where),
		Relative:    in.text(m, "relative_path", where),
		Type:        in.text(m, "type", where),
		Links:       in.text(m, "links", where),
		Destination: in.text(m, "destination", where),
		Owner:       in.owner(m, "owner", where),
		Group:       in.owner(m, "group", where),
		Mode:        in.number(m, "mode", where),
		ContentURI:  in.text(m, "content_uri", where),
		Source:      in.text(m, "source", where),
	}
	if v := m.Value("checksum"); v != nil {
		sum := in.object(v, where+"checksum")
		f.SumType, f.Sum = in.text(sum, "type", where+"checksum."), in.text(sum, "value", where+"checksum.")
	}
	return f
}

// owner reads a name or an ID.
func (in *reader) owner(m *ordered.Map, key, where string) any {
	switch v := m.Value(key).(type) {
	case nil, string, int64:
		return v
	}
	in.fail(where+key, "expected a name or a number")
	return nil
}

// MarshalJSON writes the catalog as Puppet does, in rich data. Virtual resources, and
// edges to them, are left out.
func (c *Catalog) MarshalJSON() ([]byte, error) {
	// A large catalog is written part by part: as data, it would need several times its memory.
	const perResource, perEdge = 300, 90 // bytes, of most catalogs
	w := writer{b: make([]byte, 0, 1024+perResource*len(c.resources)+perEdge*len(c.Edges))}
	w.texts(`{"tags":`, c.Tags)
	w.text(`,"name":`, c.Name)
	if n, err := strconv.ParseInt(c.Version, 10, 64); err == nil && strconv.FormatInt(n, 10) == c.Version {
		w.add(`,"version":`, n)
	} else {
		w.add(`,"version":`, c.Version)
	}
	w.add(`,"code_id":`, ordered.Optional(c.CodeID))
	w.add(`,"catalog_uuid":`, ordered.Optional(c.UUID))
	w.add(`,"catalog_format":`, int64(catalogFormat))
	w.text(`,"environment":`, c.Environment)
	if c.Graph {
		w.put(`,"graph":true`)
	}
	w.put(`,"resources":[`)
	first := true
	for _, r := range c.resources {
		if !r.Virtual {
			w.comma(&first)
			w.resource(r)
		}
	}
	w.put(`],"edges":[`)
	first = true
	for _, e := range c.Edges {
		if c.applied(e.Source) && c.applied(e.Target) {
			w.comma(&first)
			w.text(`{"source":`, e.Source.String())
			w.text(`,"target":`, e.Target.String())
			w.put(`}`)
		}
	}
	w.texts(`],"classes":`, c.Classes)
	w.sources(c)
	w.put(`}`)
	return w.b, w.err
}

// A writer writes a catalog. It keeps the first error.
type writer struct {
	b   []byte
	err error
}

func (w *writer) put(text string) { w.b = append(w.b, text...) }

func (w *writer) comma(first *bool) {
	if !*first {
		w.put(",")
	}
	*first = false
}

// text writes a key and a string.
func (w *writer) text(key, s string) { w.b = ordered.AppendString(append(w.b, key...), s) }

// add writes a key and data.
func (w *writer) add(key string, v any) {
	b, err := ordered.AppendJSON(append(w.b, key...), v)
	w.b = b
	if w.err == nil {
		w.err = err
	}
}

// texts writes a key and a list of strings.
func (w *writer) texts(key string, list []string) {
	w.put(key)
	w.put("[")
	first := true
	for _, s := range list {
		w.comma(&first)
		w.text("", s)
	}
	w.put("]")
}

func (w *writer) resource(r *Resource) {
	w.text(`{"type":`, r.Type)
	w.text(`,"title":`, r.Title)
	w.texts(`,"tags":`, r.Tags)
	if r.File != "" {
		w.text(`,"file":`, r.File)
	}
	if r.Line != 0 {
		w.b = strconv.AppendInt(append(w.b, `,"line":`...), int64(r.Line), 10)
	}
	w.b = strconv.AppendBool(append(w.b, `,"exported":`...), r.Exported)
	if r.Kind != "" {
		w.text(`,"kind":`, string(r.Kind))
	}
	if r.Params.Len() > 0 {
		w.add(`,"parameters":`, r.Params)
	}
	if len(r.Sensitive) > 0 {
		w.texts(`,"sensitive_parameters":`, r.Sensitive)
	}
	w.put("}")
}

// sources writes the metadata of files.
func (w *writer) sources(c *Catalog) {
	if len(c.Files) > 0 {
		w.put(`,"metadata":{`)
		first := true
		for _, title := range sortedKeys(c.Files) {
			w.comma(&first)
			w.text("", title)
			w.add(":", c.Files[title].data(false))
		}
		w.put("}")
	}
	if len(c.Trees) > 0 {
		all := &ordered.Map{}
		for _, title := range sortedKeys(c.Trees) {
			sources := &ordered.Map{}
			for _, t := range c.Trees[title] {
				files := make([]any, 0, len(t.Files))
				for _, f := range t.Files {
					files = append(files, f.data(true))
				}
				sources.Set(t.Source, files)
			}
			all.Set(title, sources)
		}
		w.add(`,"recursive_metadata":`, all)
	}
}

// applied reports whether a resource exists and is not virtual.
func (c *Catalog) applied(r Ref) bool {
	found := c.byRef[r]
	return found != nil && !found.Virtual
}

func (f *FileMeta) data(below bool) *ordered.Map {
	m := ordered.Of("path", f.Path, "relative_path", ordered.Optional(f.Relative), "links", f.Links, "owner", f.Owner, "group", f.Group, "mode", f.Mode,
		"checksum", ordered.Of("type", f.SumType, "value", f.Sum), "type", f.Type, "destination", ordered.Optional(f.Destination))
	m.Set("content_uri", f.ContentURI)
	if !below {
		m.Set("source", f.Source)
	}
	return m
}
