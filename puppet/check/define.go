package check

import (
	"path"
	"strings"

	"bolt/puppet/syntax"
)

// Namespace returns the required beginning of the names in a file of a module,
// and whether the file can contain definitions. rel is the path of the file in
// the module: "manifests/server/config.pp".
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

// Defines returns the kind of the only definition that a file of a module must
// contain: a "function", a "type" or a "plan". For other files, such as
// manifests, it returns "".
func Defines(rel string) string {
	folder, _, _ := strings.Cut(path.Clean(strings.ReplaceAll(rel, "\\", "/")), "/")
	switch folder {
	case "functions", "types", "plans":
		return strings.TrimSuffix(folder, "s")
	}
	return ""
}

// alone reports other content in a file that must contain only one definition.
// A loader would reject such a file.
func (c *checker) alone(p *syntax.Program) {
	n := 0
	for _, d := range p.Definitions {
		if _, is := d.(*syntax.NodeDef); is && c.o.Defines == "plan" {
			continue // inside an apply block
		}
		if n++; n > 1 {
			c.errorf(d, "several-definitions", "there is another definition before this one: a file that defines a %s must not contain anything else", c.o.Defines)
			return
		}
		kind, name := defines(d)
		_, alias := d.(*syntax.TypeAlias)
		inside := strings.HasPrefix(strings.ToLower(name), c.o.Namespace) // otherwise named has reported it
		if (kind != c.o.Defines || !strings.EqualFold(name, c.o.Namespace)) && (inside || alias) {
			c.errorf(d, "wrong-definition", "the file must define the %s %s, but defines the %s %s: the name of a file determines its definition",
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
	return "", "" // without a name, or reported elsewhere
}

// namespace returns Options.Namespace in the form of programs.
func (c *checker) namespace() string { return Spelled(c.o.Defines, c.o.Namespace) }

// Spelled returns a name of a kind in the form of programs. The names of types
// are capitalized.
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

// topLevel reports code outside of definitions in a file of a module.
func (c *checker) topLevel(body *syntax.Block) {
	for _, x := range body.Exprs {
		switch x.(type) {
		case *syntax.Class, *syntax.Define, *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
		default:
			c.errorf(x, "illegal-top-level", "%s is outside of definitions in a file of a module, where it would never be evaluated", article(x))
		}
	}
}

// named checks a definition with a name.
func (c *checker) named(n syntax.Node, name string) {
	c.top(n)
	if !isDefinition(name) {
		c.errorf(n, "illegal-name", "%q is not a name for a definition: it can contain lower case letters, digits and _, and each part must begin with a letter", name)
	}
	if c.o.Namespace != "" && !strings.HasPrefix(strings.ToLower(name), c.o.Namespace) {
		c.errorf(n, "illegal-location", "%s is defined in a file for %s: the name of a file determines its definitions", name, c.namespace())
	}
	c.reservedType(n, name)
	if name == "plan" {
		c.problem(Deprecation, n, "reserved-word", "the name plan will be a word of the language")
	}
}

// top reports a definition that is not allowed at its position.
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
		c.errorf(n, "not-in-plans", "a define needs a catalog, and cannot be defined in a plan's file")
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

// hostname checks the name of a node.
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
		c.errorf(x, "illegal-hostname", "the name of a node must be a single string")
		return
	case *syntax.Int, *syntax.Float, *syntax.Default, *syntax.Regexp:
		return
	default:
		c.errorf(x, "illegal-expression", "%s is not the name of a node", article(x))
		return
	}
	for _, r := range text {
		if !isWord(r) && r != '-' && r != '.' {
			c.errorf(x, "illegal-hostname", "%q is not the name of a node: it can contain only letters, digits, - _ and .", text)
			return
		}
	}
}

// param checks one parameter.
func (c *checker) param(p *syntax.Param) {
	if isHexOrDecimal(p.Name) {
		c.errorf(p, "illegal-name", "a parameter cannot be called $%s: numbers are the matches of regular expressions", p.Name)
	}
	if !isParam(p.Name) {
		c.errorf(p, "illegal-name", "a parameter cannot be called $%s: small letters, digits and _, not beginning with a digit", p.Name)
	}
	if p.Value == nil {
		return
	}
	syntax.Walk(p.Value, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lambda, *syntax.Param: // the default of a nested parameter is checked separately
			return false
		case *syntax.Assign:
			c.errorf(n, "illegal-assignment", "a variable cannot be set in the default of a parameter")
			return false
		}
		return true
	})
}

// restLast reports *$rest if it is not the last parameter.
func (c *checker) restLast(params []*syntax.Param) {
	for i, p := range params {
		if p.Rest && i != len(params)-1 {
			c.errorf(p, "rest-not-last", "*$%s takes all further arguments: it has to be the last parameter", p.Name)
		}
	}
}

// noRest reports *$rest if parameters are given by name.
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
			c.errorf(p, "duplicate-parameter", "the parameter $%s occurs twice", p.Name)
		}
		seen[p.Name] = true
	}
}

func (c *checker) reservedParams(params []*syntax.Param, of string) {
	for _, p := range params {
		if p.Name == "name" || p.Name == "title" {
			c.errorf(p, "reserved-parameter", "the parameter $%s exists in %s already: choose another name", p.Name, of)
		}
	}
}

// typeRef checks an expression that must be a literal type, or nil.
func (c *checker) typeRef(x syntax.Expr) {
	if x == nil {
		return
	}
	of := x
	if i, ok := x.(*syntax.Index); ok {
		of = i.X
	}
	if _, ok := of.(*syntax.TypeName); !ok {
		c.errorf(x, "illegal-expression", "%s is not a type, which is required here", article(x))
	}
}

// reservedTypes are types of the language whose names a definition cannot have.
var reservedTypes = map[string]bool{
	"type": true, "any": true, "unit": true, "scalar": true, "boolean": true, "numeric": true, "integer": true,
	"float": true, "collection": true, "array": true, "hash": true, "tuple": true, "struct": true, "variant": true,
	"optional": true, "enum": true, "regexp": true, "pattern": true, "runtime": true, "init": true, "object": true,
	"sensitive": true, "semver": true, "semverrange": true, "string": true, "timestamp": true, "timespan": true, "typeset": true,
}

func (c *checker) reservedType(n syntax.Node, name string) {
	if reservedTypes[name] {
		c.errorf(n, "reserved-name", "%q is the name of a type of the language", name)
	}
}
