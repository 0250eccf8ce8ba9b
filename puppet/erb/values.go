package erb

import (
	"strconv"

	"bolt/internal/regexp"
	"bolt/puppet/value"
)

// Values of Ruby are nil, bool, int64, float64, symbol, *text, *array, *hash,
// *span, *pattern, *match, *proc, *class, *scopeObject and *foreign.
type (
	// symbol is a Symbol.
	symbol string

	// text is a String. It is mutable.
	text struct{ s string }

	array struct{ e []any }

	// span is a Range.
	span struct {
		lo, hi    any
		exclusive bool
	}

	// pattern is a Regexp.
	pattern struct {
		src, flags string
		re         *regexp.Regexp
	}

	// match is a MatchData.
	match struct {
		s     string
		loc   []int
		names []string
	}

	// proc is a Proc: a block with the variables around it, or a Go function.
	proc struct {
		block  *blockNode
		env    *env
		native func(args []any) (any, error)
		lambda bool
	}

	// class is a class or a module. name is its name.
	class struct{ name string }

	// foreign is a value of Puppet without an equivalent in Ruby: a type, a
	// version, a Sensitive.
	foreign struct{ v value.Value }

	// scopeObject is the Puppet scope.
	scopeObject struct{}

	// address is an IPAddr.
	address struct{ s string }
)

// hash is a Hash.
type hash struct {
	keys    []any
	values  []any
	index   map[any]int
	missing any
	maker   *proc // Hash.new { … }
}

func newHash(size int) *hash { return &hash{index: make(map[any]int, size)} }

type (
	textKey    string
	complexKey string
	classKey   string
	nilKey     struct{}
)

// keyOf returns the key of Go's map for a key of the hash.
func keyOf(k any) any {
	switch k := k.(type) {
	case nil:
		return nilKey{}
	case *text:
		return textKey(k.s)
	case *class:
		return classKey(k.name)
	case *array, *hash, *span:
		return complexKey(inspect(k))
	case *foreign:
		return complexKey(value.Inspect(k.v))
	}
	return k
}

func (h *hash) get(k any) (any, bool) {
	i, ok := h.index[keyOf(k)]
	if !ok {
		return nil, false
	}
	return h.values[i], true
}

func (h *hash) set(k, v any) {
	key := keyOf(k)
	if i, ok := h.index[key]; ok {
		h.values[i] = v
		return
	}
	if s, is := k.(*text); is {
		k = &text{s.s} // a later change of the string does not change the key
	}
	h.index[key] = len(h.keys)
	h.keys = append(h.keys, k)
	h.values = append(h.values, v)
}

func (h *hash) delete(k any) (any, bool) {
	key := keyOf(k)
	i, ok := h.index[key]
	if !ok {
		return nil, false
	}
	v := h.values[i]
	delete(h.index, key)
	h.keys = append(h.keys[:i:i], h.keys[i+1:]...)
	h.values = append(h.values[:i:i], h.values[i+1:]...)
	for other, j := range h.index {
		if j > i {
			h.index[other] = j - 1
		}
	}
	return v, true
}

func (h *hash) copy() *hash {
	c := newHash(len(h.keys))
	for i, k := range h.keys {
		c.set(k, h.values[i])
	}
	c.missing, c.maker = h.missing, h.maker
	return c
}

func (h *hash) replace(o *hash) { h.keys, h.values, h.index = o.keys, o.values, o.index }

func (h *hash) pairs() []any {
	list := make([]any, len(h.keys))
	for i, k := range h.keys {
		list[i] = &array{[]any{k, h.values[i]}}
	}
	return list
}

func truthy(v any) bool { return v != nil && v != false }

// className returns the name of the class of a value.
func className(v any) string {
	switch v := v.(type) {
	case nil:
		return "NilClass"
	case bool:
		if v {
			return "TrueClass"
		}
		return "FalseClass"
	case int64:
		return "Integer"
	case float64:
		return "Float"
	case symbol:
		return "Symbol"
	case *text:
		return "String"
	case *array:
		return "Array"
	case *hash:
		return "Hash"
	case *span:
		return "Range"
	case *pattern:
		return "Regexp"
	case *match:
		return "MatchData"
	case *proc:
		return "Proc"
	case *class:
		return "Class"
	case *scopeObject:
		return "Puppet::Parser::Scope"
	case *address:
		return "IPAddr"
	case *enumerator:
		return "Enumerator"
	case *rubyError:
		return v.class
	case *foreign:
		return "Puppet." + value.Infer(v.v).Name()
	}
	return "Object"
}

