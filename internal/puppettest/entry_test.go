package puppettest

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An entry is a resource or a class that was declared.
type entry struct {
	ref      eval.Ref
	form     syntax.Form
	exported bool // and stays so when it is collected
	params   *value.Hash
	tagged   []string    // by the function tag
	scope    *eval.Scope // where it was declared; nil of what each catalog begins with
	// pos is where it is written; a class that was included has none.
	pos   syntax.Position
	given map[string]origin // of parameters
	def   *eval.Definition  // of a class or a define
	done  bool              // it is evaluated
}

// An origin is where a parameter got its value.
type origin struct {
	pos       syntax.Position
	scope     *eval.Scope // nil of what did not come from a program
	isDefault bool
}

func newEntry(s *eval.Scope) *entry {
	return &entry{params: value.NewHash(), scope: s, given: map[string]origin{}}
}

// change puts attributes over those of an entry.
func (e *entry) change(s *eval.Scope, attrs []eval.Attribute) {
	for _, a := range attrs {
		v := a.Value
		if old, ok := e.params.GetString(a.Name); ok && a.Add {
			v = value.NewArray(append(leaves(old), leaves(v)...)...)
		}
		e.params = e.params.With(value.String(a.Name), v)
		e.given[a.Name] = origin{pos: a.Pos, scope: s}
	}
}

// fill gives an entry the defaults of attributes that it has not been given.
func (e *entry) fill(s *eval.Scope, defaults []eval.Attribute) {
	for _, a := range defaults {
		if _, has := e.params.GetString(a.Name); !has {
			e.change(s, []eval.Attribute{a})
			e.given[a.Name] = origin{a.Pos, s, true}
		}
	}
}

// elements are those of an array, or the value itself.
func elements(v value.Value) []value.Value {
	if a, ok := v.(*value.Array); ok {
		return a.Elems()
	}
	return []value.Value{v}
}

// leaves are the elements of an array and of those in it.
func leaves(v value.Value) (list []value.Value) {
	a, ok := v.(*value.Array)
	if !ok {
		return []value.Value{v}
	}
	for _, v := range a.Elems() {
		list = append(list, leaves(v)...)
	}
	return list
}

// pieces are the leaves but undef.
func pieces(v value.Value) []value.Value {
	return slices.DeleteFunc(leaves(v), func(v value.Value) bool {
		_, undef := v.(value.Undef)
		return undef
	})
}

// metaparams can be given to any resource. They are in the order of Puppet.
var metaparams = strings.Fields("noop schedule audit loglevel alias tag require subscribe before notify stage")

// accepts tells whether a resource can have a parameter, as far as that is
// known: of types of resources that are not defines, only notify's.
func (e *entry) accepts(name string) bool {
	if slices.Contains(metaparams, name) || name == "name" {
		return true
	}
	if e.def != nil {
		return slices.ContainsFunc(e.def.Params(), func(p *syntax.Param) bool { return p.Name == name })
	}
	if e.ref.Type == "notify" {
		return name == "message" || name == "withpath"
	}
	return name != "title"
}

// where says where an entry is declared.
func (e *entry) where() string {
	if e.pos.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", at %s:%d", e.pos.File, e.pos.Line)
}

// aliases are the names that a resource has besides its title: those it was
// given, and what it is told from others by.
func (e *entry) aliases() []string {
	var list []string
	if v, is := e.params.GetString("alias"); is {
		list = texts(v)
	}
	switch e.ref.Type {
	case "file", "group", "notify", "service", "user":
		_, id := e.key()
		list = append(list, value.ToString(id))
	}
	return list
}

// key returns the parameter that a resource is told from others by, and its
// value, which the title says unless it was given.
func (e *entry) key() (name string, v value.Value) {
	name = "name"
	switch e.ref.Type {
	case "exec":
		name = "command"
	case "file", "tidy":
		name = "path"
	}
	if v, is := e.params.GetString(name); is {
		return name, v
	}
	return name, value.String(canonicalTitle(e.ref).Title)
}

// canonicalTitle is a reference to a file without slashes at the end of its
// path, and any other as it is.
func canonicalTitle(r eval.Ref) eval.Ref {
	if r.Type == "file" && r.Title != "" {
		r.Title = r.Title[:1] + strings.TrimRight(r.Title[1:], "/")
	}
	return r
}

// texts are the leaves of a value as texts, without undef.
func texts(v value.Value) (list []string) {
	for _, v := range pieces(v) {
		list = append(list, value.ToString(v))
	}
	return list
}
