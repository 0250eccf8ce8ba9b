package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A compiler compiles the syntax of one body to nodes.
//
// Variables of local scopes become slots. Evaluation goes through a body in the
// order of the source. It never goes back, except by a new call with a new
// scope. So if a variable is not assigned before the position where it is read,
// it cannot be a local variable there, and one pass is enough. The compiler
// looks for such a variable in the named scope. A variable that is assigned
// before can still be unset, if it was assigned in a branch that was not
// evaluated. Then the slot is nil, and the variable is looked up by its name.
type compiler struct {
	file *syntax.File
	vars *vars
	def  *Definition // the definition that contains the code; nil outside of definitions
	// lenient is set if an unknown type stands for itself.
	lenient bool
	// level is the number of expressions around the current one. tallest is the
	// largest level so far.
	level, tallest int
}

// vars are the variables of a local scope, or mark a named scope.
type vars struct {
	outer *vars
	names []string
	index map[string]int // of names, when there are many
	// named is set for a named scope. It has no slots; its variables are stored
	// by name.
	named bool
	// loose is set if outer scopes can have variables that the compiler does
	// not know. For example, a template sees the variables of its caller.
	loose bool
	// defaults is set while the default of a parameter is compiled. A default
	// cannot assign, and the first params names are the parameters.
	defaults bool
	params   int
	lambdas  bool
}

// manyNames is the number of names up to which a list is searched one by one.
const manyNames = 16

// add makes a slot.
func (v *vars) add(name string) int {
	i := len(v.names)
	v.names = append(v.names, name)
	switch {
	case v.index != nil:
		v.index[name] = i
	case len(v.names) > manyNames:
		v.index = make(map[string]int)
		for i, name := range v.names {
			v.index[name] = i
		}
	}
	return i
}

// slot returns the slot of the last variable with this name.
func (v *vars) slot(name string) int {
	if v.index != nil {
		if i, is := v.index[name]; is {
			return i
		}
		return -1
	}
	for i := len(v.names) - 1; i >= 0; i-- {
		if v.names[i] == name {
			return i
		}
	}
	return -1
}

func (c *compiler) at(n syntax.Node) pos { return pos{c.file, n.At().Off} }

// compileProgram compiles the code of a file outside of definitions.
func compileProgram(p *syntax.Program) *code {
	c := &compiler{file: p.File, vars: &vars{named: true}}
	k := &code{at: pos{p.File, 0}, body: c.block(p.Body)}
	k.height = c.tallest
	return k
}

// alias evaluates a part of the definition of an alias. Unknown names in it are
// types without instances.
func (t *thread) alias(file *syntax.File, x syntax.Expr) (value.Value, error) {
	c := &compiler{file: file, vars: &vars{named: true}, lenient: true}
	n := c.expr(x)
	if err := t.climb(c.at(x), c.tallest); err != nil {
		return nil, err
	}
	defer t.descend(c.tallest)
	return n.eval(t, &Scope{named: t.in.top.named})
}

// compileExpr compiles an expression that has no variables around it.
func compileExpr(file *syntax.File, x syntax.Expr) node {
	c := &compiler{file: file, vars: &vars{named: true}}
	return c.expr(x)
}

// compileDefinition compiles the body of a definition.
func compileDefinition(d *Definition) *code {
	var file *syntax.File
	if d.Program != nil {
		file = d.Program.File
	}
	c := &compiler{file: file, vars: &vars{}, def: d}
	var k *code
	switch x := d.Node.(type) {
	case *syntax.Function:
		k = c.callable(x.Params, x.Returns, x.Body, false)
	case *syntax.Plan:
		k = c.callable(x.Params, nil, x.Body, false)
	case *syntax.Class:
		k = c.callable(x.Params, nil, x.Body, true)
	case *syntax.Define:
		k = c.callable(x.Params, nil, x.Body, true)
	case *syntax.NodeDef:
		k = c.callable(nil, nil, x.Body, true)
	default:
		k = &code{body: undefNode, misplaced: -1, taken: -1}
	}
	k.name, k.def, k.height = d.Name, d, c.tallest
	if d.Node != nil {
		k.at = c.at(d.Node)
	}
	return k
}

