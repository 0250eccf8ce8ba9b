package rollout

import (
	"bytes"
	"encoding/json"
	"io"
)

// The first event of a log has most of the text of a rollout that has just begun: its nodes. They are flat objects
// unless the strategy reads facts, so they are read apart from the rest of the event.

// beforeNodes stands before the nodes in the event, as Encode writes it: at the end of the digest of the strategy.
const beforeNodes = `","nodes":[`

// fastCreated reads a Created event whose nodes are flat. data begins with the key after "type". It returns nil for all other
// texts, which are left to encoding/json.
func fastCreated(data []byte) *Created {
	head, list, found := bytes.Cut(data, []byte(beforeNodes))
	if !found {
		return nil
	}
	nodes, tail, ok := flatNodes(list)
	if !ok {
		return nil
	}
	c := new(Created)
	dec := json.NewDecoder(io.MultiReader(bytes.NewReader([]byte{'{'}), bytes.NewReader(head), bytes.NewReader([]byte(`","nodes":null`)), bytes.NewReader(tail)))
	dec.DisallowUnknownFields()
	// Without the digest before it, the list was a parameter of the strategy.
	if dec.Decode(c) != nil || c.StrategyDigest == "" || c.Nodes != nil || !bytes.HasSuffix(head, []byte(c.StrategyDigest)) {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	c.Nodes = nodes
	return c
}

// flatNodes reads a list of nodes behind its opening bracket, and returns the text after its end.
func flatNodes(data []byte) (nodes []Node, rest []byte, ok bool) {
	nodes = make([]Node, 0, bytes.Count(data, []byte(`{"name":`)))
	var last Node // most nodes have the same releases, which are stored once
	for {
		end := objectEnd(data)
		if end < 0 {
			return nil, nil, false
		}
		var n Node
		if !flat(data[1:end], func(key []byte, v value) bool {
			switch string(key) {
			case "name":
				return v.text(&n.Name)
			case "release":
				return v.same(&n.Release, last.Release)
			case "catalog":
				return v.text(&n.Catalog)
			case "previous":
				return v.same(&n.Previous, last.Previous)
			case "previous_catalog":
				return v.same(&n.PreviousCatalog, n.Catalog)
			case "unhealthy":
				return v.truth(&n.Unhealthy)
			case "uncertain":
				return v.truth(&n.Uncertain)
			}
			return false
		}) {
			return nil, nil, false
		}
		nodes = append(nodes, n)
		last = n
		switch data = data[end:]; {
		case len(data) > 0 && data[0] == ',':
			data = data[1:]
		case len(data) > 0 && data[0] == ']':
			return nodes, data[1:], true
		default:
			return nil, nil, false
		}
	}
}

// objectEnd returns the length of the flat object at the beginning of a text, -1 if there is none. Strings with braces
// mislead it. flat then refuses the object.
func objectEnd(data []byte) int {
	if len(data) == 0 || data[0] != '{' {
		return -1
	}
	if end := bytes.IndexByte(data, '}'); end >= 0 {
		return end + 1
	}
	return -1
}

// same is text for a value that is often equal to another string.
func (v value) same(to *string, other string) bool {
	if string(v.bytes) == other {
		*to = other
		return v.quoted
	}
	return v.text(to)
}