// ancestors returns the names of the classes of a value.
func ancestors(v any) []string {
	name := className(v)
	list := []string{name}
	switch v.(type) {
	case int64, float64:
		list = append(list, "Numeric", "Comparable")
	case *text:
		list = append(list, "Comparable")
	case *array, *hash, *span:
		list = append(list, "Enumerable")
	case *rubyError:
		list = append(list, errorAncestors(name)...)
	}
	return append(list, "Object", "Kernel", "BasicObject")
}

func errorAncestors(name string) []string {
	switch name {
	case "NoMethodError":
		return []string{"NameError", "StandardError", "Exception"}
	case "KeyError":
		return []string{"IndexError", "StandardError", "Exception"}
	case "JSON::ParserError":
		return []string{"JSON::JSONError", "StandardError", "Exception"}
	case "Puppet::ParseError":
		return []string{"Puppet::Error", "RuntimeError", "StandardError", "Exception"}
	case "Exception":
		return nil
	}
	return []string{"StandardError", "Exception"}
}

// fromPuppet converts a value of Puppet to a value for a template.
func (r *rendering) fromPuppet(v value.Value) (any, error) {
	if err := r.work(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, value.Undef:
		return nil, nil
	case value.Bool:
		return bool(v), nil
	case value.Int:
		return int64(v), nil
	case value.Float:
		return float64(v), nil
	case value.String:
		return &text{string(v)}, nil
	case value.Default:
		return symbol("default"), nil
	case *value.Regexp:
		return newPattern(v.Source(), "")
	case *value.Array:
		a := &array{make([]any, 0, v.Len())}
		for _, x := range v.Elems() {
			y, err := r.fromPuppet(x)
			if err != nil {
				return nil, err
			}
			a.e = append(a.e, y)
		}
		return a, nil
	case *value.Hash:
		h := newHash(v.Len())
		for k, x := range v.All() {
			key, err := r.fromPuppet(k)
			if err != nil {
				return nil, err
			}
			y, err := r.fromPuppet(x)
			if err != nil {
				return nil, err
			}
			h.set(key, y)
		}
		return h, nil
	}
	return &foreign{v}, nil
}

// toPuppet converts a value to an argument for functions of Puppet.
func (r *rendering) toPuppet(v any) (value.Value, error) { return r.puppet(v, 0) }

// maxData is the largest depth of nested arrays and hashes. A template can add
// an array to itself.
const maxData = 200

func (r *rendering) puppet(v any, depth int) (value.Value, error) {
	if err := r.work(1); err != nil {
		return nil, err
	}
	if depth > maxData {
		return nil, r.raise("ArgumentError", "more than %d arrays and hashes in each other", maxData)
	}
	switch v := v.(type) {
	case nil:
		return value.Undef{}, nil
	case bool:
		return value.Bool(v), nil
	case int64:
		return value.Int(v), nil
	case float64:
		return value.Float(v), nil
	case symbol:
		switch v {
		case "undef":
			return value.Undef{}, nil
		case "default":
			return value.Default{}, nil
		}
		return value.String(v), nil
	case *text:
		return value.String(v.s), nil
	case *foreign:
		return v.v, nil
	case *pattern:
		return value.NewRegexp(v.re.Source())
	case *array:
		list := make([]value.Value, len(v.e))
		for i, x := range v.e {
			var err error
			if list[i], err = r.puppet(x, depth+1); err != nil {
				return nil, err
			}
		}
		return value.NewArray(list...), nil
	case *hash:
		var b value.HashBuilder
		for i, k := range v.keys {
			key, err := r.puppet(k, depth+1)
			if err != nil {
				return nil, err
			}
			x, err := r.puppet(v.values[i], depth+1)
			if err != nil {
				return nil, err
			}
			b.Put(key, x)
		}
		return b.Build(), nil
	}
	return nil, r.raise("ArgumentError", "a %s cannot be given to a function of Puppet", className(v))
}

func compileRegexp(src, flags string) (*regexp.Regexp, error) {
	if on := onlyOf(flags, "imx"); on != "" {
		src = "(?" + on + ":" + src + ")"
	}
	return regexp.Compile(src)
}

func onlyOf(flags, known string) string {
	out := ""
	for _, k := range known {
		for _, f := range flags {
			if f == k {
				out += string(k)
				break
			}
		}
	}
	return out
}

func newPattern(src, flags string) (*pattern, error) {
	re, err := compileRegexp(src, flags)
	if err != nil {
		return nil, err
	}
	return &pattern{src, onlyOf(flags, "mix"), re}, nil
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
