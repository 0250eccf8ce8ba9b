package graph

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/syntax"
)

// Options configure a Graph.
type Options struct {
	// Dir is a directory. Files below it are shown with their path relative to
	// it, so that the picture does not depend on the machine.
	Dir string
	// Subplan returns the program that defines a plan, nil if there is none.
	// With it, a call of a plan by a literal name becomes a frame with the steps
	// of that plan; each plan becomes a frame only once. Of returns an error of
	// Subplan.
	Subplan func(name string) (*syntax.Program, error)
}

// Of returns the graph of the named plan, which program must define.
func Of(program *syntax.Program, name string, o Options) (*Graph, error) {
	plan := definition(program, name)
	if plan == nil {
		return nil, fmt.Errorf("picture of the plan %s: the program does not define it", name)
	}
	b := &builder{o: o, drawn: map[string]bool{name: true}}
	g := &Graph{Plan: name}
	b.enter(program, func() {
		start := b.node(plan, Start, "plan", "")
		start.Object, start.Code = name, "plan "+name
		g.Body = append([]*Node{start}, b.block(plan.Body)...)
		if !ended(g.Body) {
			end := &Node{Kind: End, Name: "end", Code: "end of " + name, Place: start.Place, Waits: b.running}
			end.settle()
			g.Body = append(g.Body, end)
		}
	})
	return g, b.err
}

func definition(program *syntax.Program, name string) *syntax.Plan {
	for _, x := range program.Definitions {
		if p, is := x.(*syntax.Plan); is && p.Name == name {
			return p
		}
	}
	return nil
}

// A builder makes nodes of a program's expressions.
type builder struct {
	o     Options
	drawn map[string]bool // plans by name
	err   error           // the first error

	// The following fields belong to the plan that is being drawn.
	file    *syntax.File
	secret  map[syntax.Node]bool // the expressions that a Sensitive is made from
	asides  []*Node              // all nodes that run concurrently, so far
	running []*Node              // asides that no node waits for yet
	futures map[*Node][]string   // variables that contain their futures
}

// enter draws a program independently of the program around it.
func (b *builder) enter(program *syntax.Program, draw func()) {
	outer := *b
	b.file, b.secret, b.asides, b.running, b.futures = program.File, secrets(program), nil, nil, map[*Node][]string{}
	draw()
	b.file, b.secret, b.asides, b.running, b.futures = outer.file, outer.secret, outer.asides, outer.running, outer.futures
}

// block returns the nodes of consecutive expressions, up to a node that ends the
// block.
func (b *builder) block(block *syntax.Block) []*Node {
	if block == nil {
		return nil
	}
	var list []*Node
	for _, x := range block.Exprs {
		list = append(list, b.nodes(x, "")...)
		if ended(list) {
			break
		}
	}
	return list
}

// ended reports whether the last node ends the block. list must be cut.
func ended(list []*Node) bool { return len(list) > 0 && list[len(list)-1].ends }

// cut removes the nodes after an end.
func cut(list []*Node) []*Node {
	if i := slices.IndexFunc(list, func(n *Node) bool { return n.ends }); i >= 0 {
		return list[:i+1]
	}
	return list
}

// nodes returns the nodes of an expression, in the order of evaluation. result
// is the variable that gets its value.
func (b *builder) nodes(n syntax.Node, result string) []*Node {
	switch x := n.(type) {
	case *syntax.Paren:
		return b.nodes(x.X, result)
	case *syntax.Block:
		return b.block(x)
	case *syntax.Assign:
		return b.assign(x)
	case *syntax.Binary:
		return b.binary(x)
	case *syntax.Call:
		return b.call(call{x, nameOf(x.Func), x.Args, x.Lambda}, result)
	case *syntax.Method:
		return b.call(call{x, nameOf(x.Func), append([]syntax.Expr{x.X}, x.Args...), x.Lambda}, result)
	case *syntax.Apply:
		return b.apply(x, result)
	case *syntax.If:
		no := b.branch(x.Else)
		return b.decision(x, "if", x.Cond, result, Branch{"yes", b.block(x.Then)}, Branch{"no", no})
	case *syntax.Unless:
		no := b.block(x.Then)
		return b.decision(x, "unless", x.Cond, result, Branch{"no", no}, Branch{"yes", b.branch(x.Else)})
	case *syntax.Case:
		return b.cases(x, result)
	case *syntax.Selector:
		return b.selector(x, result)
	case *syntax.Lambda, *syntax.Class, *syntax.Define, *syntax.Function, *syntax.Plan, *syntax.NodeDef:
		return nil // it is not evaluated here
	}
	return b.parts(n)
}

