// Package check finds what is wrong with a program of the Puppet language
// before anything of it runs: definitions in the wrong place, expressions
// without an effect, names that cannot be, keys and parameters that stand
// twice, regular expressions that are none, what plans cannot have.
//
// What a program cannot be parsed with is found by package syntax, what
// depends on values by package eval.
//
// Source: what Puppet 8 refuses (its validator runs between parser and
// evaluator), and the language specification.
package check

import (
	"bolt/internal/regexp"
	"bolt/puppet/syntax"
)

// Options say by which rules a program is checked.
type Options struct {
	// Tasks are the rules of plans: nothing that needs a catalog, but inside
	// apply blocks.
	Tasks bool
	// Namespace is what the names of definitions begin with, for a file of a
	// module: see Namespace. Empty: there is no rule.
	Namespace string
	// Defines is the one thing that the file defines, by the name Namespace: see
	// Defines. Empty: there is no rule.
	Defines string
	// Keys is how bad a key is that stands twice in a hash (the setting
	// strict).
	Keys Severity
}

// Program checks a program.
func Program(p *syntax.Program, o Options) Problems {
	c := &checker{file: p.File, o: o}
	return c.program(p)
}

// A checker goes through one program.
type checker struct {
	file    *syntax.File
	o       Options
	inside  int           // heredocs that the program is the text of
	path    []syntax.Node // from the program's body to the node around the one in work
	facts   []fact        // about each of these
	now     fact          // about the node in work
	idles   idles
	found   Problems
	tallies [Ignore]tally
}

// A fact is what is known about a node from those around. It keeps the checks
// from going through the same nodes again for each node around them.
type fact uint8

const (
	applied fact = 1 << iota // it is an apply block or in one
	valued                   // it is an operator with one operand, which has a value
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

// around returns what is known about the node around the one in work.
func (c *checker) around() fact {
	if len(c.facts) == 0 {
		return 0
	}
	return c.facts[len(c.facts)-1]
}

// parent returns the node around the one in work, the i-th from inside, nil
// for the program.
func (c *checker) parent(i int) syntax.Node {
	if k := len(c.path) - 1 - i; k > 0 { // path[0] is the program's body
		return c.path[k]
	}
	return nil
}

// inApply reports whether an apply block is around the node in work.
func (c *checker) inApply() bool { return c.around()&applied != 0 }

// node checks one node; what is in it is visited after it.
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
			c.errorf(n, "missing-index", "there is nothing between the brackets: a key or a place belongs there")
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
			c.errorf(n, "illegal-name", "%q is no name of a type: each part of it begins with a capital", n.Value)
		}
	case *syntax.Reserved:
		c.errorf(n, "reserved-word", "%q is a word that the language keeps for itself: put it in quotes if it is a text", n.Word)
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
			c.errorf(n.Func, "illegal-expression", "%s is no name of a function, which belongs behind the dot", article(n.Func))
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

// declaration checks what declares or defines.
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
					c.errorf(a, "duplicate-splat", "attributes from a hash (* =>) can stand once for a resource")
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
			c.errorf(n, "illegal-name", "%q is no name for a type: each part of it begins with a capital", n.Name)
		}
		c.reservedType(n, n.Name)
		c.typeRef(n.Value)
	case *syntax.TypeMapping:
		c.top(n)
		if i, ok := n.Type.(*syntax.Index); ok {
			if t, ok := i.X.(*syntax.TypeName); ok && t.Value == "Runtime" {
				return // types of Ruby are of no use here, and do no harm
			}
		}
		c.errorf(n, "unsupported-expression", "a type that is defined has a name, and no parameters")
	case *syntax.TypeDef:
		c.top(n)
		c.reservedType(n, n.Name)
		c.errorf(n, "unsupported-expression", "types with a body cannot be defined: write type %s = Object[{…}]", n.Name)
	}
}

// needsCatalog tells of what a plan cannot have, but in an apply block.
func (c *checker) needsCatalog(n syntax.Node) bool {
	if !c.o.Tasks || c.inApply() {
		return false
	}
	c.errorf(n, "not-in-plans", "%s needs a catalog, which there is none of in a plan: it belongs in an apply block", article(n))
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
		c.errorf(n.Type, "illegal-expression", "%s is no type of resources to collect", article(n.Type))
	}
	if n.Query != nil {
		c.query(n.Query)
	}
}

