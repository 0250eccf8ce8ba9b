package graph

import (
	"slices"
	"strings"

	"bolt/puppet/syntax"
)

// A call is a call of a function in any notation.
type call struct {
	x      syntax.Expr
	name   string
	args   []syntax.Expr
	lambda *syntax.Lambda // or nil
}

// nameOf returns the name of a function, "" if x is not a name.
func nameOf(x syntax.Expr) string {
	if n, is := x.(*syntax.Name); is {
		return strings.TrimPrefix(n.Value, "::")
	}
	return ""
}

// call returns the nodes of a call's arguments, and the node of the call.
func (b *builder) call(c call, result string) []*Node {
	var list []*Node
	for _, x := range c.args {
		list = append(list, b.nodes(x, "")...)
	}
	if list = cut(list); ended(list) {
		return list
	}
	if s, is := signatureOf(c); is {
		list = append(list, b.leaf(c, s, result))
	}
	if c.lambda != nil {
		list = append(list, b.around(c, result)...)
	}
	return cut(list)
}

// leaf returns the node of a call that is drawn by itself.
func (b *builder) leaf(c call, s signature, result string) *Node {
	n := b.node(c.x, s.kind, c.name, result)
	n.Code = b.whole(c)
	var objects []string
	rest := 0
	for _, i := range s.object {
		rest = max(rest, i+1)
		if i < len(c.args) && !(s.kind == Say && isHash(c.args[i])) {
			objects = append(objects, b.label(c.args[i]))
		}
	}
	n.Object = strings.Join(objects, " → ")
	if i := s.targets; i >= 0 && i < len(c.args) && !isHash(c.args[i]) {
		n.Targets = b.text(c.args[i])
		rest = max(rest, i+1)
	}
	if s.kind == Step && rest < len(c.args) {
		b.options(n, c.args[rest:])
	}
	switch c.name {
	case "wait":
		n.Waits = b.waitedFor(c.args)
	case "run_plan":
		b.nest(n, c)
	}
	n.settle()
	return n
}

func isHash(x syntax.Expr) bool {
	_, is := x.(*syntax.Hash)
	return is
}

// options reads the arguments after the targets: a description, and a hash with
// arguments and options.
func (b *builder) options(n *Node, args []syntax.Expr) {
	switch args[0].(type) {
	case *syntax.Str, *syntax.Concat, *syntax.Heredoc:
		n.Description = b.label(args[0])
		args = args[1:]
	}
	for _, x := range args {
		h, is := x.(*syntax.Hash)
		if !is {
			n.Arguments = append(n.Arguments, b.text(x))
			continue
		}
		for i := range h.Entries {
			b.option(n, &h.Entries[i])
		}
	}
}

func (b *builder) option(n *Node, e *syntax.Entry) {
	key, is := e.Key.(*syntax.Str)
	switch {
	case !is || b.secret[e.Key]:
		n.Arguments = append(n.Arguments, b.text(e.Key)+" => "+b.text(e.Value))
	case key.Value == "_description":
		n.Description = b.label(e.Value)
	case strings.HasPrefix(key.Value, "_"):
		n.Options = append(n.Options, clean(key.Value)+" => "+b.text(e.Value))
	default:
		n.Arguments = append(n.Arguments, clean(key.Value)+" => "+b.text(e.Value))
	}
}

// waitedFor returns the nodes that a call of wait waits for: the futures in the
// variables of its first argument, or all.
func (b *builder) waitedFor(args []syntax.Expr) []*Node {
	var names []string
	if len(args) > 0 && !isHash(args[0]) {
		syntax.Walk(args[0], func(n syntax.Node) bool {
			if v, is := n.(*syntax.Var); is {
				names = append(names, v.Name)
			}
			return n != nil
		})
	}
	var waited, running []*Node
	for _, n := range b.running {
		if names == nil || slices.ContainsFunc(b.futures[n], func(name string) bool { return slices.Contains(names, name) }) {
			waited = append(waited, n)
		} else {
			running = append(running, n)
		}
	}
	b.running = running
	return waited
}

// nest makes the call of a plan a frame that contains the steps of that plan.
func (b *builder) nest(n *Node, c call) {
	if b.o.Subplan == nil || b.err != nil || len(c.args) == 0 {
		return
	}
	s, is := c.args[0].(*syntax.Str)
	if !is || b.secret[s] {
		return
	}
	name := strings.TrimPrefix(s.Value, "::")
	if b.drawn[name] {
		return
	}
	b.drawn[name] = true
	program, err := b.o.Subplan(name)
	if err != nil {
		b.err = err
	}
	if err != nil || program == nil {
		return
	}
	plan := definition(program, name)
	if plan == nil {
		return
	}
	b.enter(program, func() { n.Body = b.block(plan.Body) })
	if len(n.Body) > 0 {
		n.Kind = Subplan
	}
}

// around returns the node of a call with a block, if the block has steps.
func (b *builder) around(c call, result string) []*Node {
	kind, known := frames[c.name]
	if !known {
		kind = Block
	}
	n := b.node(c.x, kind, c.name, result)
	n.Body = b.block(c.lambda.Body)
	if !flowOf(n.Body).acts {
		return nil
	}
	n.Object, n.Code = b.head(c), b.whole(c)
	switch {
	case c.name == "then" || c.name == "lest":
		return []*Node{b.defined(n, c)}
	case kind == Aside:
		b.asides, b.running = append(b.asides, n), append(b.running, n)
	}
	n.settle()
	if c.name == "with" && result == "" && !jumps(n.Body) {
		return n.Body
	}
	return []*Node{n}
}

// jumps reports whether nodes contain a node that ends a block.
func jumps(list []*Node) bool {
	for _, n := range list {
		if n.Kind == Jump || n.Kind == Block && jumps(n.Body) {
			return true
		}
		for _, b := range n.Branches {
			if jumps(b.Body) {
				return true
			}
		}
	}
	return false
}

// defined returns the decision of then and lest: whether there is a value.
func (b *builder) defined(n *Node, c call) *Node {
	n.Kind, n.Object = Decision, "undef"
	if len(c.args) > 0 {
		n.Object = b.text(c.args[0]) + " == undef"
	}
	n.Branches = []Branch{{"yes", n.Body}, {"no", nil}}
	if c.name == "then" {
		n.Branches = []Branch{{"no", n.Body}, {"yes", nil}}
	}
	n.Body = nil
	n.settle()
	return n
}

// apply returns the nodes of an apply block, whose code runs on targets.
func (b *builder) apply(x *syntax.Apply, result string) []*Node {
	var list []*Node
	for _, arg := range x.Args {
		list = append(list, b.nodes(arg, "")...)
	}
	n := b.node(x, Step, "apply", result)
	n.Object, n.Code = b.text(x.Body), b.text(x)
	if len(x.Args) > 0 && !isHash(x.Args[0]) {
		n.Targets = b.text(x.Args[0])
	}
	if len(x.Args) > 1 {
		b.options(n, x.Args[1:])
	}
	n.settle()
	return cut(append(list, n))
}
