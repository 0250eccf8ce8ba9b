package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"slices"

	yamlv4 "go.yaml.in/yaml/v4"

	"bolt/format/ordered"
)

// Pairs is a mapping with keys that are not strings, in order. No two keys are
// equal.
type Pairs struct {
	keys, values []any
	index        map[any]int
}

// All iterates over the pairs.
func (p *Pairs) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		for i, k := range p.keys {
			if !yield(k, p.values[i]) {
				return
			}
		}
	}
}

// Symbol is a symbol (":name") that is not the key of a mapping.
type Symbol string

// SymbolName returns the name without the colon.
func (s Symbol) SymbolName() string { return string(s) }

// maxAliased limits the number of values that aliases repeat, so that a short text
// cannot use up the memory.
const maxAliased = 1 << 20

// maxMarks limits the number of commas, line ends and brackets in data. Between each
// two, there can be a value, and the library creates a node of about 200 bytes for
// each value before Decode can count them.
const maxMarks = 3_000_000

// crowded reports whether a text can have too many values.
func crowded(data []byte) bool {
	if len(data) <= maxMarks {
		return false
	}
	n := 0
	for _, mark := range []byte(",\n[{") {
		n += bytes.Count(data, []byte{mark})
	}
	return n > maxMarks
}

func tooCrowded(file string) error {
	return &Error{File: file, Problem: fmt.Sprintf("there are more than %d commas, lines and brackets: that is more data than a file may have", maxMarks)}
}

// DecodeData is Decode for data files of Puppet, which Puppet loads with fewer
// restrictions. Aliases (*name) are allowed. A symbol is a Symbol, or a string if it
// is the key of a mapping. A mapping with keys that are not strings is a *Pairs with
// these keys. Binary data is []byte.
func DecodeData(data []byte, file string) (any, error) {
	v, _, err := decodeData(data, file)
	return v, err
}

// DecodeLocated is DecodeData that also returns the positions of values. at returns
// the line and column, from 1, of the value at a path of keys and indexes. If the
// value does not exist, at returns the position of its closest existing parent. The
// position of a value in a mapping is the position of its key.
func DecodeLocated(data []byte, file string) (v any, at func(path ...any) (line, column int), err error) {
	v, doc, err := decodeData(data, file)
	if err != nil {
		return nil, nil, err
	}
	return v, func(path ...any) (int, int) { return locate(doc, path) }, nil
}

// Locate returns the position of the value at a path, like DecodeLocated, for text
// that is decoded already. It returns 0, 0 if the position is not known.
func Locate(data []byte, path ...any) (line, column int) {
	var doc yamlv4.Node
	if yamlv4.NewDecoder(bytes.NewReader(data)).Decode(&doc) != nil {
		return 0, 0
	}
	return locate(&doc, path)
}

func decodeData(data []byte, file string) (any, *yamlv4.Node, error) {
	var doc yamlv4.Node
	if crowded(data) {
		return nil, nil, tooCrowded(file)
	}
	err := yamlv4.NewDecoder(bytes.NewReader(data)).Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, &doc, nil
	}
	if err != nil {
		return nil, nil, syntaxError(err, data, file)
	}
	d := &dataDecoder{decoder: decoder{file: file}, anchors: map[*yamlv4.Node]any{}, size: map[*yamlv4.Node]int{}}
	v, _, err := d.value(&doc, 0)
	return v, &doc, withLine(err, data)
}

type dataDecoder struct {
	decoder
	anchors map[*yamlv4.Node]any // the values of anchored nodes; nil while a node is being decoded
	size    map[*yamlv4.Node]int // the number of values of anchored nodes
	aliased int
	scalars func(n *yamlv4.Node) (any, error) // nil: as Psych
}

// value returns the value of n, and the number of values in it.
func (d *dataDecoder) value(n *yamlv4.Node, depth int) (v any, size int, err error) {
	if depth > maxDepth {
		return nil, 0, d.fail(n, "collections are nested deeper than %d", maxDepth)
	}
	if err := d.foreign(n); err != nil {
		return nil, 0, err
	}
	if n.Kind == yamlv4.AliasNode {
		v, done := d.anchors[n.Alias]
		if !done || v == nil && d.size[n.Alias] == 0 {
			return nil, 0, d.fail(n, "the alias *%s is inside of what it stands for", n.Value)
		}
		if d.aliased += d.size[n.Alias]; d.aliased > maxAliased {
			return nil, 0, d.fail(n, "the aliases make more data than is allowed")
		}
		return v, d.size[n.Alias], nil
	}
	if n.Anchor != "" {
		d.anchors[n] = nil
		defer func() { d.anchors[n], d.size[n] = v, size }()
	}
	switch n.Kind {
	case yamlv4.DocumentNode:
		if len(n.Content) == 0 {
			return nil, 1, nil
		}
		return d.value(n.Content[0], depth)
	case yamlv4.SequenceNode:
		list := make([]any, len(n.Content))
		size = 1
		for i, c := range n.Content {
			e, more, err := d.value(c, depth+1)
			if err != nil {
				return nil, 0, err
			}
			list[i], size = e, size+more
		}
		return list, size, nil
	case yamlv4.MappingNode:
		return d.mapping(n, depth)
	}
	if d.scalars != nil {
		v, err = d.scalars(n)
		return v, 1, err
	}
	v, err = d.scalar(n, depth)
	return v, 1, err
}

