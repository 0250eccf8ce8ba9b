package hiera

import (
	"fmt"
	"strconv"
	"strings"

	"bolt/puppet/value"
)

// A NodeType is the type of a Node of an Explanation.
type NodeType string

// The types of nodes.
const (
	NodeRoot        NodeType = "root"
	NodeData        NodeType = "data"          // the search for a key
	NodeMeta        NodeType = "meta"          // the search for lookup_options
	NodeInvalidKey  NodeType = "invalid_key"   // a key that cannot be looked up
	NodeMergeSource NodeType = "merge_source"  // source of merge options
	NodeModule      NodeType = "module"        // a module without data
	NodeInterpolate NodeType = "interpolate"   // an interpolation
	NodeMerge       NodeType = "merge"         // a merge
	NodeProvider    NodeType = "data_provider" // a layer or a level of a hierarchy
	NodePath        NodeType = "path"          // a file
	NodeURI         NodeType = "uri"           // a location that is not a file
	NodeSubKey      NodeType = "sub_key"       // segments of a dotted key
	NodeSegment     NodeType = "segment"       // a segment
	NodeScope       NodeType = "scope"         // variables, and other sources
)

// An Event is the result of a Node.
type Event string

// The events.
const (
	EventNone           Event = ""
	EventFound          Event = "found"
	EventOverrides      Event = "found_in_overrides"
	EventDefaults       Event = "found_in_defaults"
	EventResult         Event = "result"
	EventNotFound       Event = "not_found"
	EventNoLocation     Event = "location_not_found"
	EventNoModule       Event = "module_not_found"
	EventNoModuleConfig Event = "module_provider_not_found"
)

// A Node is a step of a lookup, with its substeps.
type Node struct {
	Type     NodeType
	Name     string      // key, name of a provider, path, expression, strategy
	Original string      // of a path or URI: before interpolation
	Config   string      // of a layer: its hiera.yaml
	Module   string      // of a module's layer
	Options  *value.Hash // of a merge, or nil
	Branches []*Node
	Texts    []string // explanations of data functions
	Event    Event
	Key      string
	Value    value.Value // of an event that has a value
}

// An Explanation records the steps of a lookup. Beyond a limit, steps are left
// out and a note is added. It belongs to one goroutine. A nil Explanation does
// not record anything.
type Explanation struct {
	// OnlyOptions looks up only lookup_options, as the option explain-options
	// requires.
	OnlyOptions bool

	root  Node
	stack []*Node
	used  int // part of maxExplained
	left  int // number of open nodes that were left out
}

// maxExplained limits an explanation, in values and in parts of about thirty
// bytes of text. Interpolations and merges can multiply a small amount of data.
const maxExplained = 1 << 20

// fits counts the size of a step and reports whether the step fits.
func (ex *Explanation) fits(size int) bool {
	if ex.used > maxExplained {
		return false
	}
	if ex.used += size; ex.used <= maxExplained {
		return true
	}
	ex.root.Texts = append(ex.root.Texts, "The explanation is too long: the steps after this are left out")
	return false
}

// extent returns the size of a value in an explanation.
func extent(v value.Value) int {
	const piece = 32
	switch v := v.(type) {
	case value.String:
		return 1 + len(v)/piece
	case *value.Array:
		if _, nodes := value.Measure(v); nodes > maxExplained {
			return nodes
		}
		n := 1
		for _, e := range v.All() {
			n += extent(e)
		}
		return n
	case *value.Hash:
		if _, nodes := value.Measure(v); nodes > maxExplained {
			return nodes
		}
		n := 1
		for k, e := range v.All() {
			n += extent(k) + extent(e)
		}
		return n
	}
	return 1
}

// Root returns the root of the tree.
func (ex *Explanation) Root() *Node { ex.root.Type = NodeRoot; return &ex.root }

// mark returns the current position in the explanation.
func (ex *Explanation) mark() int {
	if ex == nil {
		return 0
	}
	return len(ex.top().Branches)
}

// hideSince hides the nodes that were added since a mark.
func (ex *Explanation) hideSince(mark int) {
	if ex == nil {
		return
	}
	for _, n := range ex.top().Branches[mark:] {
		n.hide()
	}
}

// hide makes the values of a node and of the nodes below it sensitive. It
// leaves out expressions and texts, because they can contain parts of the
// values. Nodes about lookup_options are not changed.
func (n *Node) hide() {
	if n.Type == NodeMeta {
		return
	}
	if n.Value != nil {
		n.Value = value.NewSensitive(n.Value)
	}
	if n.Type == NodeInterpolate {
		n.Name = value.Redacted
	}
	n.Texts = nil
	for _, b := range n.Branches {
		b.hide()
	}
}

func (ex *Explanation) top() *Node {
	if len(ex.stack) == 0 {
		return &ex.root
	}
	return ex.stack[len(ex.stack)-1]
}

