package yaml

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// The patterns of PyYAML's resolver (yaml/resolver.py), which follows YAML 1.1
// more closely than Psych.
var (
	pythonInt   = lazyregexp.New(`^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$`)
	pythonFloat = lazyregexp.New(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$`)
	pythonBase  = lazyregexp.New(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)
)

// DecodePython is Decode for files of Python programs. It follows PyYAML's safe
// loader: yes and on are Booleans, 010 is eight, 12:30 is 750 (a number in base 60),
// and 1,000 is a string. Aliases are allowed. The keys of a mapping override merged
// keys (<<). Dates are strings. tagged returns the value of a node with a tag that
// YAML does not define, such as !vault. A second document is an error.
func DecodePython(data []byte, file string, tagged func(tag, text string) (v any, known bool)) (any, error) {
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
	var second yamlv4.Node
	if err := documents.Decode(&second); err == nil {
		return nil, withLine(&Error{File: file, Line: second.Line, Problem: "a second document begins, and only one can be read"}, data)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err, data, file)
	}
	d := &dataDecoder{decoder: decoder{file: file}, anchors: map[*yamlv4.Node]any{}, size: map[*yamlv4.Node]int{}}
	d.scalars = func(n *yamlv4.Node) (any, error) { return d.python(n, tagged) }
	v, _, err := d.value(&doc, 0)
	return textKeys(v), withLine(err, data)
}

func (d *dataDecoder) python(n *yamlv4.Node, tagged func(string, string) (any, bool)) (any, error) {
	if n.Style&yamlv4.TaggedStyle != 0 {
		switch n.Tag {
		case "!!str", "!":
			return n.Value, nil
		case "!!binary":
			b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
			if err != nil {
				return nil, d.fail(n, "the text after %s is not base64", n.Tag)
			}
			return string(b), nil
		case "!!int", "!!float", "!!bool", "!!null":
			return pythonScalar(n.Value), nil
		}
		if v, known := tagged(n.Tag, n.Value); known {
			return v, nil
		}
		return nil, d.fail(n, "the tag %s is not known", clip(n.Tag))
	}
	if n.Style&(yamlv4.SingleQuotedStyle|yamlv4.DoubleQuotedStyle|yamlv4.LiteralStyle|yamlv4.FoldedStyle) != 0 {
		return n.Value, nil
	}
	return pythonScalar(n.Value), nil
}

// pythonScalar returns the value of a plain scalar.
func pythonScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	}
	if !strings.ContainsRune("+-.0123456789", rune(s[0])) || len(s) > maxDigits {
		return s
	}
	switch {
	case pythonInt().MatchString(s):
		return pythonInteger(strings.ReplaceAll(s, "_", ""))
	case pythonFloat().MatchString(s):
		if f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64); err == nil || math.IsInf(f, 0) {
			return f
		}
	case pythonBase().MatchString(s):
		return pythonSixties(strings.ReplaceAll(s, "_", ""))
	}
	return s
}

// pythonInteger converts text that pythonInt has matched.
func pythonInteger(s string) any {
	sign, digits := "", s
	if s[0] == '-' || s[0] == '+' {
		sign, digits = s[:1], s[1:]
	}
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	n, ok := new(big.Int).SetString(sign+digits, base)
	switch {
	case !ok:
		return s
	case n.IsInt64():
		return n.Int64()
	}
	return n
}

// pythonSixties converts text that pythonBase has matched.
func pythonSixties(s string) any {
	parts := strings.Split(strings.TrimLeft(s, "+-"), ":")
	if len(parts) > 12 { // 60 to the power of 12 is beyond int64
		return s
	}
	total := 0.0
	for _, p := range parts {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return s
		}
		total = total*60 + f
	}
	if s[0] == '-' {
		total = -total
	}
	if strings.Contains(s, ".") || math.Abs(total) >= 1<<53 {
		return total
	}
	if parts[0][0] == '0' {
		return s // the first part of a whole number cannot begin with a zero
	}
	return int64(total)
}

// mergesFirst moves the merge keys before the other pairs of a mapping, so that the
// other pairs override merged ones.
func mergesFirst(content []*yamlv4.Node) []*yamlv4.Node {
	var first, rest []*yamlv4.Node
	for i := 0; i+1 < len(content); i += 2 {
		if k := content[i]; k.Value == "<<" && k.Kind == yamlv4.ScalarNode && k.Style == 0 {
			first = append(first, content[i], content[i+1])
		} else {
			rest = append(rest, content[i], content[i+1])
		}
	}
	if first == nil {
		return content
	}
	return append(first, rest...)
}

// textKeys converts all keys to strings, in the form of Python's json module.
func textKeys(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = textKeys(e)
		}
	case *ordered.Map:
		for k, e := range v.All() {
			v.Set(k, textKeys(e))
		}
	case *Pairs:
		m := &ordered.Map{}
		for k, e := range v.All() {
			if k == nil {
				k = "null"
			}
			m.Set(keyText(k), textKeys(e))
		}
		return m
	}
	return v
}
