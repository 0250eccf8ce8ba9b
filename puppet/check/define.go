package check

import (
	"path"
	"strings"

	"bolt/puppet/syntax"
)

// Namespace returns what the names in a file of a module begin with, and
// whether definitions belong there at all. rel is the file's path from the
// module's folder: "manifests/server/config.pp".
func Namespace(module, rel string) (namespace string, ok bool) {
	parts := strings.Split(strings.ToLower(path.Clean(strings.ReplaceAll(rel, "\\", "/"))), "/")
	if len(parts) < 2 {
		return "", false
	}
	switch parts[0] {
	case "manifests", "functions", "types", "plans":
	default:
		return "", false
	}
	names := append([]string{module}, parts[1:len(parts)-1]...)
	file := strings.TrimSuffix(parts[len(parts)-1], ".pp")
	if set := parts[0] == "types" && file == "init_typeset"; len(parts) != 2 || file != "init" && !set {
		names = append(names, file)
	}
	return strings.Join(names, "::"), true
}

// Defines returns what a file of a module is to define, and nothing else: a
// "function", a "type" or a "plan"; "" if there is no such rule, as for
// manifests.
func Defines(rel string) string {
	folder, _, _ := strings.Cut(path.Clean(strings.ReplaceAll(rel, "\\", "/")), "/")
	switch folder {
	case "functions", "types", "plans":
		return strings.TrimSuffix(folder, "s")
	}
	return ""
}

// alone tells of what else there is in a file that is to define one thing. It is
// what a loader would refuse.
func (c *checker) alone(p *syntax.Program) {
	n := 0
	for _, d := range p.Definitions {
		if _, is := d.(*syntax.NodeDef); is && c.o.Defines == "plan" {
			continue // of an apply block
		}
		if n++; n > 1 {
			c.errorf(d, "several-definitions", "there is another definition before this one: a file that is to define a %s has that and nothing else", c.o.Defines)
			return
		}
		kind, name := defines(d)
		_, alias := d.(*syntax.TypeAlias)
		inside := strings.HasPrefix(strings.ToLower(name), c.o.Namespace) // if not, named has told
		if (kind != c.o.Defines || !strings.EqualFold(name, c.o.Namespace)) && (inside || alias) {
			c.errorf(d, "wrong-definition", "the file has to define the %s %s, and defines the %s %s: the name of a file tells what is in it",
				c.o.Defines, c.namespace(), kind, name)
		}
	}
}

// defines returns the kind and the name of a definition.
func defines(d syntax.Expr) (kind, name string) {
	switch d := d.(type) {
	case *syntax.Function:
		return "function", d.Name
	case *syntax.Plan:
		return "plan", d.Name
	case *syntax.Class:
		return "class", d.Name
	case *syntax.Define:
		return "define", d.Name
	case *syntax.TypeAlias:
		return "type", d.Name
	}
	return "", "" // what has no name, or is refused anyway
}

// namespace is Options.Namespace as it is written in programs.
func (c *checker) namespace() string { return Spelled(c.o.Defines, c.o.Namespace) }

// Spelled returns the name of a thing of a kind as programs write it: those of
// types have capitals.
func Spelled(kind, name string) string {
	if kind != "type" {
		return name
	}
	parts := strings.Split(name, "::")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "::")
}

// topLevel tells of what is not a definition in a file of a module.
func (c *checker) topLevel(body *syntax.Block) {
	for _, x := range body.Exprs {
		switch x.(type) {
		case *syntax.Class, *syntax.Define, *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
		default:
			c.errorf(x, "illegal-top-level", "%s stands outside of definitions in a file of a module, where it would never be evaluated", article(x))
		}
	}
}

// named checks a definition with a name.
func (c *checker) named(n syntax.Node, name string) {
	c.top(n)
	if !isDefinition(name) {
		c.errorf(n, "illegal-name", "%q is no name for a definition: small letters, digits and _, each part beginning with a letter", name)
	}
	if c.o.Namespace != "" && !strings.HasPrefix(strings.ToLower(name), c.o.Namespace) {
		c.errorf(n, "illegal-location", "%s is defined in a file for %s: the name of a file tells what is in it", name, c.namespace())
	}
	c.reservedType(n, name)
	if name == "plan" {
		c.problem(Deprecation, n, "reserved-word", "the name plan will be a word of the language")
	}
}

// top tells of a definition that is not where definitions can be.
func (c *checker) top(n syntax.Node) {
	around := c.parent(0)
	if _, ok := around.(*syntax.Block); ok {
		around = c.parent(1)
		switch n.(type) {
		case *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
			if around != nil {
				c.errorf(n, "not-top-level", "%s can be defined at the top of a file only", article(n))
				return
			}
		}
	}
	switch around.(type) {
	case nil, *syntax.Class, *syntax.Apply:
	default:
		c.errorf(n, "not-top-level", "%s can be defined at the top of a file or in a class, and not in %s", article(n), article(around))
	}
}

func (c *checker) class(n *syntax.Class) {
	if c.o.Tasks {
		c.errorf(n, "not-in-plans", "a class needs a catalog, and cannot be defined where plans are")
		return
	}
	c.named(n, n.Name)
	c.noRest(n.Params, "a class")
	c.distinct(n.Params)
	c.reservedParams(n.Params, "a class")
	c.lastIdle(n.Body, "a class")
	for _, p := range n.Params {
		if p.Type == nil {
			continue
		}
		if !isLiteral(p.Type) {
			c.problem(Deprecation, p, "computed-type", "the type of $%s is computed: it has to be written out", p.Name)
		}
	}
}

