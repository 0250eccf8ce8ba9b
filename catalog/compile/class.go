package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/types"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Include declares classes, then evaluates them.
func (c *compiler) Include(s *eval.Site, how eval.Inclusion, names []string) error {
	for _, name := range names {
		if err := c.mention(s, name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := c.enter(s, name); err != nil {
			return err
		}
	}
	owner := c.owner(s.Scope)
	for _, name := range names {
		switch how {
		case eval.Contain:
			c.byRef[eval.Ref{Type: "class", Title: name}].within(owner)
		case eval.Require:
			owner.change(nil, []eval.Attribute{{Name: "require", Value: value.NewArray(value.NewClassRef(name)), Add: true}})
		}
	}
	return nil
}

// mention declares a class, unless it is declared already.
func (c *compiler) mention(s *eval.Site, name string) error {
	ref := eval.Ref{Type: "class", Title: name}
	if c.byRef[ref] != nil {
		return nil
	}
	r := newResource(ref, s.Scope)
	r.outer = c.tagsOf(s.Scope)
	r.kind = catalog.KindUnknown
	return c.class(s, r)
}

// assign declares classes with parameters and includes others. It declares all before it
// evaluates the first. A class with parameters that is declared already is an error.
func (c *compiler) assign(s *eval.Site, declared []Class, included []string) error {
	var names []string
	for _, given := range declared {
		r := newResource(eval.Ref{Type: "class", Title: given.Name}, s.Scope)
		r.outer = c.tagsOf(s.Scope)
		r.kind = catalog.KindUnknown
		r.params = given.Params
		if err := c.class(s, r); err != nil {
			return err
		}
		names = append(names, given.Name)
	}
	return c.Include(s, eval.Include, append(names, included...))
}

// class adds a class, after the class that it inherits.
func (c *compiler) class(s *eval.Site, r *resource) error {
	name := r.ref.Title
	d, err := s.Find(eval.KindClass, name)
	if err != nil {
		return err
	}
	if d == nil {
		return unknown("unknown-class", name, "class "+name+" does not exist")
	}
	if slices.Contains(c.inheriting, name) {
		return eval.Errorf("inheritance-cycle", "the class %s inherits itself", name)
	}
	c.inheriting = append(c.inheriting, name)
	defer func() { c.inheriting = c.inheriting[:len(c.inheriting)-1] }()
	if parent := parentOf(d); parent != "" {
		if err := c.mention(s, parent); err != nil {
			return at(d.Program.File.Position(d.Node.At().Off), err)
		}
	}
	r.def = d
	if err := c.add(r); err != nil {
		return err
	}
	r.eachOwnTag(c.tags.add)
	return nil
}

// parentOf returns the class that a class inherits; "" for none.
func parentOf(d *eval.Definition) string { return className(d.Node.(*syntax.Class).Parent) }

// enter evaluates a declared class, unless it was evaluated already.
func (c *compiler) enter(s *eval.Site, name string) error {
	r := c.byRef[eval.Ref{Type: "class", Title: name}]
	d := r.def
	if d == nil || r.done {
		return nil
	}
	r.done = true
	o := eval.ScopeOptions{Kind: eval.ClassScope, Name: name, Label: reference(r.ref), Module: d.Module, Parent: s.Scope, Owner: r}
	if parent := parentOf(d); parent != "" {
		if err := c.enter(s, parent); err != nil {
			return err
		}
		o.Inherits = s.Interp.ClassScope(parent)
		o.Parent = o.Inherits
	}
	c.classes = append(c.classes, name)
	scope := s.Interp.NewScope(o)
	s.Interp.SetClassScope(name, scope)
	sources := make(map[string]*hiera.Source)
	err := c.bind(s, scope, r, func(param string) (value.Value, bool, error) {
		sources[param] = new(hiera.Source)
		v, err := c.x.LookupIn(s.Context(), scope, hiera.Request{Names: []string{name + "::" + param}, Source: sources[param]})
		if hiera.IsNotFound(err) {
			return nil, false, nil
		}
		return v, err == nil, err
	})
	if err != nil {
		return blame(err, name, d, sources)
	}
	if err := c.stage(r); err != nil {
		return err
	}
	_, err = s.Body(d, scope)
	return err
}

// blame adds the keys and their positions to an error about the types of parameters of a class,
// if the values are from data.
func blame(err error, class string, d *eval.Definition, sources map[string]*hiera.Source) error {
	e, is := errors.AsType[*eval.Error](err)
	if !is || e.Kind != "parameter" {
		return err
	}
	for _, p := range d.Params() {
		at := sources[p.Name]
		if at == nil || at.String() == "" || !strings.Contains(e.Msg, "parameter '"+p.Name+"' ") {
			continue
		}
		e.Msg += fmt.Sprintf("; the value is from the key '%s::%s'%s", class, p.Name, at)
	}
	return err
}

// stage puts a class into its stage: its parameter stage, or else the stage of the class in
// which it was declared.
func (c *compiler) stage(r *resource) error {
	v, own := r.params.GetString("stage")
	if !own {
		if v, _ = c.owner(r.scope).params.GetString("stage"); v == nil {
			v = value.String(mainTitle)
		}
	}
	title, _ := v.(value.String)
	stage := c.byRef[eval.Ref{Type: "stage", Title: string(title)}]
	if stage == nil {
		return eval.Errorf("unknown-resource", "%s is to be in the stage %s, which is not declared", reference(r.ref), value.Inspect(v))
	}
	if !own && title != mainTitle {
		r.params = r.params.With(value.String("stage"), v)
	}
	r.within(stage)
	return nil
}

// bind sets the parameters of a class or an instance of a defined type, and the variables about
// itself. The parameters become the given parameters, then values from data, then the defaults.
func (c *compiler) bind(s *eval.Site, scope *eval.Scope, r *resource, data func(string) (value.Value, bool, error)) error {
	d, title := r.def, r.ref.Title
	name := title
	if v, is := r.params.GetString("name"); is {
		name = value.ToString(v)
	}
	for _, v := range [][2]string{{"title", title}, {"name", name}, {"module_name", d.Module}, {"caller_module_name", s.Scope.Options().Module}} {
		if err := scope.Set(v[0], value.String(v[1])); err != nil {
			return err
		}
	}
	var found []string
	ask := data
	if data != nil {
		ask = func(name string) (value.Value, bool, error) {
			v, ok, err := data(name)
			if ok {
				found = append(found, name)
			}
			return v, ok, err
		}
	}
	var known []string
	for _, p := range d.Params() {
		known = append(known, p.Name)
	}
	if err := r.checkParams(); err != nil {
		return err
	}
	for k, v := range r.params.All() {
		name := string(k.(value.String))
		if types.IsMetaparam(name) && !slices.Contains(known, name) {
			if err := scope.Set(name, v); err != nil {
				return err
			}
		}
	}
	bound, err := s.Bind(d, scope, r.params, ask)
	if err != nil {
		return err
	}
	// A parameter with the value undef gets its value later, and keeps its position.
	var all value.HashBuilder
	put := func(h *value.Hash, name string) bool {
		v, ok := h.GetString(name)
		if _, undef := v.(value.Undef); !ok || undef {
			return false
		}
		all.Put(value.String(name), v)
		return true
	}
	for k := range r.params.All() {
		if name := string(k.(value.String)); !put(r.params, name) {
			put(bound, name)
		}
	}
	for _, name := range append(found, known...) {
		put(bound, name)
	}
	r.params = all.Build()
	return nil
}
