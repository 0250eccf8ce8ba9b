package yamlplan

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
	"bolt/puppet/syntax"
)

// A writer writes a plan as code of the language, and records which part of the
// YAML file each part of the code comes from.
type writer struct {
	plan  *Plan
	buf   []byte
	marks []mark
	level int
}

// A mark records the position in the file of the code from an offset on. Up to
// length bytes correspond to the file byte by byte; the position of later bytes is
// the end of these.
type mark struct{ out, in, length int }

func (w *writer) write(parts ...string) {
	for _, s := range parts {
		w.buf = append(w.buf, s...)
	}
}

func (w *writer) newline() {
	w.write("\n", strings.Repeat("  ", w.level))
}

// at records that the code from here on comes from n.
func (w *writer) at(n *yaml.Node) { w.from(n.Offset, 0) }

func (w *writer) from(in, length int) {
	w.marks = append(w.marks, mark{len(w.buf), in, length})
}

// body writes the plan's definition.
func (w *writer) body() {
	p := w.plan
	w.write("plan ", p.Name, "(")
	w.level++
	for i := range p.Parameters {
		if i > 0 {
			w.write(",")
		}
		w.newline()
		w.parameter(&p.Parameters[i])
	}
	w.level--
	if len(p.Parameters) > 0 {
		w.newline()
	}
	w.write(") {")
	w.level++
	for _, s := range p.steps {
		w.newline()
		w.step(s)
	}
	if p.result != nil {
		w.write("\n")
		w.newline()
		w.result(p.result)
	}
	w.level--
	w.newline()
	w.write("}\n")
}

func (w *writer) parameter(param *Parameter) {
	if param.typed != nil {
		w.at(param.typed)
		w.write(param.Type, " ")
	}
	w.write("$", param.Name)
	if param.value == nil {
		return
	}
	w.write(" = ")
	w.at(param.value)
	// Bolt writes words without quotation marks, unless the type is String.
	if word, ok := param.Default.(string); ok && !strings.Contains(param.Type, "String") && bareword().MatchString(word) && isName(word) {
		w.write(word)
		return
	}
	w.data(param.value)
}

var bareword = lazyregexp.New(`^[a-z][a-z0-9_]*$`)

// isName reports whether a word is a name in the language and not a keyword.
func isName(word string) bool {
	p, err := parsed(word)
	if err != nil || len(p.Body.Exprs) != 1 {
		return false
	}
	_, ok := p.Body.Exprs[0].(*syntax.Name)
	return ok
}

// result writes the end of the plan.
func (w *writer) result(n *yaml.Node) {
	w.at(n)
	w.write("return ")
	begin := len(w.buf)
	w.value(n)
	// Without parentheses, return before a brace would be a type of resources, and
	// before a minus an operand.
	_, isBool := n.Value.(bool)
	if c := w.buf[begin]; !isBool && !strings.ContainsRune("$'\"[0123456789", rune(c)) {
		w.buf[begin-1] = '('
		w.write(")")
	}
}

// step writes a step as a statement.
func (w *writer) step(s *step) {
	w.at(s.keys[s.kind.name])
	switch s.kind.name {
	case "eval":
		w.eval(s)
	case "resources":
		w.apply(s)
	default:
		w.assign(s)
		w.write(s.kind.function, "(")
		w.args(s)
		w.write(")")
	}
}

func (w *writer) assign(s *step) {
	if s.name != "" {
		w.write("$", s.name, " = ")
	}
}

// args writes the arguments of a step's call.
func (w *writer) args(s *step) {
	for i, key := range s.kind.args {
		if i > 0 {
			w.write(", ")
		}
		w.value(s.values[key])
	}
	var entries []entry
	switch s.kind.name {
	case "message", "verbose":
		return
	case "plan":
		if n := s.given("targets"); n != nil {
			w.write(", ")
			w.value(n)
		}
	default:
		w.description(s)
	}
	if n := s.given("parameters"); n != nil {
		for _, p := range n.Pairs {
			entries = append(entries, entry{key: p.Key, value: p.Value})
		}
	}
	entries = append(entries, s.optionEntries()...)
	for _, key := range []string{"arguments", "pwsh_params"} {
		if n := s.given(key); n != nil && s.kind.name == "script" && len(n.Items)+len(n.Pairs) > 0 {
			entries = append(entries, entry{name: key, value: n})
		}
	}
	if len(entries) > 0 {
		w.write(", ")
		w.hash(entries)
	}
}

