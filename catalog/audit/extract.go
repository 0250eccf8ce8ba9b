package audit

import (
	"slices"
	"strings"

	"bolt/catalog/types"
	"bolt/puppet/syntax"
)

// lower returns a qualified name as names are looked up.
func lower(name string) string { return strings.ToLower(strings.TrimPrefix(name, "::")) }

// An extractor finds the uses of one body. It does not enter definitions in the body, which are bodies of their own.
type extractor struct {
	*body
	file *syntax.File
	root syntax.Node
	// reads are variables that the body reads, with their first position. keyed are the variables that are the
	// base of an access with a known key, such as $facts['os'].
	reads map[string]uint32
	keyed map[*syntax.Var]bool
	seen  map[use]bool
	// around has an element for each node around the current one: whether it is a condition. conditions is the number
	// of these.
	around     []bool
	conditions int
}

// extract finds the uses in a part of a file. b.locals can have variables that are set elsewhere.
func extract(b *body, file *syntax.File, root syntax.Node) {
	x := &extractor{body: b, file: file, root: root, reads: make(map[string]uint32), keyed: make(map[*syntax.Var]bool), seen: make(map[use]bool)}
	if b.locals == nil {
		b.locals = make(map[string]bool)
	}
	switch d := root.(type) {
	case *syntax.Class:
		b.params = len(d.Params) > 0
		if b.parent = lower(d.Parent); b.parent != "" {
			x.add(use{kind: useClass, name: b.parent, at: b.at})
		}
	case *syntax.Apply:
		syntax.Walk(d.Body, x.node)
		x.variables()
		return
	}
	syntax.Walk(root, x.node)
	x.variables()
}

func (x *extractor) place(n syntax.Node) Place {
	at := x.file.Position(n.At().Off)
	return Place{at.File, at.Line}
}

// add records a use once for each line.
func (x *extractor) add(u use) {
	u.branch = x.conditions > 0
	if !x.seen[u] {
		x.seen[u] = true
		x.uses = append(x.uses, u)
	}
}

// variables records the variables that the body reads and does not set.
func (x *extractor) variables() {
	for name, off := range x.reads {
		if !x.locals[name] {
			at := x.file.Position(off)
			x.add(use{kind: useVariable, name: name, at: Place{at.File, at.Line}})
		}
	}
}

// walk enters a node that can be nil.
func (x *extractor) walk(n syntax.Expr) {
	if n != nil {
		syntax.Walk(n, x.node)
	}
}

// node visits a node, or the end (nil) of the last node whose parts were visited.
func (x *extractor) node(n syntax.Node) (into bool) {
	if n == nil {
		last := len(x.around) - 1
		if x.around[last] {
			x.conditions--
		}
		x.around = x.around[:last]
		return false
	}
	if !x.visit(n) {
		return false
	}
	condition := isCondition(n)
	if x.around = append(x.around, condition); condition {
		x.conditions++
	}
	return true
}

func isCondition(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.If, *syntax.Unless, *syntax.Case, *syntax.Selector:
		return true
	}
	return false
}

// visit records one node. It returns false if the parts of the node need no visit.
func (x *extractor) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Class, *syntax.Define, *syntax.Function, *syntax.NodeDef, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeMapping, *syntax.Apply:
		return n == x.root
	case *syntax.Param:
		x.locals[n.Name] = true
	case *syntax.Assign:
		x.assigned(n.X)
	case *syntax.Var:
		x.variable(n)
	case *syntax.Index:
		x.index(n)
	case *syntax.TypeName:
		x.data(n)
	case *syntax.Str:
		x.text(n)
	case *syntax.Resource:
		x.resource(n)
	case *syntax.Defaults:
		x.attributes(typeName(n.Type), n.Attrs)
	case *syntax.Collect:
		x.attributes(typeName(n.Type), n.Attrs)
	case *syntax.Call:
		x.call(n)
	case *syntax.Method:
		x.method(n)
	default:
		return x.branch(n)
	}
	return true
}

// assigned records the variables of the left side of an assignment.
func (x *extractor) assigned(target syntax.Expr) {
	syntax.Walk(target, func(n syntax.Node) bool {
		if v, is := n.(*syntax.Var); is {
			x.locals[v.Name] = true
		}
		return n != nil
	})
}

// scoped are variables that every scope has.
var scoped = []string{"facts", "trusted", "server_facts", "title", "name", "module_name", "caller_module_name", "environment"}

func (x *extractor) variable(v *syntax.Var) {
	name, top := strings.CutPrefix(v.Name, "::")
	switch {
	case x.keyed[v] || name == "" || '0' <= name[0] && name[0] <= '9':
	case strings.Contains(name, "::"): // of a class, which must be declared
		x.add(use{kind: useScope, name: lower(name[:strings.LastIndex(name, "::")]), at: x.place(v)})
	case slices.Contains(scoped, name):
	case top:
		x.add(use{kind: useVariable, name: name, param: topScope, at: x.place(v)})
	default:
		if _, known := x.reads[name]; !known {
			x.reads[name] = v.Off
		}
	}
}

// index records an access with a known key: $facts['os']['family'].
func (x *extractor) index(n *syntax.Index) {
	if v, is := n.X.(*syntax.Var); is && len(n.Keys) == 1 && lower(v.Name) == "facts" {
		if key, is := literal(n.Keys[0]); is {
			x.keyed[v] = true
			x.add(use{kind: useFact, name: key, at: x.place(n)})
		}
	}
}

// data records the name of a type of values or of resources.
func (x *extractor) data(n *syntax.TypeName) {
	if strings.Contains(strings.TrimPrefix(n.Value, "::"), "::") {
		x.add(use{kind: useData, name: lower(n.Value), at: x.place(n)})
	}
}

