// Package check finds errors in a program of the Puppet language before it
// runs: definitions in the wrong place, expressions without an effect, invalid
// names, duplicate keys and parameters, invalid regular expressions, and
// expressions that plans cannot contain.
//
// Package syntax finds errors that prevent parsing. Package eval finds errors
// that depend on values.
//
// Source: the errors of Puppet 8 (its validator runs between parser and
// evaluator), and the language specification.
package check

import (
	"bolt/internal/regexp"
	"bolt/puppet/syntax"
)

// Options select the rules by which a program is checked.
type Options struct {
	// Tasks applies the rules of plans: expressions that need a catalog are
	// allowed only inside apply blocks.
	Tasks bool
	// Namespace is the required beginning of the names of definitions, for a
	// file of a module: see Namespace. If it is empty, names can begin with
	// anything.
	Namespace string
	// Defines is the kind of the only definition that the file must contain,
	// with the name Namespace: see Defines. If it is empty, the file can
	// contain any definitions.
	Defines string
	// Keys is the severity of a duplicate key in a hash (the setting strict).
	Keys Severity
}

// Program checks a program.
func Program(p *syntax.Program, o Options) Problems {
	c := &checker{file: p.File, o: o}
	return c.program(p)
}

// A checker checks one program.
type checker struct {
	file    *syntax.File
	o       Options
	inside  int           // depth of heredocs around the program
	path    []syntax.Node // from the body of the program to the parent of the current node
	facts   []fact        // about each node in path
	now     fact          // about the current node
	idles   idles
	found   Problems
	tallies [Ignore]tally
}

// A fact is information about a node that its parents determine. It avoids that
// each parent visits the same nodes again.
type fact uint8

const (
	applied fact = 1 << iota // the node is an apply block or inside of one
	valued                   // the node is a unary operator whose operand has a value
)

func (c *checker) program(p *syntax.Program) Problems {
	if c.o.Namespace != "" {
		c.topLevel(p.Body)
	}
	syntax.Walk(p.Body, c.visit)
	if c.o.Defines != "" && c.o.Namespace != "" {
		c.alone(p)
	}
	c.others()
	return c.found
}

func (c *checker) visit(n syntax.Node) bool {
	if n == nil {
		c.path = c.path[:len(c.path)-1]
		c.facts = c.facts[:len(c.path)]
		return true
	}
	c.now = c.around() & applied
	if _, ok := n.(*syntax.Apply); ok {
		c.now = applied
	}
	c.node(n)
	c.path = append(c.path, n)
	c.facts = append(c.facts, c.now)
	return true
}

// around returns the facts about the parent of the current node.
func (c *checker) around() fact {
	if len(c.facts) == 0 {
		return 0
	}
	return c.facts[len(c.facts)-1]
}

// parent returns the parent of the current node. If i > 0, it returns the i-th
// node around the parent. It returns nil for the program.
func (c *checker) parent(i int) syntax.Node {
	if k := len(c.path) - 1 - i; k > 0 { // path[0] is the body of the program
		return c.path[k]
	}
	return nil
}

// inApply reports whether the current node is inside an apply block.
func (c *checker) inApply() bool { return c.around()&applied != 0 }

// node checks one node. The nodes in it are visited after it.
func (c *checker) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Op != syntax.Set {
			c.errorf(n, "unsupported-operator", "the operator %v does not exist any more: use = with the new value", n.Op)
			return
		}
		c.assign(n.X)
		c.rvalue(n.Y)
	case *syntax.Binary:
		c.rvalue(n.X)
		c.rvalue(n.Y)
	case *syntax.Not:
		c.operand(n.X)
	case *syntax.Neg:
		c.operand(n.X)
	case *syntax.Splat:
		c.operand(n.X)
	case *syntax.Paren:
		c.operand(n.X)
	case *syntax.Text:
		c.operand(n.X)
	case *syntax.Index:
		if len(n.Keys) == 0 {
			c.errorf(n, "missing-index", "the brackets are empty: they must contain a key or an index")
		}
	case *syntax.Var:
		c.variable(n)
	case *syntax.Regexp:
		if _, err := regexp.Compile(n.Source); err != nil {
			c.errorf(n, "bad-regexp", "%v", err)
		}
	case *syntax.Int:
		if n.Over != "" {
			c.errorf(n, "number-out-of-range", "%s is not in the range of integers", n.Over)
		}
	case *syntax.TypeName:
		if !isTypeName(n.Value, true) {
			c.errorf(n, "illegal-name", "%q is not the name of a type: each part must begin with a capital letter", n.Value)
		}
	case *syntax.Reserved:
		c.errorf(n, "reserved-word", "%q is a reserved word: put it in quotes if it is a string", n.Word)
	case *syntax.List:
		for _, x := range n.Items {
			c.rvalue(x)
		}
	case *syntax.Hash:
		c.hash(n)
	case *syntax.Entry:
		c.rvalue(n.Key)
		c.rvalue(n.Value)
	case *syntax.Heredoc:
		c.heredoc(n)
	case *syntax.Block:
		c.block(n)
	case *syntax.If:
		c.rvalue(n.Cond)
	case *syntax.Unless:
		c.rvalue(n.Cond)
	case *syntax.Case:
		c.cases(n)
	case *syntax.CaseOption:
		for _, x := range n.Values {
			c.rvalue(x)
		}
	case *syntax.Selector:
		c.selector(n)
	case *syntax.Call:
		c.call(n)
	case *syntax.Method:
		if _, ok := n.Func.(*syntax.Name); !ok {
			c.errorf(n.Func, "illegal-expression", "%s is not the name of a function, which must follow the dot", article(n.Func))
		}
	case *syntax.Lambda:
		c.restLast(n.Params)
		c.typeRef(n.Returns)
	case *syntax.Param:
		c.param(n)
	case *syntax.EPP:
		c.noRest(n.Params, "a template")
		c.distinct(n.Params)
	case *syntax.Attr:
		c.attr(n)
	default:
		c.declaration(n)
	}
}

