// Package yamlgraph reads graphs of resources in YAML, in the shape that purpleidea/mgmt
// gave them, with the resource types of Puppet:
//
//	graph: web
//	resources:
//	  package:
//	  - name: nginx
//	  file:
//	  - name: /etc/nginx/nginx.conf
//	    content: "user www;\n"
//	edges:
//	- name: before
//	  from: {kind: package, name: nginx}
//	  to: {kind: file, name: /etc/nginx/nginx.conf}
//	  notify: true
//
// A graph becomes a program of the Puppet language: a resource is a declaration, an edge
// is a relation (-> or ~>), and an entry of collect is a collector of exported resources.
// Package catalog/compile makes the catalog, so a graph obeys all rules of manifests.
// The nodes of the program stand where their text stands in the YAML document.
//
// It differs from mgmt: kinds and parameters are Puppet's, and an unknown key is an
// error. Aliases and remote are not supported. The key meta of a resource has the
// metaparameters of mgmt (types.Meta).
package yamlgraph

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/yaml"
	"bolt/internal/spelling"
	"bolt/puppet/syntax"
)

// Is reports whether a file is a graph by its name.
func Is(file string) bool {
	ext := filepath.Ext(file)
	return ext == ".yaml" || ext == ".yml"
}

// Parse reads the text of a graph and returns the program that declares its resources.
// file is the name in messages and positions. The error is syntax.Errors, with all
// problems up to a limit.
func Parse(file, text string) (*syntax.Program, error) {
	r := &reader{file: syntax.NewFile(file, text)}
	if len(text) > math.MaxUint32 {
		r.wrong(nil, "the graph is too large")
		return nil, r.problems
	}
	doc, err := yaml.DecodeNodes([]byte(text), file)
	if err != nil {
		r.notYAML(err)
		return nil, r.problems
	}
	body := &syntax.Block{Exprs: r.graph(doc)}
	if r.problems != nil {
		slices.SortStableFunc(r.problems, func(a, b *syntax.Error) int { return cmp.Compare(a.Span.Off, b.Span.Off) })
		return nil, r.problems
	}
	return &syntax.Program{File: r.file, Body: body}, nil
}

// A reader makes expressions from nodes, and collects the problems.
type reader struct {
	file     *syntax.File
	problems syntax.Errors
}

// maxProblems is the maximum number of reported problems.
const maxProblems = 20

// wrong records a problem of a node; nil is the beginning of the document.
func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		e := &syntax.Error{File: r.file, Kind: "bad-graph", Msg: fmt.Sprintf(format, args...)}
		if n != nil {
			e.Span = span(n)
		}
		r.problems = append(r.problems, e)
	}
}

// notYAML records an error of the YAML reader.
func (r *reader) notYAML(err error) {
	e := &syntax.Error{File: r.file, Kind: "bad-yaml", Msg: err.Error()}
	if bad, is := errors.AsType[*yaml.Error](err); is {
		e.Msg, e.Span.Off = "the graph is not valid YAML: "+bad.Problem, r.offset(bad.Line, bad.Column)
		if bad.Alias {
			e.Msg = "a graph cannot have aliases: " + bad.Problem
		}
	}
	r.problems = append(r.problems, e)
}

// offset returns the offset of a line and column; both can be 0 for unknown.
func (r *reader) offset(line, column int) uint32 {
	off := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(r.file.Src[off:], '\n')
		if i < 0 {
			break
		}
		off += i + 1
	}
	return uint32(min(off+max(column-1, 0), len(r.file.Src)))
}

func span(n *yaml.Node) syntax.Span { return syntax.Span{Off: uint32(n.Offset)} }

var (
	graphKeys   = []string{"graph", "comment", "resources", "edges", "collect"}
	edgeKeys    = []string{"name", "from", "to", "notify"}
	endKeys     = []string{"kind", "name"}
	collectKeys = []string{"kind", "pattern"}
)

// graph reads the document.
func (r *reader) graph(doc *yaml.Node) []syntax.Expr {
	f, ok := r.fields(doc, "a graph", graphKeys)
	if !ok {
		return nil
	}
	r.text(f["graph"], doc, "graph", "a graph")
	if n := f["comment"]; present(n) {
		r.text(n, n, "comment", "a graph")
	}
	var list []syntax.Expr
	if n := f["resources"]; present(n) {
		list = append(list, r.resources(n)...)
	}
	for _, n := range r.items(f["collect"], "collect") {
		if x := r.collector(n); x != nil {
			list = append(list, x)
		}
	}
	for _, n := range r.items(f["edges"], "edges") {
		if x := r.edge(n); x != nil {
			list = append(list, x)
		}
	}
	return list
}

// fields returns the values of a mapping by their keys. ok is false for another node.
func (r *reader) fields(n *yaml.Node, what string, known []string) (values map[string]*yaml.Node, ok bool) {
	if n == nil || n.Style != yaml.Mapping {
		r.wrong(n, "%s must be a mapping with the keys %s", what, list(known))
		return nil, false
	}
	values = make(map[string]*yaml.Node, len(n.Pairs))
	for _, p := range n.Pairs {
		switch key := p.Key.Text; {
		case values[key] != nil:
			r.wrong(p.Key, "%s has the key %s twice", what, key)
		case !slices.Contains(known, key):
			r.wrong(p.Key, "%s has the unknown key %q%s", what, key, advice(key, known))
		default:
			values[key] = p.Value
		}
	}
	return values, true
}

// foreign are names of mgmt, with the names that replace them here.
var foreign = map[string]string{
	"remote":    "targets are chosen with --targets (-t)",
	"collector": "use collect",
	"meta":      "it is a key of resources",
	"svc":       "use service",
	"pkg":       "use package",
	"state":     "use ensure",
	"startup":   "use enable",
	"cmd":       "use command",
	"ifcmd":     "use onlyif",
	"print":     "use notify",
	"msg":       "use notify",
	"mapped":    "each node has a store of its own",
	// mgmt's kind downloads, too.
	"http:client": "use http:check for a request, and archive for a download",
}

// advice returns the end of a message about an unknown name.
func advice(name string, known []string) string {
	if hint := foreign[name]; hint != "" {
		return ": " + hint
	}
	if near := spelling.Near(name, known); near != "" {
		return fmt.Sprintf(". Did you mean %s?", near)
	}
	return ": the known names are " + list(known)
}

func list(names []string) string { return strings.Join(names, ", ") }

// present reports whether n has a value.
func present(n *yaml.Node) bool {
	return n != nil && (n.Style == yaml.List || n.Style == yaml.Mapping || n.Value != nil)
}

// items returns the items of an optional list.
func (r *reader) items(n *yaml.Node, key string) []*yaml.Node {
	if !present(n) {
		return nil
	}
	if n.Style != yaml.List {
		r.wrong(n, "%s must be a list", key)
		return nil
	}
	return n.Items
}

// text returns a required string that must not be empty. If it is missing, the problem is
// at around.
func (r *reader) text(n, around *yaml.Node, key, what string) (text string, ok bool) {
	if !present(n) {
		r.wrong(around, "%s needs the key %s", what, key)
		return "", false
	}
	if text, ok = n.Value.(string); !ok || text == "" {
		r.wrong(n, "%s of %s must be a string that is not empty", key, what)
		return "", false
	}
	return text, true
}