// text records a string that can be the name of a template, such as the default of a parameter.
func (x *extractor) text(n *syntax.Str) {
	if (strings.HasSuffix(n.Value, ".erb") || strings.HasSuffix(n.Value, ".epp")) && strings.Contains(n.Value, "/") {
		x.add(use{kind: useTemplate, name: n.Value, at: x.place(n)})
	}
}

// literal returns the text of a string or a name.
func literal(e syntax.Expr) (text string, is bool) {
	switch e := e.(type) {
	case *syntax.Str:
		return e.Value, true
	case *syntax.Name:
		return e.Value, true
	case *syntax.Paren:
		return literal(e.X)
	case *syntax.Heredoc:
		return literal(e.Text)
	}
	return "", false
}

// literals returns the texts of a string, or of the strings in an array. rest is the number of other elements.
func literals(e syntax.Expr) (texts []string, rest int) {
	if list, is := e.(*syntax.List); is {
		for _, item := range list.Items {
			t, r := literals(item)
			texts, rest = append(texts, t...), rest+r
		}
		return texts, rest
	}
	if text, is := literal(e); is {
		return []string{text}, 0
	}
	return nil, 1
}

// typeName returns the name of a resource type in lower case, "" if it is computed.
func typeName(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.TypeName:
		return lower(e.Value)
	case *syntax.Index:
		if t := typeName(e.X); t == "resource" && len(e.Keys) == 1 {
			return typeName(e.Keys[0])
		}
		return ""
	}
	text, _ := literal(e)
	return lower(text)
}

func (x *extractor) resource(n *syntax.Resource) {
	typ := typeName(n.Type)
	switch typ {
	case "":
		x.computed++
	case "class":
		for _, b := range n.Bodies {
			x.classes(b.Title)
		}
	default:
		for _, b := range n.Bodies {
			x.add(use{kind: useType, name: typ, at: x.place(b.Title)})
			x.attributes(typ, b.Attrs)
		}
	}
}

// attributes records the attributes of a resource, of defaults or of a collector that a type can refuse.
func (x *extractor) attributes(typ string, attrs []syntax.Attr) {
	t := types.Find(typ)
	if t == nil {
		return
	}
	for i := range attrs {
		a := &attrs[i]
		if a.Splat {
			continue
		}
		if !t.Has(a.Name) {
			x.add(use{kind: useParam, name: typ, param: a.Name, at: x.place(a)})
		}
		if !slices.Contains(checked, a.Name) {
			continue
		}
		texts, _ := literals(a.Value)
		for _, text := range texts {
			x.add(use{kind: useValue, name: typ, param: a.Name, value: text, at: x.place(a)})
		}
	}
}

// checked are the parameters whose values are checked one by one, because they do not depend on other parameters.
var checked = []string{"provider", "source"}

// classes records the classes that an expression names.
func (x *extractor) classes(e syntax.Expr) {
	names, rest := literals(e)
	if i, is := e.(*syntax.Index); is && typeName(i.X) == "class" { // Class['a']
		for _, k := range i.Keys {
			x.classes(k)
		}
		return
	}
	for _, name := range names {
		x.add(use{kind: useClass, name: lower(name), at: x.place(e)})
	}
	x.computed += rest
}

// call records a call of a function.
func (x *extractor) call(n *syntax.Call) {
	f, is := n.Func.(*syntax.Name)
	if !is {
		return
	}
	x.function(f, n.Args)
}

// method records a call in the form of a method.
func (x *extractor) method(n *syntax.Method) {
	f, is := n.Func.(*syntax.Name)
	if !is {
		return
	}
	if v, is := n.X.(*syntax.Var); is && lower(v.Name) == "facts" && (f.Value == "get" || f.Value == "dig") && len(n.Args) > 0 {
		if key, is := literal(n.Args[0]); is {
			x.keyed[v] = true
			x.fact(f, key)
		}
	}
	x.function(f, append([]syntax.Expr{n.X}, n.Args...))
}

// fact records the first segment of a path into the facts.
func (x *extractor) fact(n syntax.Node, path string) {
	name, _, _ := strings.Cut(path, ".")
	x.add(use{kind: useFact, name: name, at: x.place(n)})
}

// function records a call. Some functions declare things by name.
func (x *extractor) function(f *syntax.Name, args []syntax.Expr) {
	name := lower(f.Value)
	x.add(use{kind: useFunction, name: name, at: x.place(f)})
	first, known := "", false
	if len(args) > 0 {
		first, known = literal(args[0])
	}
	switch name {
	case "include", "contain", "require":
		for _, a := range args {
			x.classes(a)
		}
	case "hiera_include":
		x.computed++
		x.add(use{kind: useLookup})
	case "lookup", "hiera", "hiera_array", "hiera_hash":
		x.add(use{kind: useLookup})
	case "create_resources", "ensure_resource", "ensure_resources":
		switch first = lower(first); {
		case !known:
			x.computed++
		case first == "class":
			x.computed++
		default:
			x.add(use{kind: useType, name: first, at: x.place(f)})
		}
	case "template", "epp":
		if known {
			x.add(use{kind: useTemplate, name: first, param: name, at: x.place(f)})
		}
	case "inline_template":
		if known {
			x.inline(args[0], first)
		}
	case "fact", "stdlib::fact":
		if known {
			x.fact(f, first)
		}
	case "getvar":
		if path, is := strings.CutPrefix(first, "facts."); is && known {
			x.fact(f, path)
		}
	}
}
