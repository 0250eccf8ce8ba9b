// Package catalog holds catalogs: the desired state of one machine, as plain data.
//
// A catalog is a list of resources in the order of their declaration, the edges by which classes
// and defined types contain them, and the metadata of files. The format is Puppet's catalog format
// 2. Parse reads its JSON, with rich data or without it, and Catalog.MarshalJSON writes it. Digest
// identifies the state that a catalog describes.
//
// Parameters are data of package ordered. A value that JSON does not have is the object of Puppet's
// rich data: {"__ptype": NAME, "__pvalue": TEXT}. References to other resources are strings, such
// as "File[/etc/motd]".
//
// # Secrets
//
// Values of sensitive parameters are clear text in a Catalog and in its JSON, as in Puppet.
// Resource.Secret reports whether a parameter is sensitive. A program that shows a catalog must not
// show sensitive values, and a program that stores a catalog must encrypt them.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"bolt/format/ordered"
)

// A Ref names a resource. Type is capitalized, segment by segment: Web::Vhost.
type Ref struct{ Type, Title string }

// String returns the reference in the form of catalogs: File[/etc/motd].
func (r Ref) String() string { return r.Type + "[" + r.Title + "]" }

// Capitals returns the name of a type or class in the form of references: App::Params.
func Capitals(name string) string {
	var b []byte // nil while nothing is changed
	for i := range len(name) {
		if c := name[i]; 'a' <= c && c <= 'z' && (i == 0 || strings.HasSuffix(name[:i], "::")) {
			if b == nil {
				b = []byte(name)
			}
			b[i] = c - 'a' + 'A'
		}
	}
	if b == nil {
		return name
	}
	return string(b)
}

// ParseRef reads the form that Ref.String writes. A title can contain brackets.
func ParseRef(text string) (Ref, error) {
	typ, rest, found := strings.Cut(text, "[")
	title, closed := strings.CutSuffix(rest, "]")
	if !found || !closed || typ == "" || title == "" {
		return Ref{}, fmt.Errorf("%q is not a reference of the form Type[title]", text)
	}
	return Ref{typ, title}, nil
}

// A Kind is the kind of the type of a resource.
type Kind string

// The kinds of Puppet's catalogs. A catalog of an older Puppet has none.
const (
	KindType    Kind = "compilable_type" // a resource type, such as File
	KindClass   Kind = "class"
	KindDefine  Kind = "defined_type"
	KindUnknown Kind = "unknown" // Class[main], Class[Settings], the node
)

// A Resource is one resource, class or instance of a defined type.
type Resource struct {
	Ref
	Kind Kind
	Tags []string
	// File and Line are the position of the declaration; "" and 0 if it has none.
	File string
	Line int
	// Exported is set for a resource that was exported, also if it was collected, too.
	Exported bool
	// Virtual is set for a resource that is not applied. JSON does not have it. A catalog in
	// PuppetDB's form does not distinguish applied exported resources from the others.
	Virtual bool
	// Params are the parameters that have values; nil for none.
	Params *ordered.Map
	// Sensitive names the parameters whose values were Sensitive.
	Sensitive []string

	contains bool // another resource, in a catalog that was read
}

// Secret reports whether a parameter must not be shown: it was Sensitive, or has a
// Sensitive in it.
func (r *Resource) Secret(param string) bool {
	return slices.Contains(r.Sensitive, param) || hasSensitive(r.Params.Value(param))
}

func hasSensitive(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasSensitive)
	case *ordered.Map:
		if t, _ := v.Value(richType).(string); t == richSensitive || strings.HasPrefix(t, richSensitive+"[") {
			return true
		}
		for _, x := range v.All() {
			if hasSensitive(x) {
				return true
			}
		}
	}
	return false
}

// Rich data (Puppet specification, "Pcore data representation").
const (
	richType      = "__ptype"
	richSensitive = "Sensitive"
)

// Container reports whether the resource only groups others: a class, an instance of
// a defined type, a stage or the node.
func (r *Resource) Container() bool {
	switch r.Kind {
	case KindClass, KindDefine:
		return true
	case "": // a catalog of an older Puppet
		if r.contains || strings.Contains(r.Type, "::") {
			return true
		}
	}
	switch r.Type {
	case "Class", "Stage", "Node":
		return true
	}
	return false
}

// An Edge records that one resource contains another.
type Edge struct{ Source, Target Ref }