// parts returns the nodes of the parts of an expression.
func (b *builder) parts(n syntax.Node) []*Node {
	var list []*Node
	syntax.Walk(n, func(part syntax.Node) bool {
		if part == nil || part == n {
			return part != nil
		}
		list = append(list, b.nodes(part, "")...)
		return false
	})
	return cut(list)
}

func (b *builder) branch(x syntax.Expr) []*Node {
	switch x := x.(type) {
	case nil:
		return nil
	case *syntax.Block:
		return b.block(x)
	}
	return b.nodes(x, "")
}

// assign records which futures a variable contains.
func (b *builder) assign(x *syntax.Assign) []*Node {
	before := len(b.asides)
	list := b.nodes(x.Y, b.text(x.X))
	if v, is := x.X.(*syntax.Var); is {
		for _, n := range b.asides[before:] {
			b.futures[n] = append(b.futures[n], v.Name)
		}
	}
	return list
}

// binary returns the nodes of a binary expression. If the second operand of and
// or or has nodes, the expression is a decision.
func (b *builder) binary(x *syntax.Binary) []*Node {
	first := b.nodes(x.X, "")
	second := b.nodes(x.Y, "")
	if len(second) == 0 || x.Op != syntax.And && x.Op != syntax.Or {
		return cut(append(first, second...))
	}
	n := b.node(x, Decision, x.Op.String(), "")
	n.Object = b.text(x.X)
	n.Code = n.Object + " " + n.Name + " …"
	n.Branches = []Branch{{"yes", second}, {"no", nil}}
	if x.Op == syntax.Or {
		n.Branches = []Branch{{"no", second}, {"yes", nil}}
	}
	n.settle()
	return cut(append(first, n))
}

// decision returns the nodes of a decision by a condition. If no branch has
// nodes, it returns only the nodes of the condition.
func (b *builder) decision(x syntax.Expr, word string, cond syntax.Expr, result string, branches ...Branch) []*Node {
	list := b.nodes(cond, "")
	if !slices.ContainsFunc(branches, func(b Branch) bool { return len(b.Body) > 0 }) {
		return list
	}
	n := b.node(x, Decision, word, result)
	n.Object = b.text(cond)
	n.Code = word + " " + n.Object
	n.Branches = branches
	n.settle()
	return cut(append(list, n))
}

func (b *builder) cases(x *syntax.Case, result string) []*Node {
	var branches []Branch
	others := true
	for _, o := range x.Options {
		labels := make([]string, len(o.Values))
		for i, v := range o.Values {
			labels[i] = b.text(v)
			_, is := v.(*syntax.Default)
			others = others && !is
		}
		branches = append(branches, Branch{strings.Join(labels, ", "), b.block(o.Then)})
	}
	if others {
		branches = append(branches, Branch{"others", nil})
	}
	return b.decision(x, "case", x.X, result, idleLast(branches)...)
}

// selector is like cases; a value without a matching option is an error of the
// plan.
func (b *builder) selector(x *syntax.Selector, result string) []*Node {
	branches := make([]Branch, len(x.Options))
	for i, o := range x.Options {
		branches[i] = Branch{b.text(o.Key), b.nodes(o.Value, "")}
	}
	branches = idleLast(branches)
	if len(branches) == 1 {
		return append(b.nodes(x.X, ""), branches[0].Body...)
	}
	return b.decision(x, "case", x.X, result, branches...)
}

// idleLast merges all branches without nodes into one, the last.
func idleLast(branches []Branch) []Branch {
	var list []Branch
	var idle []string
	for _, b := range branches {
		if len(b.Body) > 0 {
			list = append(list, b)
		} else {
			idle = append(idle, b.Label)
		}
	}
	if idle != nil {
		list = append(list, Branch{strings.Join(idle, ", "), nil})
	}
	return list
}

// node makes a node for an expression.
func (b *builder) node(x syntax.Node, kind Kind, name, result string) *Node {
	return &Node{Kind: kind, Name: name, Result: result, Place: b.place(x)}
}

func (b *builder) place(x syntax.Node) Place {
	at := b.file.Position(x.At().Off)
	file := at.File
	if b.o.Dir != "" {
		file = strings.TrimPrefix(file, strings.TrimSuffix(b.o.Dir, "/")+"/")
	}
	return Place{File: file, Line: at.Line}
}
