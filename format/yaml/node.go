package yaml

import (
	"bytes"
	"errors"
	"io"

	yamlv4 "go.yaml.in/yaml/v4"

	"bolt/format/ordered"
)

// A Node is a value with its position and style in the text. It is for formats in
// which 'a' and "a" have different meanings.
type Node struct {
	Line, Column int // from 1
	Offset       int // in bytes
	Style        Style
	Text         string  // of a scalar: its text without quotes and escapes
	Value        any     // of a scalar: the value that Decode returns
	Items        []*Node // of a list
	Pairs        []Pair  // of a mapping, in order, including equal keys
}

// A Pair is one key of a mapping, which is a scalar, with its value.
type Pair struct{ Key, Value *Node }

// A Style is the style of a node in the text.
type Style uint8

// The styles of scalars, and the two collections.
const (
	Plain        Style = iota
	SingleQuoted       // or with a tag
	DoubleQuoted
	Literal // |
	Folded  // >
	List
	Mapping
)

// DecodeNodes is Decode for callers that need positions and styles. It returns nil if
// the text has no document. Merge keys (<<) are ordinary keys.
func DecodeNodes(data []byte, file string) (*Node, error) { return decodeNodes(data, file, false) }

// DecodeTextNodes is DecodeNodes for formats with dates and times. Dates and times without quotes
// are strings; DecodeNodes returns an error for them. A second document is an error.
func DecodeTextNodes(data []byte, file string) (*Node, error) { return decodeNodes(data, file, true) }

func decodeNodes(data []byte, file string, times bool) (*Node, error) {
	if crowded(data) {
		return nil, tooCrowded(file)
	}
	var doc yamlv4.Node
	documents := yamlv4.NewDecoder(bytes.NewReader(data))
	err := documents.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, syntaxError(err, data, file)
	}
	if times {
		var second yamlv4.Node
		switch err := documents.Decode(&second); {
		case err == nil:
			return nil, withLine(&Error{File: file, Line: second.Line, Column: second.Column, Problem: "a second document, and only one is allowed"}, data)
		case !errors.Is(err, io.EOF):
			return nil, syntaxError(err, data, file)
		}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	d := nodeDecoder{decoder: decoder{file: file}, times: times, cursor: begin(data)}
	n, err := d.node(doc.Content[0], 0)
	return n, withLine(err, data)
}

// A nodeDecoder visits the nodes in the order of the text, and moves its cursor
// through the text.
type nodeDecoder struct {
	decoder
	times bool // whether dates and times are strings
	cursor
}

func (d *nodeDecoder) node(n *yamlv4.Node, depth int) (*Node, error) {
	node := &Node{Line: n.Line, Column: n.Column, Offset: d.offset(n.Line, n.Column)}
	if err := d.foreign(n); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, d.fail(n, "collections are nested deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yamlv4.SequenceNode:
		node.Style = List
		for _, c := range n.Content {
			item, err := d.node(c, depth+1)
			if err != nil {
				return nil, err
			}
			node.Items = append(node.Items, item)
		}
		return node, nil
	case yamlv4.MappingNode:
		node.Style = Mapping
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, err := d.node(n.Content[i], depth+1)
			if err != nil {
				return nil, err
			}
			if k.Style == List || k.Style == Mapping {
				return nil, d.fail(n.Content[i], "a collection cannot be a key here")
			}
			v, err := d.node(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			node.Pairs = append(node.Pairs, Pair{k, v})
		}
		return node, nil
	}
	if d.times && n.Kind == yamlv4.ScalarNode && n.Style == 0 && (timeLike().MatchString(n.Value) || dateLike().MatchString(n.Value)) {
		node.Text, node.Value = n.Value, n.Value
		return node, nil
	}
	v, err := d.value(n, depth)
	if err != nil {
		return nil, err
	}
	node.Text, node.Value, node.Style = n.Value, v, styleOf(n)
	return node, nil
}

func styleOf(n *yamlv4.Node) Style {
	switch {
	case n.Style&yamlv4.DoubleQuotedStyle != 0:
		return DoubleQuoted
	case n.Style&yamlv4.LiteralStyle != 0:
		return Literal
	case n.Style&yamlv4.FoldedStyle != 0:
		return Folded
	case n.Style&(yamlv4.SingleQuotedStyle|yamlv4.TaggedStyle) != 0:
		return SingleQuoted
	}
	return Plain
}

// Data returns the value that Decode returns for the node, except that merge keys are
// ordinary keys.
func (n *Node) Data() any {
	switch n.Style {
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Data()
		}
		return list
	case Mapping:
		m := &ordered.Map{}
		for _, p := range n.Pairs {
			m.Set(keyText(p.Key.Value), p.Value.Data())
		}
		return m
	}
	return n.Value
}