// A Catalog is the desired state of one machine. It is not safe for concurrent changes.
type Catalog struct {
	Name        string // of the node
	Environment string
	Version     string // of the code; the time of the compilation if the code has none
	UUID        string // of the compilation
	CodeID      string // of the code's commit; "" if it is unknown
	Tags        []string
	Classes     []string // names in lower case, in the order of evaluation
	// Graph is set if the program was a graph in YAML: relations are the only order of the resources that it declares itself (Free).
	Graph bool
	Edges []Edge
	// Files are the metadata of resources with one source, by FileKey of the resource. Trees are the metadata
	// of resources with recurse, by title.
	Files map[string]*FileMeta
	Trees map[string][]Tree

	resources []*Resource
	byRef     map[Ref]*Resource
}

// FileKey returns the key in Catalog.Files for a resource: the title of a File, and the reference of another
// resource with a source (a Concat_fragment).
func FileKey(r Ref) string {
	if r.Type == "File" {
		return r.Title
	}
	return r.String()
}

// A Tree is the metadata of the files below one source.
type Tree struct {
	Source string // the URL that the resource has
	Files  []*FileMeta
}

// A FileMeta describes the content of a file at the time of the compilation.
type FileMeta struct {
	Path        string // of the source, on the compiler's machine; Relative is below it
	Relative    string // below the source of a Tree, "." for the source itself
	Type        string // "file", "directory" or "link"
	Links       string // "manage" or "follow"
	Destination string // of a link
	Owner       any    // int64 or string; nil if it is unknown
	Group       any
	Mode        int64  // permission bits
	SumType     string // "sha256", "ctime" ...
	Sum         string // "{sha256}" and hexadecimal digits
	ContentURI  string // names the content for static_file_content
	Source      string // the URL of the source, for a file that is not in a Tree
}

// Grow makes room for n more resources.
func (c *Catalog) Grow(n int) {
	c.resources = slices.Grow(c.resources, n)
	c.Edges = slices.Grow(c.Edges, n) // most resources are in one container
	if c.byRef == nil {
		c.byRef = make(map[Ref]*Resource, n)
	}
}

// Add appends a resource. A second resource with the same reference is an error, which names both positions.
func (c *Catalog) Add(r *Resource) error {
	if old := c.byRef[r.Ref]; old != nil {
		if old.File != "" && r.File != "" {
			return fmt.Errorf("%s is declared twice, at %s:%d and at %s:%d", r.Ref, old.File, old.Line, r.File, r.Line)
		}
		return fmt.Errorf("%s is declared twice", r.Ref)
	}
	if c.byRef == nil {
		c.byRef = make(map[Ref]*Resource)
	}
	c.byRef[r.Ref] = r
	c.resources = append(c.resources, r)
	return nil
}

// Resources returns all resources in the order of their declaration. Callers must
// not change the list.
func (c *Catalog) Resources() []*Resource { return c.resources }

// Map returns a copy of the catalog in which f replaces each resource. The new resource must have the same reference. The
// error is the first one of f.
func (c *Catalog) Map(f func(*Resource) (*Resource, error)) (*Catalog, error) {
	out := *c
	out.resources, out.byRef = make([]*Resource, len(c.resources)), make(map[Ref]*Resource, len(c.byRef))
	for i, r := range c.resources {
		made, err := f(r)
		if err != nil {
			return nil, err
		}
		out.resources[i], out.byRef[made.Ref] = made, made
	}
	return &out, nil
}

// Find returns a resource by its title, nil if there is none.
func (c *Catalog) Find(r Ref) *Resource { return c.byRef[r] }

// Free returns a function that reports whether relations are the only order of a resource. This is so if the graph itself declares the
// resource, and not a class or defined type that the graph declares.
func (c *Catalog) Free() func(r *Resource) bool {
	if !c.Graph {
		return func(*Resource) bool { return false }
	}
	in := c.Containers()
	top := Ref{Type: "Class", Title: "main"}
	return func(r *Resource) bool { return in[r.Ref] == top && !r.Container() }
}

// Containers returns, for each resource that another one contains, the container that
// the first edge names.
func (c *Catalog) Containers() map[Ref]Ref {
	in := make(map[Ref]Ref, len(c.resources))
	for _, e := range c.Edges {
		if _, known := in[e.Target]; !known {
			in[e.Target] = e.Source
		}
	}
	return in
}