func (d *dataDecoder) scalar(n *yamlv4.Node, depth int) (any, error) {
	if n.Kind == yamlv4.ScalarNode {
		switch {
		case n.Style&yamlv4.TaggedStyle != 0 && (n.Tag == "!!binary" || n.Tag == "!binary"):
			v, err := d.decoder.value(n, depth)
			if s, ok := v.(string); ok {
				return []byte(s), err
			}
			return v, err
		case n.Style == 0 && len(n.Value) > 1 && n.Value[0] == ':':
			if _, refused := resolve(n.Value); refused == "symbol" {
				return Symbol(n.Value[1:]), nil
			}
		}
	}
	return d.decoder.value(n, depth)
}

func (d *dataDecoder) mapping(n *yamlv4.Node, depth int) (any, int, error) {
	var m mixed
	size := 1
	content := n.Content
	if d.scalars != nil {
		content = mergesFirst(content)
	}
	for i := 0; i+1 < len(content); i += 2 {
		key, value := content[i], content[i+1]
		k, err := d.key(key, depth)
		if err != nil {
			return nil, 0, err
		}
		v, more, err := d.value(value, depth+1)
		if err != nil {
			return nil, 0, err
		}
		size += more
		_, list := v.([]any) // Psych does not merge a list from an alias
		if k == "<<" && isMerge(key) && (!list || value.Kind != yamlv4.AliasNode) && m.merge(v) {
			continue
		}
		if !m.set(k, v) {
			return nil, 0, d.fail(key, "a collection cannot be a key here")
		}
	}
	return m.value(), size, nil
}

// A mixed is a mapping while it is being decoded: a Map as long as all keys are strings.
type mixed struct {
	texts  ordered.Map
	others *Pairs
}

// set returns false if the key cannot be compared.
func (m *mixed) set(k, v any) bool {
	if s, ok := k.(string); ok && m.others == nil {
		m.texts.Set(s, v)
		return true
	}
	if m.others == nil {
		m.others = &Pairs{}
		for k, v := range m.texts.All() {
			m.others.set(k, v)
		}
	}
	return m.others.set(k, v)
}

// merge is like mergeInto.
func (m *mixed) merge(v any) bool {
	switch v := v.(type) {
	case *ordered.Map:
		for k, e := range v.All() {
			m.set(k, e)
		}
		return true
	case *Pairs:
		for k, e := range v.All() {
			m.set(k, e)
		}
		return true
	case []any:
		for _, e := range v {
			switch e.(type) {
			case *ordered.Map, *Pairs:
			default:
				return false
			}
		}
		for _, e := range slices.Backward(v) {
			m.merge(e)
		}
		return true
	}
	return false
}

func (m *mixed) value() any {
	if m.others != nil {
		return m.others
	}
	return &m.texts
}

// key is value for the key of a mapping.
func (d *dataDecoder) key(n *yamlv4.Node, depth int) (any, error) {
	k, _, err := d.value(n, depth+1)
	if s, ok := k.(Symbol); ok {
		return string(s), err
	}
	return k, err
}

// digits is a key that is a *big.Int.
type digits string

// set returns false if the key cannot be compared.
func (p *Pairs) set(k, v any) bool {
	at := k
	switch k := k.(type) {
	case nil, string, bool, int64, float64:
	case *big.Int:
		at = digits(k.String()) // pointers of equal numbers differ
	default:
		return false
	}
	if i, ok := p.index[at]; ok {
		p.values[i] = v
		return true
	}
	if p.index == nil {
		p.index = map[any]int{}
	}
	p.index[at] = len(p.keys)
	p.keys, p.values = append(p.keys, k), append(p.values, v)
	return true
}

// locate walks the tree; aliases are followed.
func locate(n *yamlv4.Node, path []any) (line, column int) {
	if n.Kind == yamlv4.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line, column = n.Line, n.Column
	for _, p := range path {
		for n.Kind == yamlv4.AliasNode {
			n = n.Alias
		}
		var next *yamlv4.Node
		switch p := p.(type) {
		case int:
			if n.Kind == yamlv4.SequenceNode && p < len(n.Content) {
				next = n.Content[p]
				line, column = next.Line, next.Column
			}
		case string:
			for i := 0; n.Kind == yamlv4.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == p {
					next = n.Content[i+1]
					line, column = n.Content[i].Line, n.Content[i].Column
				}
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	return line, column
}
