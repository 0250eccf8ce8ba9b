package compile

import (
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/exports"
	"bolt/catalog/types"
	"bolt/environment/autoload"
	"bolt/internal/spelling"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A resource is a declared resource or class.
type resource struct {
	ref      eval.Ref
	kind     catalog.Kind
	form     syntax.Form
	exported bool            // it stays exported when it is collected
	from     *exports.Export // the export that it is a copy of; nil for a resource of this node
	// numbered is set if the title was a number or another value that is not a string. Puppet
	// does not make a tag from such a title, and writes the title as the key, too.
	numbered bool
	params   *value.Hash
	tagged   tagSet      // by the function tag
	outer    []string    // tags of the class or resource around it, at the time of the declaration
	inner    []string    // all its tags, for the resources in it; nil before it is needed
	scope    *eval.Scope // of the declaration; nil for resources that every catalog has
	// pos is the position of the declaration; an included class has none.
	pos        syntax.Position
	given      []origin               // of parameters
	def        *eval.Definition       // of a class or a defined type
	ruby       *autoload.ResourceType // of a type that a module defines in Ruby
	added      []addition             // by relations
	done       bool                   // the body was evaluated
	containers []*resource            // in the order in which they were found
}

// An origin is the position at which a parameter got its value.
type origin struct {
	param     string
	pos       syntax.Position
	scope     *eval.Scope // nil for a value that is not written in a program
	isDefault bool
}

func newResource(ref eval.Ref, s *eval.Scope) *resource {
	return &resource{ref: ref, params: value.NewHash(), scope: s}
}

// within adds a container.
func (r *resource) within(container *resource) {
	if !slices.Contains(r.containers, container) {
		r.containers = append(r.containers, container)
	}
}

// change sets attributes, or adds to their values.
func (r *resource) change(s *eval.Scope, attrs []eval.Attribute) {
	if r.params.Len() == 0 {
		r.begin(s, attrs)
		return
	}
	for _, a := range attrs {
		v := a.Value
		if old, ok := r.params.GetString(a.Name); ok && a.Add {
			v = value.NewArray(append(leaves(old), leaves(v)...)...)
		}
		r.params = r.params.With(value.String(a.Name), v)
		r.note(origin{param: a.Name, pos: a.Pos, scope: s})
	}
}

// begin is change for a resource without parameters: it only makes one hash.
func (r *resource) begin(s *eval.Scope, attrs []eval.Attribute) {
	var b value.HashBuilder
	b.Grow(len(attrs))
	r.given = make([]origin, 0, len(attrs))
	for _, a := range attrs {
		b.Put(value.String(a.Name), a.Value)
		r.given = append(r.given, origin{param: a.Name, pos: a.Pos, scope: s})
	}
	r.params = b.Build()
}

func (r *resource) note(from origin) {
	for i := range r.given {
		if r.given[i].param == from.param {
			r.given[i] = from
			return
		}
	}
	r.given = append(r.given, from)
}

// origin returns the position at which a parameter got its value, nil if it has none.
func (r *resource) origin(param string) *origin {
	for i := range r.given {
		if r.given[i].param == param {
			return &r.given[i]
		}
	}
	return nil
}

// fill adds the defaults of attributes that a resource does not have.
func (r *resource) fill(s *eval.Scope, defaults []eval.Attribute) {
	for _, a := range defaults {
		if _, has := r.params.GetString(a.Name); !has {
			r.change(s, []eval.Attribute{a})
			r.note(origin{a.Name, a.Pos, s, true})
		}
	}
}

// elements returns the elements of an array, or the value itself.
func elements(v value.Value) []value.Value {
	if a, ok := v.(*value.Array); ok {
		return a.Elems()
	}
	return []value.Value{v}
}

// leaves returns the elements of an array and of the arrays in it.
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

// pieces returns the leaves without undef.
func pieces(v value.Value) []value.Value {
	return slices.DeleteFunc(leaves(v), func(v value.Value) bool {
		_, undef := v.(value.Undef)
		return undef
	})
}

// texts returns the leaves of a value as strings, without undef.
func texts(v value.Value) (list []string) {
	for _, v := range pieces(v) {
		list = append(list, value.ToString(v))
	}
	return list
}

// accepts reports whether a resource can have a parameter. Classes do not pass meta on, so they cannot have it. A type that package types does not
// know accepts all. A known type can have more parameters in another version of its module.
func (r *resource) accepts(name string) bool {
	if types.IsMetaparam(name) && (name != types.MetaParam || r.kind != catalog.KindClass) || name == "name" {
		return true
	}
	if r.def != nil {
		return slices.ContainsFunc(r.def.Params(), func(p *syntax.Param) bool { return p.Name == name })
	}
	if t := types.Find(r.ref.Type); t != nil {
		return t.Has(name) || r.ruby != nil && slices.Contains(r.ruby.Params, name)
	}
	return name != "title"
}

// checkParams returns an error with all parameters that a resource cannot have.
func (r *resource) checkParams() error {
	var lacking []string
	for k := range r.params.All() {
		if name := string(k.(value.String)); !r.accepts(name) {
			lacking = append(lacking, name)
		}
	}
	if lacking == nil {
		return nil
	}
	return r.lacks(lacking...)
}

// lacks returns the error for parameters that a resource cannot have.
func (r *resource) lacks(names ...string) error {
	known := slices.DeleteFunc(types.Metaparams(), func(name string) bool { return slices.Contains(names, name) })
	if r.def != nil {
		for _, p := range r.def.Params() {
			known = append(known, p.Name)
		}
	} else if t := types.Find(r.ref.Type); t != nil {
		known = slices.Concat(known, t.Properties, t.Params)
	}
	for i, name := range names {
		if near := spelling.Near(name, known); near != "" {
			names[i] = fmt.Sprintf("%s (did you mean %s?)", name, near)
		}
	}
	parameter := "parameter"
	if len(names) > 1 {
		parameter = "parameters"
	}
	return eval.Errorf("unknown-parameter", "%s has no %s %s", reference(r.ref), parameter, strings.Join(names, ", "))
}

// where returns the position of a declaration, for messages.
func (r *resource) where() string {
	if r.from != nil {
		return exportedBy(*r.from)
	}
	switch {
	case r.pos.Line == 0:
		return ""
	case r.pos.File == "":
		return fmt.Sprintf(", on line %d", r.pos.Line)
	}
	return fmt.Sprintf(", at %s:%d", r.pos.File, r.pos.Line)
}

// aliases returns the names of a resource besides its title: the parameter alias, and the
// value of the name variable.
func (r *resource) aliases() []string {
	var list []string
	if v, is := r.params.GetString("alias"); is {
		list = texts(v)
	}
	t := types.Find(r.ref.Type)
	if t != nil && t.Unique || t == nil && r.ruby != nil && r.ruby.Unique {
		list = append(list, value.ToString(r.orTitle(r.keyName())))
	}
	return list
}

// combined returns the name of a resource together with the parameters that distinguish it
// from others with the same name; "" if the type has no such parameters.
func (r *resource) combined() string {
	t := types.Find(r.ref.Type)
	if t == nil || len(t.Also) == 0 {
		return ""
	}
	_, name := r.key()
	list := []string{r.ref.Type, value.ToString(name)}
	for _, param := range t.Also {
		text := ""
		if v, is := r.params.GetString(param); is {
			text = value.ToString(v)
		}
		list = append(list, text)
	}
	return fmt.Sprintf("%q", list)
}

// keyName returns the parameter that names resources of the type.
func (r *resource) keyName() string {
	if t := types.Find(r.ref.Type); t != nil {
		return t.Key
	}
	if r.ruby != nil {
		return r.ruby.Key
	}
	return "name"
}

// key returns the name variable of a resource and its value. The value is the title unless
// the parameter is set. The parameter name is another name for it.
func (r *resource) key() (name string, v value.Value) {
	name = r.keyName()
	return name, r.orTitle("name", name)
}

// orTitle returns the value of the first parameter that is set, or the title.
func (r *resource) orTitle(params ...string) value.Value {
	for _, name := range params {
		if v, is := r.params.GetString(name); is {
			return v
		}
	}
	return value.String(canonicalTitle(r.ref).Title)
}

// canonicalTitle removes slashes at the end of the path of a file.
func canonicalTitle(r eval.Ref) eval.Ref {
	if r.Type == "file" && r.Title != "" {
		r.Title = r.Title[:1+len(strings.TrimRight(r.Title[1:], "/"))]
	}
	return r
}

// className returns the name of a class in the form that the compiler uses.
func className(title string) string { return strings.ToLower(strings.TrimPrefix(title, "::")) }

// catalogRef returns a reference in the form of catalogs: File[/x], Class[App].
func catalogRef(r eval.Ref) catalog.Ref {
	title := r.Title
	if r.Type == "class" && title != mainTitle {
		title = catalog.Capitals(title)
	}
	return catalog.Ref{Type: catalog.Capitals(r.Type), Title: title}
}

func reference(r eval.Ref) string { return catalogRef(r).String() }

// refOf returns the resource to which a type refers.
func refOf(v value.Value) eval.Ref {
	switch v := v.(type) {
	case *value.ClassType:
		return eval.Ref{Type: "class", Title: strings.ToLower(v.Title)}
	case *value.ResourceType:
		if r := (eval.Ref{Type: strings.ToLower(v.TypeName), Title: v.Title}); r.Type != "class" {
			return r
		}
		return eval.Ref{Type: "class", Title: strings.ToLower(v.Title)}
	}
	return eval.Ref{}
}

// named is refOf for a value that can also be a string: 'File[/x]'.
func named(v value.Value) eval.Ref {
	text, is := v.(value.String)
	if !is {
		return refOf(v)
	}
	typ, rest, _ := strings.Cut(string(text), "[")
	title, ok := strings.CutSuffix(rest, "]")
	if !ok {
		return eval.Ref{}
	}
	r := eval.Ref{Type: strings.ToLower(typ), Title: title}
	if r.Type == "class" {
		r.Title = strings.ToLower(title)
	}
	return r
}
