package strategy

import (
	"encoding"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/spelling"
	"bolt/rollout/quantity"
)

// A Problem is a mistake in a strategy.
type Problem struct {
	Path         string // of the value: "strategy.waves[0].count"
	Line, Column int    // from 1; 0 if they are unknown
	Text         string
}

// Errors are the mistakes in a strategy file.
type Errors struct {
	File     string
	Text     []byte    // of the file, for Excerpt
	Problems []Problem // at least one, in the order of their places
}

// Error has a line for each mistake: "site.yaml:3:5: …".
func (e *Errors) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": " + p.Text)
	}
	return b.String()
}

// Excerpt returns the line of the file with a caret below the mistake, at most width columns; "" if there are
// several mistakes.
func (e *Errors) Excerpt(width int) string {
	if len(e.Problems) > 1 {
		return ""
	}
	return yaml.Excerpt(e.Text, e.Problems[0].Line, e.Problems[0].Column, width)
}

// maxProblems is the number of mistakes that are reported.
const maxProblems = 20

// Read reads the text of a strategy file. Keys that the file leaves out have their defaults. The
// error is a *Errors. file is its name in messages.
func Read(data []byte, file string) (*Strategy, error) {
	r := &reader{places: make(map[string]*yaml.Node)}
	doc, err := yaml.DecodeTextNodes(data, file)
	if err != nil {
		p := Problem{Text: err.Error()}
		if bad, is := errors.AsType[*yaml.Error](err); is {
			p = Problem{Line: bad.Line, Column: bad.Column, Text: bad.Problem}
			if bad.Hint != "" {
				p.Text += ". " + bad.Hint
			}
		}
		return nil, &Errors{File: file, Text: data, Problems: []Problem{p}}
	}
	s := Default()
	if present(doc) {
		r.value(doc, reflect.ValueOf(&s).Elem(), "")
	}
	if r.places["strategy.failures"] == nil && s.Passive() {
		s.Rules.Failures = Failures{}.Default() // a failure does not keep a check from the other nodes
	}
	if len(r.problems) == 0 {
		for _, p := range s.Check() {
			n := r.locate(p.Path)
			if n != nil {
				p.Line, p.Column = n.Line, n.Column
			}
			r.problems = append(r.problems, p)
		}
	}
	if len(r.problems) == 0 {
		return &s, nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return nil, &Errors{File: file, Text: data, Problems: r.problems[:min(len(r.problems), maxProblems)]}
}

// Locate returns the place of a value in the text of a strategy file, or of the nearest value
// around it: "gates[0].ok". It returns 0 for a text that is not YAML.
func Locate(data []byte, path string) (line, column int) {
	doc, err := yaml.DecodeTextNodes(data, "")
	if err != nil || doc == nil {
		return 0, 0
	}
	r := &reader{places: make(map[string]*yaml.Node)}
	s := Default()
	r.value(doc, reflect.ValueOf(&s).Elem(), "")
	if n := r.locate(path); n != nil {
		return n.Line, n.Column
	}
	return doc.Line, doc.Column
}

// A reader fills the types of a strategy from YAML. It finds the fields of a struct by their
// tags "json", which are the keys of the file.
type reader struct {
	places   map[string]*yaml.Node // by path
	problems []Problem
}

func (r *reader) wrong(n *yaml.Node, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)})
}

// locate returns the node of a path, or of the nearest value around it.
func (r *reader) locate(path string) *yaml.Node {
	for {
		if n := r.places[path]; n != nil {
			return n
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return r.places[""]
		}
		path = path[:i]
	}
}

// present reports whether there is a value: null is none.
func present(n *yaml.Node) bool {
	return n != nil && (n.Style == yaml.List || n.Style == yaml.Mapping || n.Value != nil)
}

// short is a value that a file can also write as one string.
type short interface{ fromText(text string) }