// query checks what a collector asks for.
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
	c.errorf(x, "illegal-query", "a collector can ask with ==, !=, and, or, and not with %s", article(x))
}

// related checks a side of a relation.
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
			c.errorf(n, "illegal-append", "+> adds to an attribute of a resource that is there already: it can stand in an override and behind a collector, and not for %s here", n.Name)
		}
	}
	c.rvalue(n.Value)
}

// rvalue tells of what has no value.
func (c *checker) rvalue(x syntax.Expr) (ok bool) {
	for {
		switch n := x.(type) {
		case *syntax.Collect, *syntax.Class, *syntax.Define, *syntax.NodeDef, *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeDef, *syntax.TypeMapping:
			c.errorf(x, "not-a-value", "%s has no value, and stands where one is needed", article(x))
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

// operand is rvalue for the only operand of the node in work. Of several such
// operators in one another the outermost has looked at what is innermost.
func (c *checker) operand(x syntax.Expr) {
	if c.around()&valued != 0 || c.rvalue(x) {
		c.now |= valued
	}
}

// assign checks the left side of =.
func (c *checker) assign(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Var:
		switch {
		case isNumber(x.Name):
			c.errorf(x, "illegal-assignment", "$%s is what a regular expression has matched, and cannot be set", x.Name)
		case isQualified(x.Name):
			c.errorf(x, "illegal-assignment", "$%s is a variable of another scope, and cannot be set from here", x.Name)
		}
	case *syntax.Index:
		c.errorf(x, "illegal-assignment", "an element cannot be set: values never change; make a new one with +")
	case *syntax.List:
		for _, e := range x.Items {
			c.assign(e)
		}
	default:
		c.errorf(x, "illegal-assignment", "%s is no variable, and cannot be set", article(x))
	}
}

// variable checks the name of a variable.
func (c *checker) variable(n *syntax.Var) {
	switch {
	case n.Name != "" && '0' <= n.Name[0] && n.Name[0] <= '9':
		if !isNumber(n.Name) {
			c.errorf(n, "illegal-name", "$%s is no variable: a number as a name has no zero before it", n.Name)
		}
	case (n.Name == "true" || n.Name == "false") && c.file.Src[n.Off] != '$':
		c.errorf(n, "illegal-name", "${%s} is no variable: write ${$%s} for the variable of this name, or ${(%s)} for the value", n.Name, n.Name, n.Name)
	case !isVariable(n.Name):
		c.errorf(n, "illegal-name", "$%s is no name of a variable: it begins with a small letter or _, and each part of a qualified name with a small letter", n.Name)
	}
}

// hash finds keys that stand twice.
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
				note = ": of Type[…] only what is in the brackets counts"
			}
			c.problem(c.o.Keys, e, "duplicate-key", "the key %s stands twice in the hash%s", printed(e.Key), note)
		}
		seen[key] = seen[key] || ok
	}
}

// call checks what is called.
func (c *checker) call(n *syntax.Call) {
	switch f := n.Func.(type) {
	case *syntax.Name, *syntax.TypeName:
		return
	case *syntax.Index:
		if _, ok := f.X.(*syntax.TypeName); ok {
			return
		}
	}
	c.errorf(n.Func, "illegal-expression", "%s cannot be called: the name of a function or a type belongs before the arguments", article(n.Func))
}

// cases checks a case.
func (c *checker) cases(n *syntax.Case) {
	c.rvalue(n.X)
	found := false
	for _, o := range n.Options {
		for _, x := range o.Values {
			if _, ok := x.(*syntax.Default); ok {
				if found {
					c.errorf(x, "duplicate-default", "default stands twice in the case")
				}
				found = true
			}
		}
	}
}

// selector checks a ? { }.
func (c *checker) selector(n *syntax.Selector) {
	c.rvalue(n.X)
	found := 0
	for i := range n.Options {
		if _, ok := n.Options[i].Key.(*syntax.Default); ok {
			if found++; found == 2 {
				c.errorf(n.Options[i].Key, "duplicate-default", "default stands twice in the selector")
			}
		}
	}
}