// compileTemplate compiles a template. Names that are given to the template but
// not declared in it are variables, too.
func compileTemplate(p *syntax.Program, epp *syntax.EPP, names []string) *code {
	c := &compiler{file: p.File, vars: &vars{loose: true}}
	k := &code{at: c.at(epp)}
	c.params(k, epp.Params)
	for _, name := range names {
		if c.vars.slot(name) < 0 {
			c.vars.add(name)
		}
	}
	k.body = c.block(epp.Body)
	c.finish(k)
	k.height = c.tallest
	return k
}

// callable compiles parameters and a body. If named is set, the body is the
// body of a named scope, and the slots are only for the defaults of parameters.
func (c *compiler) callable(params []*syntax.Param, returns syntax.Expr, body *syntax.Block, named bool) *code {
	k := &code{misplaced: -1, taken: -1}
	c.params(k, params)
	if returns != nil {
		k.typed = true
		k.returns = c.outside(returns)
	}
	if named {
		k.names = c.vars.names // of the parameters
		c.vars = &vars{named: true}
		k.body = c.block(body)
		return k
	}
	k.body = c.block(body)
	c.finish(k)
	return k
}

func (c *compiler) finish(k *code) {
	k.names = c.vars.names
	k.leaf = !c.vars.lambdas
}

// outside compiles an expression in the scope around the current one.
func (c *compiler) outside(x syntax.Expr) node {
	o := *c
	o.vars = c.vars.outer
	if o.vars == nil {
		o.vars = &vars{named: true, loose: c.vars.loose}
	}
	n := o.expr(x)
	c.tallest = o.tallest
	return n
}

// params compiles parameters into slots.
func (c *compiler) params(k *code, list []*syntax.Param) {
	c.vars.params = len(list)
	for _, p := range list {
		c.vars.add(p.Name)
	}
	k.plain, k.misplaced, k.taken = true, -1, -1
	k.params = make([]param, len(list))
	for i, p := range list {
		q := &k.params[i]
		*q = param{name: p.Name, at: c.at(p), rest: p.Rest, fixed: true}
		if reserved(p.Name) {
			k.plain, k.taken = false, i
		}
		if p.Type != nil {
			k.typed = true
			q.typ, q.fixed = c.outside(p.Type), constant(p.Type)
			if !q.fixed {
				k.plain = false
			}
		}
		if p.Value != nil {
			c.vars.defaults = true
			q.value, q.defaultAt = c.expr(p.Value), c.at(p.Value)
			c.vars.defaults = false
		}
		switch {
		case k.max < 0: // after *$rest, which takes all remaining arguments
			if k.misplaced < 0 {
				k.misplaced = i
			}
		case p.Rest:
			k.max, k.plain = -1, false
		case p.Value != nil:
			k.max++
			k.plain = false
		default:
			if k.max > k.min && k.misplaced < 0 {
				k.misplaced = i
			}
			k.max++
			k.min = k.max
		}
	}
}

// constant reports whether an expression of a type always has the same value.
func constant(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.TypeName, *syntax.Undef, *syntax.Default, *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Regexp, *syntax.Name:
		return true
	case *syntax.Neg:
		return constant(x.X)
	case *syntax.Paren:
		return constant(x.X)
	case *syntax.Index:
		return constant(x.X) && constants(x.Keys)
	case *syntax.List:
		return constants(x.Items)
	case *syntax.Hash:
		for i := range x.Entries {
			if !constant(x.Entries[i].Key) || !constant(x.Entries[i].Value) {
				return false
			}
		}
		return true
	}
	return false
}

func constants(list []syntax.Expr) bool {
	for _, x := range list {
		if !constant(x) {
			return false
		}
	}
	return true
}

// lambda compiles a lambda.
func (c *compiler) lambda(l *syntax.Lambda) *code {
	if l == nil {
		return nil
	}
	for v := c.vars; v != nil; v = v.outer {
		v.lambdas = true
	}
	in := &compiler{file: c.file, def: c.def, vars: &vars{outer: c.vars, loose: c.vars.loose}}
	k := in.callable(l.Params, l.Returns, l.Body, false)
	k.name, k.at, k.def, k.height = "lambda", c.at(l), c.def, in.tallest
	return k
}

// block compiles expressions one after another.
func (c *compiler) block(b *syntax.Block) node {
	if b == nil {
		return undefNode
	}
	list := make([]node, 0, len(b.Exprs))
	for i, x := range b.Exprs {
		n := c.expr(x)
		if _, is := n.(constNode); is && i < len(b.Exprs)-1 {
			continue // a definition, or an unused value
		}
		list = append(list, n)
	}
	switch len(list) {
	case 0:
		return undefNode
	case 1:
		return list[0]
	}
	return &blockNode{list}
}

