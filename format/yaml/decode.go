package yaml

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"bolt/format/ordered"
)

// maxDepth limits the nesting of collections, so that a function that walks a value
// from hostile text cannot exhaust the stack.
const maxDepth = 500

// Decode reads the first document of data. It returns nil, bool, int64, float64,
// string, []any or *ordered.Map, and nil if data has no document. A whole number
// beyond int64 is a *big.Int. If a mapping has equal keys, the last one takes effect.
// Keys that are not strings become strings, in the form of Ruby's JSON. file is the
// name of the file for messages. Errors are *Error.
func Decode(data []byte, file string) (any, error) {
	var doc yamlv4.Node
	err := yamlv4.NewDecoder(bytes.NewReader(data)).Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, syntaxError(err, data, file)
	}
	d := decoder{file: file}
	v, err := d.value(&doc, 0)
	return v, withLine(err, data)
}

type decoder struct{ file string }

func (d *decoder) fail(n *yamlv4.Node, format string, args ...any) error {
	return &Error{File: d.file, Line: n.Line, Column: n.Column, Problem: fmt.Sprintf(format, args...)}
}

// foreign returns an error for a node that is not plain data.
func (d *decoder) foreign(n *yamlv4.Node) error {
	if n.Style&yamlv4.TaggedStyle != 0 && strings.HasPrefix(strings.TrimPrefix(n.Tag, "tag:ruby.yaml.org,2002:"), "!ruby/") {
		return d.fail(n, "the tag %s asks for a Ruby object", n.Tag)
	}
	return nil
}

func (d *decoder) value(n *yamlv4.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, d.fail(n, "collections are nested deeper than %d", maxDepth)
	}
	if err := d.foreign(n); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yamlv4.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return d.value(n.Content[0], depth)
	case yamlv4.AliasNode:
		return nil, &Error{File: d.file, Line: n.Line, Column: n.Column, Problem: "alias *" + n.Value, Alias: true}
	case yamlv4.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := d.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yamlv4.MappingNode:
		return d.mapping(n, depth)
	}
	return d.scalar(n)
}

func (d *decoder) mapping(n *yamlv4.Node, depth int) (any, error) {
	m := &ordered.Map{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, err := d.value(n.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if k == "<<" && isMerge(n.Content[i]) && mergeInto(m, v) {
			continue
		}
		m.Set(keyText(k), v)
	}
	return m, nil
}

// isMerge reports whether a key is the merge key <<. For Psych, this includes a key
// in quotes.
func isMerge(key *yamlv4.Node) bool {
	return key.Style&yamlv4.TaggedStyle == 0 || key.Tag != "!!str"
}

// mergeInto merges the value of a merge key (https://yaml.org/type/merge.html) like
// Psych: later keys override earlier ones, and if the value is not a mapping, the
// merge key is an ordinary key.
func mergeInto(m *ordered.Map, v any) bool {
	switch v := v.(type) {
	case *ordered.Map:
		for k, e := range v.All() {
			m.Set(k, e)
		}
		return true
	case []any:
		for _, e := range v {
			if _, ok := e.(*ordered.Map); !ok {
				return false
			}
		}
		for i := len(v) - 1; i >= 0; i-- {
			mergeInto(m, v[i])
		}
		return true
	}
	return false
}

func (d *decoder) scalar(n *yamlv4.Node) (any, error) {
	if n.Style&yamlv4.TaggedStyle != 0 {
		switch n.Tag {
		case "!!str", "!str":
			return n.Value, nil
		case "!!binary", "!binary":
			b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
			if err != nil {
				return nil, d.fail(n, "the text after %s is not base64", n.Tag)
			}
			return string(b), nil
		case "!!float", "!float":
			v, err := d.plain(n)
			switch f := v.(type) {
			case int64:
				return float64(f), nil
			case float64:
				return f, nil
			case *big.Int:
				x, _ := new(big.Float).SetInt(f).Float64()
				return x, nil
			}
			if err == nil {
				err = d.fail(n, "%q after %s is not a number", n.Value, n.Tag)
			}
			return nil, err
		}
		return d.plain(n)
	}
	if n.Style&(yamlv4.SingleQuotedStyle|yamlv4.DoubleQuotedStyle|yamlv4.LiteralStyle|yamlv4.FoldedStyle) != 0 {
		return n.Value, nil
	}
	return d.plain(n)
}

func (d *decoder) plain(n *yamlv4.Node) (any, error) {
	v, refused := resolve(n.Value)
	if refused != "" {
		return nil, d.fail(n, "%s is a %s, which is not supported here; put it in quotes to make it a string", clip(n.Value), refused)
	}
	return v, nil
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// keyText returns the string for a mapping's key.
func keyText(k any) string {
	switch k := k.(type) {
	case string:
		return k
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(k)
	case int64:
		return strconv.FormatInt(k, 10)
	case *big.Int:
		return k.String()
	case float64:
		return floatText(k)
	}
	return inspect(k)
}

// inspect writes a collection in the form of Ruby 3.3 and older.
func inspect(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case nil:
		return "nil"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = inspect(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *ordered.Map:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, strconv.Quote(k)+"=>"+inspect(e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return keyText(v)
}