// value reads a node into a value.
func (r *reader) value(n *yaml.Node, v reflect.Value, path string) {
	r.places[path] = n
	scalar := n.Style != yaml.List && n.Style != yaml.Mapping
	switch p := v.Addr().Interface().(type) {
	case short:
		if text, ok := n.Value.(string); scalar && ok {
			p.fromText(text)
			return
		}
	case *quantity.Percent:
		r.parsed(n, path, scalar, func() (err error) { *p, err = quantity.ParsePercent(n.Text); return err })
		return
	case *quantity.Amount:
		r.parsed(n, path, scalar, func() (err error) { *p, err = quantity.ParseAmount(n.Text); return err })
		return
	case encoding.TextUnmarshaler:
		r.parsed(n, path, scalar, func() error { return p.UnmarshalText([]byte(n.Text)) })
		return
	case *map[string]any:
		data, ok := plain(n.Data()).(map[string]any)
		if !ok {
			r.wrong(n, path, "%s must be a mapping", path)
			return
		}
		*p = data
		for _, pair := range n.Pairs {
			r.places[path+"."+pair.Key.Text] = pair.Key
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.mapping(n, v, path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(n, v.Elem(), path)
	case reflect.Slice:
		r.list(n, v, path)
	case reflect.Map:
		r.dictionary(n, v, path)
	case reflect.String:
		r.text(n, v, path)
	case reflect.Bool:
		b, ok := n.Value.(bool)
		if !ok {
			r.wrong(n, path, "%s must be true or false", path)
		}
		v.SetBool(b)
	case reflect.Int:
		i, ok := n.Value.(int64)
		if !ok || i < 0 || i > maxNumber {
			r.wrong(n, path, "%s must be a whole number from 0 to %d", path, maxNumber)
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		switch x := n.Value.(type) {
		case int64:
			v.SetFloat(float64(x))
		case float64:
			v.SetFloat(x)
		default:
			r.wrong(n, path, "%s must be a number", path)
		}
	}
}

// maxNumber bounds counts, so that sums of them cannot overflow.
const maxNumber = 1_000_000_000

func (r *reader) parsed(n *yaml.Node, path string, scalar bool, parse func() error) {
	if !scalar {
		r.wrong(n, path, "%s must be a single value", path)
		return
	}
	if err := parse(); err != nil {
		r.wrong(n, path, "%s: %v", path, err)
	}
}

// text reads a string, which can be one of several words.
func (r *reader) text(n *yaml.Node, v reflect.Value, path string) {
	text, ok := n.Value.(string)
	if !ok {
		if n.Style == yaml.List || n.Style == yaml.Mapping {
			r.wrong(n, path, "%s must be a string", path)
		} else {
			r.wrong(n, path, "%s must be a string: put %s in quotes", path, n.Text)
		}
		return
	}
	words := words(v.Type())
	if s, has := v.Interface().(interface{ Synonyms() map[string]string }); has && s.Synonyms()[text] != "" {
		text = s.Synonyms()[text]
	}
	if words != nil && !slices.Contains(words, text) {
		r.wrong(n, path, "%s: %v", path, unknown(text, words))
		return
	}
	v.SetString(text)
}

// words returns the words that a type can have, nil for any.
func words(t reflect.Type) []string {
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return e.Values()
	}
	return nil
}

func (r *reader) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Style != yaml.List {
		r.wrong(n, path, "%s must be a list", path)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !present(item) {
			r.wrong(item, at, "%s has no value", at)
			continue
		}
		r.value(item, v.Index(i), at)
	}
}

func (r *reader) dictionary(n *yaml.Node, v reflect.Value, path string) {
	if n.Style != yaml.Mapping {
		r.wrong(n, path, "%s must be a mapping", path)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, p := range n.Pairs {
		at := path + "." + p.Key.Text
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString(p.Key.Text)
		if u, ok := key.Addr().Interface().(encoding.TextUnmarshaler); ok {
			if err := u.UnmarshalText([]byte(p.Key.Text)); err != nil {
				r.wrong(p.Key, at, "%s: %v", path, err)
				continue
			}
		}
		if v.MapIndex(key).IsValid() {
			r.wrong(p.Key, at, "%s has the key %s twice", path, p.Key.Text)
			continue
		}
		if !present(p.Value) {
			r.wrong(p.Value, at, "%s has no value", at)
			continue
		}
		r.value(p.Value, value, at)
		v.SetMapIndex(key, value)
	}
}

func (r *reader) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Style != yaml.Mapping {
		what := path
		if what == "" {
			what = "a strategy file"
		}
		r.wrong(n, path, "%s must be a mapping", what)
		return
	}
	if d := v.MethodByName("Default"); d.IsValid() {
		v.Set(d.Call(nil)[0])
	}
	keys := fields(v.Type())
	seen := make(map[string]bool)
	for _, p := range n.Pairs {
		key := p.Key.Text
		at := strings.TrimPrefix(path+"."+key, ".")
		i := slices.IndexFunc(keys, func(f field) bool { return f.key == key })
		switch {
		case i < 0:
			r.wrong(p.Key, at, "unknown key %q%s", key, advice(key, path, v.Type()))
		case seen[key]:
			r.wrong(p.Key, at, "the key %s is there twice", key)
		case present(p.Value):
			r.value(p.Value, v.Field(keys[i].index), at)
		default:
			r.places[at] = p.Key
		}
		seen[key] = true
	}
}

// advice is the end of the message about an unknown key.
func advice(key, path string, t reflect.Type) string {
	var names []string
	for _, f := range fields(t) {
		names = append(names, f.key)
	}
	if near := spelling.Near(key, names); near != "" {
		return fmt.Sprintf(". Did you mean %q?", near)
	}
	switch of := path; {
	case of == "targets" && key == "freeze": // at the top level, it is a list of times
		return ". The nodes are always chosen once, when the rollout starts"
	case of != "" && has(reflect.TypeFor[Strategy](), key):
		return ". It belongs to the top level of the file"
	case of == "" && has(reflect.TypeFor[Rules](), key):
		return ". It belongs to the key strategy"
	}
	return ". Use " + spelling.Or(names)
}

func has(t reflect.Type, key string) bool {
	return slices.ContainsFunc(fields(t), func(f field) bool { return f.key == key })
}

// A field is a key of a file, and the field of a struct that has its value.
type field struct {
	key   string
	index int
	doc   string
	typ   reflect.Type
}

func fields(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, field{key: key, index: i, doc: f.Tag.Get("doc"), typ: f.Type})
	}
	return list
}

// plain turns data of YAML into the data that JSON makes of it, so that a strategy has the same
// digest before and after it is written to a log.
func plain(v any) any {
	switch v := v.(type) {
	case *ordered.Map:
		m := make(map[string]any, v.Len())
		for k, e := range v.All() {
			m[k] = plain(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case int64:
		return float64(v)
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	}
	return v
}