// push opens n. The returned function closes it.
func (ex *Explanation) push(n *Node) func() {
	const indented = 8 // levels of indentation to a piece
	size := 1 + len(ex.stack)/indented + (len(n.Name)+len(n.Original))/32
	if n.Value != nil {
		size += extent(n.Value)
	}
	if ex.left > 0 || !ex.fits(size) {
		ex.left++
		return func() { ex.left-- }
	}
	top := ex.top()
	top.Branches = append(top.Branches, n)
	ex.stack = append(ex.stack, n)
	depth := len(ex.stack)
	return func() { ex.stack = ex.stack[:depth-1] }
}

func (ex *Explanation) event(e Event, key string, v value.Value) {
	if ex == nil || ex.left > 0 || v != nil && !ex.fits(extent(v)) {
		return
	}
	n := ex.top()
	n.Event, n.Value = e, v
	if e != EventResult && e != EventNoLocation {
		n.Key = key
	}
}

func (ex *Explanation) found(key string, v value.Value) { ex.event(EventFound, key, v) }

func (ex *Explanation) foundIn(e Event, key string, v value.Value) { ex.event(e, key, v) }

func (ex *Explanation) notFound(key string) { ex.event(EventNotFound, key, nil) }

func (ex *Explanation) result(v value.Value) { ex.event(EventResult, "", v) }

func (ex *Explanation) noLocation() { ex.event(EventNoLocation, "", nil) }

func (ex *Explanation) leaf(n *Node) {
	if ex != nil {
		ex.push(n)()
	}
}

func (ex *Explanation) text(s string) {
	if ex != nil && ex.left == 0 && ex.fits(extent(value.String(s))) {
		n := ex.top()
		n.Texts = append(n.Texts, s)
	}
}

// String returns the explanation as text, in the format of "puppet lookup
// --explain".
func (ex *Explanation) String() string {
	p := &printer{}
	for _, n := range ex.root.Branches {
		p.node(n, "")
	}
	p.texts(&ex.root, "")
	return p.b.String()
}

type printer struct{ b strings.Builder }

func (p *printer) line(indent, format string, args ...any) {
	p.b.WriteString(indent)
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) texts(n *Node, indent string) {
	for _, t := range n.Texts {
		p.line(indent, "%s", t)
	}
}

func (p *printer) branches(n *Node, indent string) {
	for _, b := range n.Branches {
		p.node(b, indent)
	}
}

func (p *printer) node(n *Node, indent string) {
	inner := indent + "  "
	switch n.Type {
	case NodeData, NodeMeta:
		p.line(indent, "Searching for \"%s\"", n.Name)
		p.branches(n, inner)
	case NodeInvalidKey:
		p.line(indent, "Invalid key \"%s\"", n.Name)
	case NodeMergeSource:
		p.line(indent, "Using merge options from \"%s\" hash", n.Name)
	case NodeModule:
		if n.Event == EventNoModule {
			p.line(indent, "Module \"%s\" not found", n.Name)
		} else {
			p.line(indent, "Module data provider for module \"%s\" not found", n.Name)
		}
	case NodeInterpolate:
		p.line(indent, "Interpolation on \"%s\"", n.Name)
		p.branches(n, inner)
	case NodeMerge:
		p.merge(n, indent)
	case NodeProvider:
		p.line(indent, "%s", n.Name)
		if n.Config != "" {
			p.line(inner, "Using configuration \"%s\"", n.Config)
		}
		p.branches(n, inner)
		p.outcome(n, inner)
	case NodePath, NodeURI:
		name := "Path"
		if n.Type == NodeURI {
			name = "URI"
		}
		p.line(indent, "%s \"%s\"", name, n.Name)
		p.line(inner, "Original %s: \"%s\"", n.Type, n.Original)
		p.branches(n, inner)
		if n.Event == EventNoLocation {
			p.line(inner, "%s not found", name)
		}
		p.outcome(n, inner)
	case NodeSubKey:
		p.line(indent, "Sub key: \"%s\"", n.Name)
		p.branches(n, inner)
		p.outcome(n, inner)
	case NodeSegment:
		p.outcome(n, indent)
	case NodeScope:
		p.line(indent, "%s", n.Name)
		p.branches(n, inner)
		p.outcome(n, inner)
	}
}

func (p *printer) merge(n *Node, indent string) {
	switch len(n.Branches) {
	case 0:
		return
	case 1: // no values were merged
		p.node(n.Branches[0], indent)
		return
	}
	inner := indent + "  "
	p.line(indent, "Merge strategy %s", n.Name)
	if n.Options != nil && n.Options.Len() > 0 {
		p.b.WriteString(inner + "Options: ")
		p.value(inner, n.Options)
		p.b.WriteByte('\n')
	}
	p.branches(n, inner)
	if n.Event == EventResult {
		p.b.WriteString(inner + "Merged result: ")
		p.value(inner, n.Value)
		p.b.WriteByte('\n')
	}
}