// optional compiles an expression that can be absent.
func (c *compiler) optional(x syntax.Expr) node {
	switch x := x.(type) {
	case nil:
		return undefNode
	case *syntax.Block:
		return c.block(x)
	}
	return c.expr(x)
}

// exprs compiles expressions, each of which can be a splat.
func (c *compiler) exprs(list []syntax.Expr) items {
	var l items
	for _, x := range list {
		n, splat := c.item(x)
		l.nodes = append(l.nodes, n)
		if splat && l.splat == nil {
			l.splat = make([]bool, len(list))
		}
		if splat {
			l.at = c.at(x)
			l.splat[len(l.nodes)-1] = true
		}
	}
	return l
}

// item compiles an expression that can be a splat, with or without parentheses.
func (c *compiler) item(x syntax.Expr) (n node, splat bool) {
	for {
		switch y := x.(type) {
		case *syntax.Paren:
			x = y.X
			continue
		case *syntax.Splat:
			return c.expr(y.X), true
		}
		return c.expr(x), false
	}
}

// expr compiles an expression.
func (c *compiler) expr(x syntax.Expr) node {
	c.level++
	c.tallest = max(c.tallest, c.level)
	n := c.node(x)
	c.level--
	return n
}

func (c *compiler) node(x syntax.Expr) node {
	switch x := x.(type) {
	case nil, *syntax.Nop, *syntax.Undef:
		return undefNode
	case *syntax.Default:
		return constNode{value.Default{}}
	case *syntax.Bool:
		return constNode{value.Bool(x.Value)}
	case *syntax.Int:
		return constNode{value.Int(x.Value)}
	case *syntax.Float:
		return constNode{value.Float(x.Value)}
	case *syntax.Str:
		return constNode{value.String(x.Value)}
	case *syntax.Name:
		return constNode{value.String(x.Value)}
	case *syntax.RenderText:
		return &renderTextNode{c.at(x), x.Value}
	case *syntax.Regexp:
		r, err := value.NewRegexp(x.Source)
		if err != nil {
			return &failNode{c.at(x), "bad-regexp", err.Error()}
		}
		return constNode{r}
	case *syntax.TypeName:
		if t, ok := value.Builtin(lower(x.Value)); ok {
			return constNode{t}
		}
		return &typeNode{pos: c.at(x), name: x.Value, key: lower(x.Value), lenient: c.lenient, cache: c.cache()}
	case *syntax.Reserved:
		return &failNode{c.at(x), "reserved-word", "the word " + x.Word + " is reserved"}
	case *syntax.Var:
		return c.variable(x, x.Name)
	case *syntax.Concat:
		return c.concat(x)
	case *syntax.Text:
		return &concatNode{pos: c.at(x), parts: []node{c.text(x)}}
	case *syntax.Heredoc:
		text := c.expr(x.Text)
		if _, static := x.Text.(*syntax.Str); static || x.Syntax == "" {
			return text // package check has checked it
		}
		return &syntaxNode{c.at(x.Text), x.Syntax, text}
	case *syntax.List:
		return c.list(x)
	case *syntax.Hash:
		return c.hash(x)
	case *syntax.Not:
		return &notNode{c.expr(x.X)}
	case *syntax.Neg:
		return c.neg(x)
	case *syntax.Splat:
		return &splatNode{c.at(x), c.expr(x.X)}
	case *syntax.Paren:
		return c.expr(x.X)
	case *syntax.Binary:
		return c.binary(x)
	case *syntax.Assign:
		return c.assign(x)
	case *syntax.Relation:
		return &relationNode{c.at(x), x.Op, c.expr(x.X), c.expr(x.Y)}
	case *syntax.Index:
		return c.index(x)
	case *syntax.Call:
		return c.call(x)
	case *syntax.Method:
		return c.method(x)
	case *syntax.If:
		return &ifNode{c.expr(x.Cond), c.block(x.Then), c.optional(x.Else)}
	case *syntax.Unless:
		return &ifNode{&notNode{c.expr(x.Cond)}, c.block(x.Then), c.optional(x.Else)}
	case *syntax.Case:
		return c.caseOf(x)
	case *syntax.Selector:
		return c.selector(x)
	case *syntax.Block:
		return c.block(x)
	case *syntax.EPP:
		return c.block(x.Body)
	case *syntax.Render:
		return &renderNode{c.at(x), c.expr(x.X)}
	case *syntax.Resource, *syntax.Defaults, *syntax.Override, *syntax.Collect:
		return c.resource(x)
	case *syntax.Apply:
		return &applyNode{c.at(x), c.exprs(x.Args), x}
	case *syntax.Class, *syntax.Define, *syntax.NodeDef, *syntax.Function, *syntax.Plan, *syntax.TypeAlias, *syntax.TypeMapping:
		return undefNode // definitions are registered before the evaluation
	case *syntax.TypeDef:
		return &failNode{c.at(x), "unsupported", "types are defined with =, as type " + x.Name + " = Object[{…}]"}
	case *syntax.Lambda:
		return &failNode{c.at(x), "illegal-expression", "a lambda is not a value"}
	}
	return &failNode{c.at(x), "internal", "internal error: an expression that the evaluator does not know"}
}

