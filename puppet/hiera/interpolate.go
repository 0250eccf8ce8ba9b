package hiera

import (
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// maxNesting is the largest depth of nested interpolations and lookups. The
// check for recursion ends cycles. This limit ends chains without a cycle.
const maxNesting = 200

// Limits of one lookup, so that data that multiplies itself (a:
// "%{lookup('b')}%{lookup('b')}" and so on) ends with an error.
const (
	maxExpressions = 1 << 18 // about a second of work
	maxString      = eval.DefaultSize
)

// interpolate resolves the %{…} in strings, arrays, and keys and values of
// hashes. If methods is set, methods such as %{lookup('x')} are allowed.
func (l *lookup) interpolate(v value.Value, methods bool) (value.Value, error) {
	if !interpolates(v) {
		return v, nil
	}
	switch v := v.(type) {
	case value.String:
		return l.interpolateString(string(v), methods)
	case *value.Array:
		out := make([]value.Value, v.Len())
		for i, e := range v.All() {
			r, err := l.interpolate(e, methods)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return value.NewArray(out...), nil
	case *value.Hash:
		var b value.HashBuilder
		for k, e := range v.All() {
			key, err := l.interpolate(k, methods)
			if err != nil {
				return nil, err
			}
			r, err := l.interpolate(e, methods)
			if err != nil {
				return nil, err
			}
			b.Put(key, r)
		}
		return b.Build(), nil
	}
	return v, nil
}

// A piece is a part of a string: text, or the content of %{…}.
type piece struct {
	text string
	expr bool
}

// cutPieces splits a string at its %{…}. If one is not closed, it is text.
func cutPieces(s string) []piece {
	var out []piece
	text := 0
	for i := 0; ; {
		n := strings.Index(s[i:], "%{")
		if n < 0 {
			break
		}
		start := i + n
		end := strings.IndexByte(s[start:], '}')
		if end < 0 {
			break
		}
		if start > text {
			out = append(out, piece{text: s[text:start]})
		}
		out = append(out, piece{text: s[start+2 : start+end], expr: true})
		i = start + end + 1
		text = i
	}
	if text < len(s) {
		out = append(out, piece{text: s[text:]})
	}
	return out
}

func (l *lookup) interpolateString(s string, methods bool) (value.Value, error) {
	if l.depth++; l.depth > maxNesting {
		return nil, errorf("recursion", "interpolations lead to each other more than %d deep", maxNesting)
	}
	defer func() { l.depth-- }()
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeInterpolate, Name: s})()
	}
	pieces := cutPieces(s)
	var b strings.Builder
	for _, p := range pieces {
		if !p.expr {
			b.WriteString(p.text)
			continue
		}
		if *l.spent++; *l.spent > maxExpressions || b.Len() > maxString {
			return nil, errorf("interpolation", "the interpolations of one lookup are more than %d, or make more text than fits", maxExpressions)
		}
		method, key, err := cutMethod(p.text)
		if err != nil {
			return nil, err
		}
		if method == "" && emptyExpr(key) {
			continue
		}
		if method != "" && !methods {
			return nil, errorf("interpolation", "%%{%s} is not allowed here: a hierarchy can only use variables", p.text)
		}
		if method == "alias" && len(pieces) > 1 {
			return nil, errorf("interpolation", "%%{%s} must be the whole string, because an alias may be more than a string", p.text)
		}
		v, err := l.interpolateExpr(method, key, s)
		if err != nil {
			return nil, err
		}
		if method == "alias" {
			return v, nil
		}
		if interpolates(v) {
			name := key
			if method == "" || method == "scope" {
				name = "scope:" + key
			}
			err = l.check(name, func() (err error) {
				v, err = l.interpolate(v, methods)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if _, undef := v.(value.Undef); !undef {
			b.WriteString(text(v))
		}
	}
	return value.String(b.String()), nil
}

// text returns a value inside a string as Ruby writes it. Collections have the
// form of Ruby's inspect.
func text(v value.Value) string {
	switch v := v.(type) {
	case value.String:
		return string(v)
	case *value.Array, *value.Hash:
		return inspect(v)
	}
	return value.ToString(v)
}

// emptyExpr reports whether an expression is empty: %{}, %{::}, %{”} are ways
// to write a literal %{ that other tools support.
func emptyExpr(s string) bool {
	switch s {
	case "", "::", `""`, "''", `"::"`, "'::'":
		return true
	}
	return false
}

// cutMethod splits method('argument') and method("argument"). Any other
// expression is the name of a variable.
func cutMethod(expr string) (method, key string, err error) {
	expr = strings.TrimSpace(expr)
	open := strings.IndexByte(expr, '(')
	if open <= 0 || !strings.HasSuffix(expr, ")") || !isWord(expr[:open]) {
		return "", expr, nil
	}
	arg := expr[open+1 : len(expr)-1]
	if len(arg) < 3 || arg[0] != '"' && arg[0] != '\'' || strings.IndexByte(arg[1:], arg[0]) != len(arg)-2 {
		return "", expr, nil
	}
	switch method = expr[:open]; method {
	case "lookup", "hiera", "alias", "scope", "literal":
		return method, arg[1 : len(arg)-1], nil
	}
	return "", "", errorf("interpolation", "%%{%s} uses the method '%s', which does not exist; there are lookup, hiera, alias, scope and literal", expr, method)
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// interpolateExpr returns the value of an expression, before interpolations in
// the value are resolved.
func (l *lookup) interpolateExpr(method, key, in string) (value.Value, error) {
	switch method {
	case "literal":
		return value.String(key), nil
	case "lookup", "hiera", "alias":
		sub := l.sub()
		return sub.find(Request{Names: []string{key}, Default: value.String("")})
	}
	return l.variable(key, in)
}

// variable returns the value of a variable, and of the segments after its name.
// Without a value, it returns Undef.
func (l *lookup) variable(key, in string) (value.Value, error) {
	root, segments := key, []value.Value(nil)
	if strings.ContainsAny(key, `'".`) {
		parts, ok := splitKey(key)
		if !ok {
			return nil, errorf("interpolation", "%%{%s} in %q is not a variable: segments are separated by single periods, and quotes must be closed", key, in)
		}
		root, segments = value.ToString(parts[0]), parts[1:]
	}
	v, err := l.scopeVariable(root, segments)
	if err != nil {
		return nil, err
	}
	if _, undef := v.(value.Undef); !undef && len(segments) > 0 {
		found, ok, err := l.digInto(key, segments, v)
		if err != nil {
			return nil, err
		}
		if v = found; !ok {
			v = value.Undef{}
		}
	}
	if l.level.entry != nil && isUndef(v) {
		l.s.mu.Lock()
		l.s.unset[key] = true
		l.s.mu.Unlock()
	}
	l.remember(key, root, segments, v)
	return v, nil
}

func (l *lookup) scopeVariable(name string, segments []value.Value) (value.Value, error) {
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeScope, Name: "Global Scope"})()
	}
	if l.overrides != nil {
		if v, ok := l.overrides.GetString(name); ok {
			l.ex.foundIn(EventOverrides, name, v)
			return v, nil
		}
	}
	if l.local != nil && l.local.name == name {
		l.ex.found(name, l.local.value)
		return l.local.value, nil
	}
	v, ok := l.caller.Variable(name, segments...)
	if ok {
		l.ex.found(name, v)
		return v, nil
	}
	if l.defaults != nil {
		if v, ok := l.defaults.GetString(name); ok {
			l.ex.foundIn(EventDefaults, name, v)
			return v, nil
		}
	}
	return value.Undef{}, l.unknownVariable(name)
}

// unknownVariable applies the setting strict.
func (l *lookup) unknownVariable(name string) error {
	switch name {
	case "module_name", "caller_module_name", "::module_name", "::caller_module_name":
		return nil // these always exist
	}
	s := l.s
	switch {
	case s.o.Strict == eval.StrictOff:
		return nil
	case s.o.Strict == eval.StrictWarning:
		s.warn("the variable '%s', which an interpolation uses, is unknown", name)
		return nil
	case l.level.entry != nil:
		s.warn("%s: the variable '%s' in a path is unknown and replaced with an empty string", l.level, name)
		return nil
	case s.o.Plan:
		return errorf("unknown-variable", "the variable '%s' is unknown: facts and variables of a target can be interpolated in an apply block only", name)
	}
	return errorf("unknown-variable", "the variable '%s', which an interpolation uses, is unknown", name)
}
