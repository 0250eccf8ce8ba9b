package graph

import (
	"fmt"
	"strings"
)

// A tone is the style of a line of a node.
type tone uint8

const (
	strong tone = iota // the function or keyword
	plain              // the object
	faint              // details
)

// A line is a line of text in a node.
type line struct {
	text string
	tone tone
}

// lines returns the lines of a node.
func (n *Node) lines() []line {
	var list []line
	add := func(t tone, prefix, text string) {
		if text != "" {
			list = append(list, line{prefix + text, t})
		}
	}
	head := n.Name
	if n.Result != "" {
		head = n.Result + " = " + head
	}
	switch {
	case n.Name == "and" || n.Name == "or":
		add(strong, "", n.Object+" "+n.Name+" "+hidden)
		return list
	case n.Kind == Decision && (n.Name == "then" || n.Name == "lest"):
		add(strong, "", n.Object)
		return list
	case n.Kind == Decision:
		add(strong, "", head+" "+n.Object)
		return list
	case n.frame() && n.Kind != Subplan:
		add(strong, strings.TrimSuffix(head, n.Name), n.Object)
		return list
	case n.Kind == Start || n.Kind == Return || n.Kind == Fail || n.Kind == Jump:
		add(strong, "", strings.TrimSpace(head+" "+n.Object))
		return list
	}
	add(strong, "", head)
	add(plain, "", n.Object)
	add(faint, "", n.Description)
	add(faint, "on ", n.Targets)
	add(faint, "", strings.Join(n.Arguments, ", "))
	add(faint, "", strings.Join(n.Options, ", "))
	return list
}

// note returns all details of a node, for its tooltip.
func (n *Node) note() string { return n.Code + "\n" + n.Place.String() }

// String returns "file:line".
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }
