// Package graph draws plans: their steps and the order of the steps.
//
// [Of] splits a plan's program into nodes. A node is a step, a decision with its
// branches, a frame around other nodes (a loop, parallelize, catch_errors …) or an
// end. Expressions that act on nothing are left out, and so is code after an end.
// [Graph.WriteDot] writes the nodes in the language of Graphviz, [Graph.WriteSVG]
// draws them itself.
//
// Nothing is evaluated: nodes contain the text of the plan. If an expression
// becomes a Sensitive, only its variables are shown.
package graph

import "io"

// A Graph is a plan as a graph of nodes.
type Graph struct {
	Plan string // its name
	// Body contains the nodes of the plan in order. Its first node is a Start, its
	// last one an end.
	Body []*Node
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int // from 1
}

// A Kind is the kind of a node.
type Kind uint8

// These are the kinds of nodes. Loop to Subplan are frames: they have a body.
const (
	Start    Kind = iota // of the plan
	Step                 // a call that acts on targets, or of a plan
	Say                  // a call that only prints, prompts or waits
	Decision             // if, unless, case, a selector, and, or, then, lest
	Return               // ends the plan, or the branch that runs concurrently
	Fail                 // ends the plan with an error
	Jump                 // next or break: ends one call of a block, or all of them
	End                  // the end of a plan that has no return
	Loop                 // its body is called for each element, or until it returns true
	Parallel             // its body is called for all elements concurrently
	Aside                // its body runs concurrently with the next nodes, until a node waits for it
	Catch                // an error in its body ends only the body
	Block                // its body is called once
	Subplan              // its body is the called plan
)

// A Node is a part of a plan. All strings are on one line and have no control
// characters.
type Node struct {
	Kind Kind
	// Name is the function or keyword: run_command, if, return.
	Name string
	// Result is the variable that gets its value: "$r", or "".
	Result string
	// Object is the object of the node: the command that it runs, the message that
	// it prints, the value that it returns, or the condition of a decision. The
	// Object of a frame is its call.
	Object      string
	Description string
	Targets     string
	Arguments   []string // of a task or plan: "name => 'nginx'"
	Options     []string // "_serial => 5"
	Code        string   // the whole code, without the bodies of frames and branches
	Place       Place

	Branches []Branch // of a Decision, two or more
	Body     []*Node  // of a frame
	// Waits are the nodes of the kind Aside that must have ended before this node
	// ends.
	Waits []*Node

	flow
}

// A Branch is a branch of a decision. If it has no nodes, it leads to the next
// node.
type Branch struct {
	Label string
	Body  []*Node
}

// A flow describes how nodes continue.
type flow struct {
	ends   bool // nothing follows in the same block
	leaves bool // nothing follows in the same plan
	acts   bool // it contains more than a Jump
}

// flowOf returns the flow of consecutive nodes, of which the last one may be an
// end.
func flowOf(list []*Node) flow {
	var f flow
	for _, n := range list {
		f.acts = f.acts || n.acts
	}
	if len(list) > 0 {
		last := list[len(list)-1]
		f.ends, f.leaves = last.ends, last.leaves
	}
	return f
}

// settle sets the flow of a complete node.
func (n *Node) settle() {
	switch n.Kind {
	case Start:
		n.flow = flow{}
	case Return, Fail, End:
		n.flow = flow{ends: true, leaves: true, acts: true}
	case Jump:
		n.flow = flow{ends: true}
	case Decision:
		n.flow = flow{ends: true, leaves: true}
		for _, b := range n.Branches {
			f := flowOf(b.Body)
			n.ends, n.leaves, n.acts = n.ends && f.ends, n.leaves && f.leaves, n.acts || f.acts
		}
	case Block:
		f := flowOf(n.Body)
		n.flow = flow{ends: f.leaves, leaves: f.leaves, acts: f.acts}
	case Loop:
		f := flowOf(n.Body)
		always := n.Name == doUntil && f.leaves // other loops may have no element
		n.flow = flow{ends: always, leaves: always, acts: f.acts}
	default:
		n.flow = flow{acts: true}
	}
}

// frame reports whether a node has a body.
func (n *Node) frame() bool { return n.Kind >= Loop }

// These are the formats of Write.
const (
	formatDot = "dot"
	formatSVG = "svg"
)

// Formats returns the formats of Write, the default first.
func Formats() []string { return []string{formatDot, formatSVG} }

// Write writes the graph in one of Formats. "" stands for the default. The error is w's.
func (g *Graph) Write(w io.Writer, format string) error {
	if format == formatSVG {
		return g.WriteSVG(w)
	}
	return g.WriteDot(w)
}