func (c *checker) define(n *syntax.Define) {
	if c.o.Tasks {
		c.errorf(n, "not-in-plans", "a define needs a catalog, and cannot be defined where plans are")
		return
	}
	c.named(n, n.Name)
	c.noRest(n.Params, "a define")
	c.distinct(n.Params)
	c.reservedParams(n.Params, "a define")
	c.lastIdle(n.Body, "a define")
}

func (c *checker) nodeDef(n *syntax.NodeDef) {
	if c.needsCatalog(n) {
		return
	}
	for _, m := range n.Matches {
		c.hostname(m)
	}
	c.top(n)
	c.lastIdle(n.Body, "a node")
	if n.Parent != nil {
		c.errorf(n.Parent, "node-inheritance", "nodes cannot inherit: put what they share in a class")
	}
}

// hostname checks what a node is found by.
func (c *checker) hostname(x syntax.Expr) {
	text := ""
	switch x := x.(type) {
	case *syntax.Str:
		text = x.Value
	case *syntax.Name:
		text = x.Value
	case *syntax.TypeName:
		text = x.Value
	case *syntax.Concat:
		for _, p := range x.Parts {
			if t, ok := p.(*syntax.Text); ok {
				c.errorf(t.X, "illegal-hostname", "the name of a node cannot depend on a variable: use a regular expression, or a condition")
				return
			}
		}
		c.errorf(x, "illegal-hostname", "the name of a node has to be one text")
		return
	case *syntax.Int, *syntax.Float, *syntax.Default, *syntax.Regexp:
		return
	default:
		c.errorf(x, "illegal-expression", "%s is no name of a node", article(x))
		return
	}
	for _, r := range text {
		if !isWord(r) && r != '-' && r != '.' {
			c.errorf(x, "illegal-hostname", "%q is no name of a node: letters, digits, - _ and . are all it can hold", text)
			return
		}
	}
}

// param checks one parameter.
func (c *checker) param(p *syntax.Param) {
	if isHexOrDecimal(p.Name) {
		c.errorf(p, "illegal-name", "a parameter cannot be called $%s: numbers are what regular expressions match", p.Name)
	}
	if !isParam(p.Name) {
		c.errorf(p, "illegal-name", "a parameter cannot be called $%s: small letters, digits and _, not beginning with a digit", p.Name)
	}
	if p.Value == nil {
		return
	}
	syntax.Walk(p.Value, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lambda, *syntax.Param: // a parameter of another one checks its own
			return false
		case *syntax.Assign:
			c.errorf(n, "illegal-assignment", "a variable cannot be set in the default of a parameter")
			return false
		}
		return true
	})
}

// restLast tells of *$rest that is not the last parameter.
func (c *checker) restLast(params []*syntax.Param) {
	for i, p := range params {
		if p.Rest && i != len(params)-1 {
			c.errorf(p, "rest-not-last", "*$%s takes all further arguments: it has to be the last parameter", p.Name)
		}
	}
}

// noRest tells of *$rest where parameters have names.
func (c *checker) noRest(params []*syntax.Param, of string) {
	for _, p := range params {
		if p.Rest {
			c.errorf(p, "illegal-rest", "%s gets its parameters by name: *$%s cannot be one of them", of, p.Name)
		}
	}
}

func (c *checker) distinct(params []*syntax.Param) {
	seen := map[string]bool{}
	for _, p := range params {
		if seen[p.Name] {
			c.errorf(p, "duplicate-parameter", "the parameter $%s is there twice", p.Name)
		}
		seen[p.Name] = true
	}
}

func (c *checker) reservedParams(params []*syntax.Param, of string) {
	for _, p := range params {
		if p.Name == "name" || p.Name == "title" {
			c.errorf(p, "reserved-parameter", "the parameter $%s is there in %s already: choose another name", p.Name, of)
		}
	}
}

// typeRef checks what has to be a type that is written out; nil is none.
func (c *checker) typeRef(x syntax.Expr) {
	if x == nil {
		return
	}
	of := x
	if i, ok := x.(*syntax.Index); ok {
		of = i.X
	}
	if _, ok := of.(*syntax.TypeName); !ok {
		c.errorf(x, "illegal-expression", "%s is no type, which has to stand here", article(x))
	}
}

// reservedTypes are types of the language that no definition can be called.
var reservedTypes = map[string]bool{
	"type": true, "any": true, "unit": true, "scalar": true, "boolean": true, "numeric": true, "integer": true,
	"float": true, "collection": true, "array": true, "hash": true, "tuple": true, "struct": true, "variant": true,
	"optional": true, "enum": true, "regexp": true, "pattern": true, "runtime": true, "init": true, "object": true,
	"sensitive": true, "semver": true, "semverrange": true, "string": true, "timestamp": true, "timespan": true, "typeset": true,
}

func (c *checker) reservedType(n syntax.Node, name string) {
	if reservedTypes[name] {
		c.errorf(n, "reserved-name", "%q is a type of the language, and nothing else can be called so", name)
	}
}