// declaration checks declarations and definitions.
func (c *checker) declaration(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Resource:
		if c.needsCatalog(n) {
			return
		}
		if name, ok := n.Type.(*syntax.Name); ok && n.Form != syntax.Regular && name.Value == "class" {
			c.errorf(n, "not-virtualizable", "a class cannot be declared as virtual or exported")
		}
	case *syntax.ResourceBody:
		seen := false
		for i := range n.Attrs {
			if a := &n.Attrs[i]; a.Splat {
				if seen {
					c.errorf(a, "duplicate-splat", "attributes from a hash (* =>) are allowed only once for a resource")
				}
				seen = true
			}
		}
	case *syntax.Defaults:
		if !c.needsCatalog(n) && n.Form != syntax.Regular {
			c.errorf(n, "not-virtualizable", "defaults for resources cannot be virtual or exported")
		}
	case *syntax.Override:
		if !c.needsCatalog(n) && n.Form != syntax.Regular {
			c.errorf(n, "not-virtualizable", "changes of resources cannot be virtual or exported")
		}
	case *syntax.Relation:
		if !c.needsCatalog(n) {
			c.related(n.X)
			c.related(n.Y)
		}
	case *syntax.Collect:
		c.collect(n)
	case *syntax.Apply:
		if c.o.Tasks && c.inApply() {
			c.errorf(n, "not-in-apply", "apply() cannot be used in an apply block")
		}
	case *syntax.Class:
		c.class(n)
	case *syntax.Define:
		c.define(n)
	case *syntax.NodeDef:
		c.nodeDef(n)
	case *syntax.Function:
		c.named(n, n.Name)
		c.typeRef(n.Returns)
		c.distinct(n.Params)
	case *syntax.Plan:
		c.named(n, n.Name)
		c.distinct(n.Params)
	case *syntax.TypeAlias:
		c.top(n)
		if !isTypeName(n.Name, false) {
			c.errorf(n, "illegal-name", "%q is not a name for a type: each part must begin with a capital letter", n.Name)
		}
		c.reservedType(n, n.Name)
		c.typeRef(n.Value)
	case *syntax.TypeMapping:
		c.top(n)
		if i, ok := n.Type.(*syntax.Index); ok {
			if t, ok := i.X.(*syntax.TypeName); ok && t.Value == "Runtime" {
				return // Ruby's types have no effect here and are allowed
			}
		}
		c.errorf(n, "unsupported-expression", "a type that is defined has a name, and no parameters")
	case *syntax.TypeDef:
		c.top(n)
		c.reservedType(n, n.Name)
		c.errorf(n, "unsupported-expression", "types with a body cannot be defined: write type %s = Object[{…}]", n.Name)
	}
}

// needsCatalog reports an error if a plan contains n outside of an apply block.
func (c *checker) needsCatalog(n syntax.Node) bool {
	if !c.o.Tasks || c.inApply() {
		return false
	}
	c.errorf(n, "not-in-plans", "%s needs a catalog, which plans do not have: move it into an apply block", article(n))
	return true
}

// collect checks a collector.
func (c *checker) collect(n *syntax.Collect) {
	if c.needsCatalog(n) {
		return
	}
	if c.o.Tasks && n.Exported {
		c.errorf(n, "not-in-apply", "exported resources cannot be collected in an apply block")
		return
	}
	if _, ok := n.Type.(*syntax.TypeName); !ok {
		c.errorf(n.Type, "illegal-expression", "%s is not a resource type to collect", article(n.Type))
	}
	if n.Query != nil {
		c.query(n.Query)
	}
}

// query checks the query of a collector.
func (c *checker) query(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Binary:
		switch x.Op {
		case syntax.And, syntax.Or:
			c.query(x.X)
			c.query(x.Y)
			return
		case syntax.Eq, syntax.Ne:
			return
		}
	case *syntax.Paren:
		c.query(x.X)
		return
	case *syntax.Var, *syntax.Name, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Bool:
		return
	}
	c.errorf(x, "illegal-query", "a collector can use ==, !=, and, or, but not %s", article(x))
}