func (p *printer) outcome(n *Node, indent string) {
	switch n.Event {
	case EventNotFound:
		p.line(indent, "No such key: \"%s\"", n.Key)
	case EventFound, EventOverrides, EventDefaults:
		p.b.WriteString(indent + "Found key: \"" + n.Key + "\" value: ")
		p.value(indent, n.Value)
		switch n.Event {
		case EventOverrides:
			p.b.WriteString(" in overrides")
		case EventDefaults:
			p.b.WriteString(" in defaults")
		}
		p.b.WriteByte('\n')
	}
	p.texts(n, indent)
}

func (p *printer) value(indent string, v value.Value) {
	inner := indent + "  "
	switch v := v.(type) {
	case *value.Hash:
		p.b.WriteByte('{')
		sep := "\n"
		for k, e := range v.All() {
			p.b.WriteString(sep + inner)
			p.value(inner, k)
			p.b.WriteString(" => ")
			p.value(inner, e)
			sep = ",\n"
		}
		if v.Len() > 0 {
			p.b.WriteString("\n" + indent)
		}
		p.b.WriteByte('}')
	case *value.Array:
		p.b.WriteByte('[')
		sep := "\n"
		for _, e := range v.All() {
			p.b.WriteString(sep + inner)
			p.value(inner, e)
			sep = ",\n"
		}
		if v.Len() > 0 {
			p.b.WriteString("\n" + indent)
		}
		p.b.WriteByte(']')
	default:
		p.b.WriteString(inspect(v))
	}
}

// inspect writes a value as Ruby 3.3 and older versions inspect it.
func inspect(v value.Value) string {
	switch v := v.(type) {
	case value.Undef:
		return "nil"
	case value.Default:
		return ":default"
	case value.String:
		return inspectString(string(v))
	case *value.Array:
		parts := make([]string, v.Len())
		for i, e := range v.All() {
			parts[i] = inspect(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *value.Hash:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, inspect(k)+"=>"+inspect(e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return value.ToString(v)
}

func inspectString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\a':
			b.WriteString(`\a`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\v':
			b.WriteString(`\v`)
		case 0x1b:
			b.WriteString(`\e`)
		case '#':
			if next := s[i+1:]; next != "" && strings.IndexByte("{$@", next[0]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte('#')
		default:
			switch {
			case r < 0x20 || r == 0x7f:
				fmt.Fprintf(&b, `\x%02X`, r)
			case !strconv.IsPrint(r):
				if r > 0xffff {
					fmt.Fprintf(&b, `\u{%X}`, r)
				} else {
					fmt.Fprintf(&b, `\u%04X`, r)
				}
			default:
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Data returns the node and all nodes below it as a hash, for formats other
// than text.
func (n *Node) Data() *value.Hash {
	switch n.Type {
	case NodeMerge, NodeRoot:
		if len(n.Branches) == 1 {
			return n.Branches[0].Data()
		}
	}
	var b value.HashBuilder
	put := func(k string, s string) {
		if s != "" {
			b.Put(value.String(k), value.String(s))
		}
	}
	if len(n.Branches) > 0 {
		list := make([]value.Value, len(n.Branches))
		for i, c := range n.Branches {
			list[i] = c.Data()
		}
		b.Put(value.String("branches"), value.NewArray(list...))
	}
	key := n.Key
	switch n.Type {
	case NodeData, NodeMeta, NodeInvalidKey:
		key = n.Name
	}
	put("key", key)
	switch n.Event {
	case EventFound, EventOverrides, EventDefaults, EventResult:
		b.Put(value.String("value"), n.Value)
	}
	put("event", string(n.Event))
	if len(n.Texts) > 0 {
		list := make([]value.Value, len(n.Texts))
		for i, t := range n.Texts {
			list[i] = value.String(t)
		}
		b.Put(value.String("texts"), value.NewArray(list...))
	}
	switch n.Type {
	case NodeRoot:
	case NodeData, NodeMeta:
		put("type", "root") // as in Puppet
	default:
		put("type", string(n.Type))
	}
	switch n.Type {
	case NodeMergeSource:
		put("merge_source", n.Name)
	case NodeInterpolate:
		put("expression", n.Name)
	case NodeMerge:
		put("merge", n.Name)
		if n.Options != nil && n.Options.Len() > 0 {
			b.Put(value.String("options"), n.Options)
		}
	case NodeProvider:
		put("name", n.Name)
		put("configuration_path", n.Config)
		put("module", n.Module)
	case NodePath:
		put("original_path", n.Original)
		put("path", n.Name)
	case NodeURI:
		put("original_uri", n.Original)
		put("uri", n.Name)
	case NodeScope:
		put("name", n.Name)
	}
	return b.Build()
}
