// Package graph pictures plans: which steps there are, and in what order.
//
// [Of] takes a plan's program apart into nodes. A node is a step, a decision with
// its branches, a frame around others (a loop, parallelize, catch_errors …) or an
// end. What acts on nothing is left out, and so is what comes behind an end.
// [Graph.WriteDot] writes them in the language of Graphviz, [Graph.WriteSVG] draws
// them itself.
//
// Nothing is evaluated: what the nodes say is the text of the plan. Of what a
// Sensitive is made of, variables alone are shown.
package graph

import "io"

// A Graph is a plan as a picture.
type Graph struct {
	Plan string // its name
	// Body is what the plan does, one after the other. Its first node is a Start,
	// its last one an end.
	Body []*Node
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int // from 1
}

// A Kind is what a node is.
type Kind uint8

// The kinds of nodes. Loop to Subplan are frames: they have a body.
const (
	Start    Kind = iota // of the plan
	Step                 // a call that acts on targets, or of a plan
	Say                  // a call that only tells, asks or waits
	Decision             // if, unless, case, a selector, and, or, then, lest
	Return               // ends the plan, or the branch that is run beside others
	Fail                 // ends the plan with an error
	Jump                 // next or break: ends one turn of a block, or all of them
	End                  // of a plan that says nothing of it
	Loop                 // its body is called for each element, or until it returns true
	Parallel             // its body is called for all elements at once
	Aside                // its body runs beside what follows, until a node waits for it
	Catch                // an error in its body ends the body alone
	Block                // its body is called once
	Subplan              // its body is the plan that is called
)

// A Node is a piece of a plan. All texts are on one line and without control
// characters.
type Node struct {
	Kind Kind
	// Name is the function or the word: run_command, if, return.
	Name string
	// Result is the variable that gets its value: "$r", or "".
	Result string
	// Object is what is run, said, returned or decided by; of a frame it is what is
	// called for what.
	Object      string
	Description string
	Targets     string
	Arguments   []string // of a task or plan: "name => 'nginx'"
	Options     []string // "_serial => 5"
	Code        string   // all of it, without the bodies of frames and branches
	Place       Place

	Branches []Branch // of a Decision, two or more
	Body     []*Node  // of a frame
	// Waits are the nodes of the kind Aside that have come to their end before
	// this one has.
	Waits []*Node

	flow
}

// A Branch is one way to go on from a decision. Without nodes it leads to what
// follows.
type Branch struct {
	Label string
	Body  []*Node
}

// A flow says what nodes lead to.
type flow struct {
	ends   bool // nothing follows in the same block
	leaves bool // nothing follows in the same plan
	acts   bool // there is more to it than a Jump
}

// flowOf is the flow of nodes one after the other, of which the last may end.
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

// settle fills in the flow of a node that is complete.
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
		always := n.Name == doUntil && f.leaves // others may have no element
		n.flow = flow{ends: always, leaves: always, acts: f.acts}
	default:
		n.flow = flow{acts: true}
	}
}

// frame reports whether a node has a body.
func (n *Node) frame() bool { return n.Kind >= Loop }

// The formats of Write.
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