// related checks one side of a relation.
func (c *checker) related(x syntax.Expr) {
	switch x.(type) {
	case *syntax.Collect, *syntax.Relation:
		return
	}
	c.rvalue(x)
}

// attr checks an attribute of a resource.
func (c *checker) attr(n *syntax.Attr) {
	if n.Add {
		switch c.parent(0).(type) {
		case *syntax.Collect, *syntax.Override:
		default:
			c.errorf(n, "illegal-append", "+> adds to an attribute of an existing resource: it is allowed in an override and after a collector, but not for %s here", n.Name)
		}
	}
	c.rvalue(n.Value)
}

// rvalue reports an error if x has no value.
func (c *checker) rvalue(x syntax.Expr) (ok bool) {
	for {
		switch n := x.(type) {
		case *syntax.Collect, *syntax.Class, *syntax.Define, *syntax.NodeDef, *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
			c.errorf(x, "not-a-value", "%s has no value, but a value is needed here", article(x))
			return false
		case *syntax.Not:
			x = n.X
		case *syntax.Neg:
			x = n.X
		case *syntax.Splat:
			x = n.X
		case *syntax.Paren:
			x = n.X
		case *syntax.Text:
			x = n.X
		default:
			return true
		}
	}
}

// operand is rvalue for the only operand of the current node. If such operators
// are nested, the outermost has checked the innermost operand.
func (c *checker) operand(x syntax.Expr) {
	if c.around()&valued != 0 || c.rvalue(x) {
		c.now |= valued
	}
}

// assign checks the left side of an assignment.
func (c *checker) assign(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Var:
		switch {
		case isNumber(x.Name):
			c.errorf(x, "illegal-assignment", "$%s is the match of a regular expression and cannot be set", x.Name)
		case isQualified(x.Name):
			c.errorf(x, "illegal-assignment", "$%s is a variable of another scope and cannot be set here", x.Name)
		}
	case *syntax.Index:
		c.errorf(x, "illegal-assignment", "an element cannot be set: values never change; make a new one with +")
	case *syntax.List:
		for _, e := range x.Items {
			c.assign(e)
		}
	default:
		c.errorf(x, "illegal-assignment", "%s is not a variable and cannot be set", article(x))
	}
}

// variable checks the name of a variable.
func (c *checker) variable(n *syntax.Var) {
	switch {
	case n.Name != "" && '0' <= n.Name[0] && n.Name[0] <= '9':
		if !isNumber(n.Name) {
			c.errorf(n, "illegal-name", "$%s is not a variable: a numeric name cannot begin with a zero", n.Name)
		}
	case (n.Name == "true" || n.Name == "false") && c.file.Src[n.Off] != '$':
		c.errorf(n, "illegal-name", "${%s} is not a variable: write ${$%s} for the variable of this name, or ${(%s)} for the value", n.Name, n.Name, n.Name)
	case !isVariable(n.Name):
		c.errorf(n, "illegal-name", "$%s is not the name of a variable: it must begin with a lower case letter or _, and each part of a qualified name with a lower case letter", n.Name)
	}
}

// hash finds duplicate keys.
func (c *checker) hash(n *syntax.Hash) {
	if c.o.Keys == Ignore {
		return
	}
	seen := map[string]bool{}
	for i := range n.Entries {
		e := &n.Entries[i]
		key, ok := literal(e.Key)
		if ok && seen[key] {
			note := ""
			if _, access := e.Key.(*syntax.Index); access {
				note = ": in Type[…], only the part in the brackets is compared"
			}
			c.problem(c.o.Keys, e, "duplicate-key", "the key %s occurs twice in the hash%s", printed(e.Key), note)
		}
		seen[key] = seen[key] || ok
	}
}

// call checks the called expression.
func (c *checker) call(n *syntax.Call) {
	switch f := n.Func.(type) {
	case *syntax.Name, *syntax.TypeName:
		return
	case *syntax.Index:
		if _, ok := f.X.(*syntax.TypeName); ok {
			return
		}
	}
	c.errorf(n.Func, "illegal-expression", "%s cannot be called: the arguments must follow the name of a function or a type", article(n.Func))
}

// cases checks a case expression.
func (c *checker) cases(n *syntax.Case) {
	c.rvalue(n.X)
	found := false
	for _, o := range n.Options {
		for _, x := range o.Values {
			if _, ok := x.(*syntax.Default); ok {
				if found {
					c.errorf(x, "duplicate-default", "default occurs twice in the case")
				}
				found = true
			}
		}
	}
}

// selector checks a selector ? { }.
func (c *checker) selector(n *syntax.Selector) {
	c.rvalue(n.X)
	found := 0
	for i := range n.Options {
		if _, ok := n.Options[i].Key.(*syntax.Default); ok {
			if found++; found == 2 {
				c.errorf(n.Options[i].Key, "duplicate-default", "default occurs twice in the selector")
			}
		}
	}
}