func (w *writer) description(s *step) {
	if n := s.given("description"); n != nil {
		w.write(", ")
		w.value(n)
	}
}

// given returns the value of a key, nil if the key is missing or its value is
// empty.
func (s *step) given(key string) *yaml.Node {
	n := s.values[key]
	if n == nil || isNull(n) || n.Value == false && key == "description" {
		return nil
	}
	return n
}

// optionEntries returns the step's options with the names that its function
// expects.
func (s *step) optionEntries() []entry {
	var list []entry
	for _, key := range s.kind.options {
		if n := s.given(key); n != nil {
			list = append(list, entry{name: "_" + key, value: n})
		}
	}
	return list
}

// An entry is an entry of a hash; its key is a fixed name or a key of the file.
type entry struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

func (w *writer) hash(entries []entry) {
	w.write("{")
	for i, e := range entries {
		if i > 0 {
			w.write(", ")
		}
		if e.key == nil {
			w.at(e.value)
			w.write(single(e.name))
		} else {
			w.at(e.key)
			w.data(e.key) // keys are never code
		}
		w.write(" => ")
		w.value(e.value)
	}
	w.write("}")
}

// value writes a value that may be code.
func (w *writer) value(n *yaml.Node) {
	w.at(n)
	switch {
	case n.Style == yaml.List:
		w.write("[")
		for i, item := range n.Items {
			if i > 0 {
				w.write(", ")
			}
			w.value(item)
		}
		w.write("]")
	case n.Style == yaml.Mapping:
		w.hash(lastOf(n))
	case isCode(n):
		w.code(n)
	case isInterpolated(n):
		w.interpolated(n)
	default:
		w.data(n)
	}
}

// lastOf returns the pairs of a mapping. The last of equal keys takes effect.
func lastOf(n *yaml.Node) []entry {
	var list []entry
	index := map[any]int{}
	for _, p := range n.Pairs {
		key := p.Key.Value
		if _, big := key.(*big.Int); !big {
			if i, ok := index[key]; ok {
				list[i].value = p.Value
				continue
			}
			index[key] = len(list)
		}
		list = append(list, entry{key: p.Key, value: p.Value})
	}
	return list
}

// data writes a value that is not code.
func (w *writer) data(n *yaml.Node) {
	switch n.Style {
	case yaml.List:
		w.write("[")
		for i, item := range n.Items {
			if i > 0 {
				w.write(", ")
			}
			w.data(item)
		}
		w.write("]")
		return
	case yaml.Mapping:
		w.write("{")
		for i, e := range lastOf(n) {
			if i > 0 {
				w.write(", ")
			}
			w.data(e.key)
			w.write(" => ")
			w.data(e.value)
		}
		w.write("}")
		return
	}
	switch v := n.Value.(type) {
	case nil:
		w.write("undef")
	case bool:
		w.write(strconv.FormatBool(v))
	case int64:
		if v == math.MinInt64 { // the digits without the minus are too large
			w.write("(", strconv.FormatInt(v+1, 10), " - 1)")
			return
		}
		w.write(strconv.FormatInt(v, 10))
	case float64:
		s := strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "e+", "e", 1)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		w.write(s)
	case string:
		w.write(single(v))
	}
}

// single writes a string in single quotation marks. A backslash that needs no
// escape is not escaped.
func single(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(s) {
		c := s[i]
		if c == '\'' || c == '\\' && (i+1 == len(s) || s[i+1] == '\\' || s[i+1] == '\'' || i > 0 && s[i-1] == '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	b.WriteByte('\'')
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

// interpolated writes a string in which variables are interpolated.
func (w *writer) interpolated(n *yaml.Node) {
	escaped := `"` + escapes.Replace(n.Text) + `"`
	if len(escaped) == len(n.Text)+2 {
		if off, ok := w.plan.verbatim(n); ok {
			w.from(off-1, len(escaped))
		}
		w.write(escaped)
		return
	}
	// Code in the text may contain quotation marks, which must not be escaped.
	meant, err := interpolated(n.Text)
	if err == nil {
		got, err := code(escaped)
		if want := printed(meant); err != nil || printed(got) != want {
			escaped = want
		}
	}
	w.write(escaped)
}

// printed returns a snippet as the language's printer formats it.
func printed(s *snippet) string {
	var b bytes.Buffer
	p := &syntax.Program{File: syntax.NewFile("", s.source), Body: &syntax.Block{Exprs: s.body}}
	if syntax.Print(&b, p) != nil {
		return "" // a Buffer returns no errors
	}
	return strings.TrimSuffix(b.String(), "\n")
}