// cache returns an empty cache.
func (c *compiler) cache() callCache { return callCache{many: c.def != nil && !c.def.own} }

func (c *compiler) variable(at syntax.Node, name string) node {
	p := c.at(at)
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		n := 0
		for _, d := range name {
			if d < '0' || d > '9' {
				return &failNode{p, "illegal-variable", "$" + name + " is not the name of a variable"}
			}
			if n = n*10 + int(d-'0'); n > 1<<20 {
				return undefNode
			}
		}
		return matchVar(n)
	}
	if qualified(name) {
		return &qualifiedVar{p, unrooted(name)}
	}
	up := 0
	for v := c.vars; v != nil; v = v.outer {
		if i := v.slot(name); i >= 0 && !v.named {
			if v.defaults && i < v.params {
				return &paramVar{p, name, up, i}
			}
			if up == 0 {
				return &slotVar{p, name, i}
			}
			return &outerVar{p, name, up, i}
		}
		if v.named {
			break
		}
		up++
	}
	if c.vars.loose {
		return &looseVar{p, name}
	}
	return &nameVar{p, name}
}

// unrooted returns the name of a qualified variable without leading ::.
func unrooted(name string) string {
	if len(name) > 2 && name[:2] == "::" {
		return name[2:]
	}
	return name
}

func qualified(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i] == ':' && name[i-1] == ':' {
			return true
		}
	}
	return false
}

// assign compiles an assignment. It compiles the value first, because the value
// does not see the variable.
func (c *compiler) assign(x *syntax.Assign) node {
	if x.Op != syntax.Set {
		return &failNode{c.at(x), "unsupported-operator", "the operator " + x.Op.String() + " is not part of the language any more"}
	}
	y := c.expr(x.Y)
	return &assignNode{c.at(x), c.target(x.X, x), y, c.at(x.Y)}
}

// target compiles the left side of an assignment.
func (c *compiler) target(x syntax.Expr, whole *syntax.Assign) target {
	switch x := x.(type) {
	case *syntax.Var:
		t := target{at: c.at(x), name: x.Name, slot: -1}
		switch {
		case x.Name != "" && x.Name[0] >= '0' && x.Name[0] <= '9':
			t.fault, t.why = "numeric-assignment", "$"+x.Name+" is set by regular expressions and cannot be assigned"
		case qualified(x.Name):
			t.fault, t.why = "cross-scope-assignment", "$"+x.Name+" is in another scope and cannot be assigned"
		case reserved(x.Name):
			t.fault, t.why = "reserved-variable", "$"+x.Name+" is reserved and cannot be assigned"
		case c.vars.defaults:
			t.fault, t.why = "assignment-in-parameters", "$"+x.Name+" cannot be assigned in the default of a parameter"
		case !c.vars.named:
			if t.slot = c.vars.slot(x.Name); t.slot < 0 {
				t.slot = c.vars.add(x.Name)
			}
		}
		return t
	case *syntax.List:
		t := target{at: c.at(x), list: []target{}}
		for _, y := range x.Items {
			t.list = append(t.list, c.target(y, whole))
		}
		return t
	}
	return target{at: c.at(x), fault: "illegal-assignment", why: "only variables, and lists of them, can be assigned"}
}

func reserved(name string) bool {
	return name == "facts" || name == "trusted" || name == "server_facts"
}
