package compile

import (
	"context"
	"fmt"
	"slices"

	"bolt/catalog/types"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// relations are the parameters that name other resources.
var relations = []string{"before", "notify", "require", "subscribe"}

// An override is a change that waits for its resource.
type override struct {
	*eval.Override
	scope *eval.Scope
}

// Override changes resources. If a resource is not declared yet, its change waits.
func (c *compiler) Override(s *eval.Site, o *eval.Override) error {
	for _, ref := range o.Refs {
		one := *o
		one.Refs = []eval.Ref{ref}
		wait := &override{&one, s.Scope}
		if r := c.look(ref); r == nil {
			c.overrides = append(c.overrides, wait)
		} else if err := c.override(wait, r); err != nil {
			return err
		}
	}
	return nil
}

// override changes a resource. Only the class that declared it, or a class that
// inherits this class, may do this. A value that a program set can only be changed by a
// class that inherits the class that set it.
func (c *compiler) override(o *override, r *resource) error {
	if !same(o.scope, r.scope) && !heir(o.scope, r.scope) {
		return eval.Errorf("override-refused", "%s is not to be changed in %s", reference(r.ref), o.scope)
	}
	if r.done {
		msg := fmt.Sprintf("%s is changed after it was evaluated%s", reference(r.ref), r.where())
		switch c.x.Interp.Env().Strict {
		case eval.StrictError:
			return eval.Errorf("override-refused", "%s", msg)
		case eval.StrictWarning:
			c.warn(o.scope, o.Pos, "override-refused", msg)
		}
	}
	for _, a := range o.Attrs {
		g := r.origin(a.Name)
		if g != nil && g.scope != nil && !heir(o.scope, g.scope) && !(g.isDefault && same(o.scope, g.scope)) {
			return at(a.Pos, eval.Errorf("override-refused", "%s of %s has a value already, at %s:%d", a.Name, reference(r.ref), g.pos.File, g.pos.Line))
		}
		r.change(o.scope, []eval.Attribute{a})
	}
	c.noteChange(r)
	return nil
}

// same reports whether two scopes belong to the same class.
func same(a, b *eval.Scope) bool { return a.Named() == b.Named() }

// heir reports whether a scope belongs to a class that inherits the class of another
// scope.
func heir(s, of *eval.Scope) bool {
	for s = s.Options().Inherits; s != nil; s = s.Options().Inherits {
		if same(s, of) {
			return true
		}
	}
	return false
}

// Relate stores a relation.
func (c *compiler) Relate(_ *eval.Site, r *eval.Relation) error {
	c.relations = append(c.relations, r)
	if len(r.Targets) == 1 {
		if found, is := r.Targets[0].(*value.Runtime); is && found.Value.(*collector).left == nil {
			found.Value.(*collector).left = r.Sources
		}
	}
	return nil
}

// finish does the steps that need all resources.
func (c *compiler) finish(ctx context.Context) error {
	declared := c.list[initial:]
	for _, r := range c.list {
		if r.form == syntax.Regular {
			if err := c.checkRelations(r); err != nil {
				return err
			}
		}
	}
	for _, r := range c.relations {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.relate(r); err != nil {
			return at(r.Pos, err)
		}
	}
	for _, r := range c.list {
		for _, a := range r.added {
			r.change(nil, []eval.Attribute{{Name: a.param, Value: value.NewArray(a.refs...), Add: true}})
		}
		r.added = nil
	}
	for _, r := range declared {
		if err := c.late(r); err != nil {
			return err
		}
		if err := r.checkParams(); err != nil {
			return at(r.pos, err)
		}
	}
	for _, o := range c.overrides {
		return eval.Errorf("unknown-resource", "%v are overridden and not declared", o.Refs)
	}
	for _, r := range c.realized {
		return eval.Errorf("unknown-resource", "%s is realized and not declared", reference(r))
	}
	for _, r := range declared {
		c.inherit(r)
	}
	return nil
}

// checkRelations returns an error if a parameter names a resource that is not declared.
func (c *compiler) checkRelations(r *resource) error {
	for _, name := range relations {
		v, is := r.params.GetString(name)
		if !is {
			continue
		}
		for _, v := range pieces(v) {
			if c.look(named(v)) != nil {
				continue
			}
			pos := r.pos
			if g := r.origin(name); g != nil {
				pos = g.pos
			}
			return at(pos, eval.Errorf("unknown-resource", "%s is named by %s and not declared", value.Inspect(v), reference(r.ref)))
		}
	}
	return nil
}

// late applies the overrides of a resource that were evaluated before its declaration.
func (c *compiler) late(r *resource) error {
	if len(c.overrides) == 0 {
		return nil
	}
	rest := c.overrides[:0]
	for _, o := range c.overrides {
		if o.Refs[0] != r.ref {
			rest = append(rest, o)
		} else if err := c.override(o, r); err != nil {
			return at(o.Pos, err)
		}
	}
	c.overrides = rest
	return nil
}

// relate adds the targets of a relation to a parameter of the sources.
func (c *compiler) relate(r *eval.Relation) error {
	targets, err := c.side(r.Targets, false)
	if err != nil {
		return err
	}
	sources, err := c.side(r.Sources, true)
	if err != nil {
		return err
	}
	name := "before"
	if r.Notify {
		name = "notify"
	}
	refs := make([]value.Value, len(targets))
	for i, t := range targets {
		refs[i] = value.String(reference(t.ref))
	}
	if c.related += len(sources) * len(refs); c.related > maxRelated {
		return at(r.Pos, eval.Errorf("limit", "relations name more than %d resources", maxRelated))
	}
	for _, source := range sources {
		source.relateTo(name, refs)
	}
	return nil
}

// An addition is the references that relations add to a parameter, when all are known.
type addition struct {
	param string
	refs  []value.Value
}

func (r *resource) relateTo(param string, refs []value.Value) {
	if len(refs) == 0 {
		return
	}
	for i := range r.added {
		if r.added[i].param == param {
			r.added[i].refs = append(r.added[i].refs, refs...)
			return
		}
	}
	r.added = append(r.added, addition{param, slices.Clone(refs)})
}

// side returns the resources on one side of a relation. After a collector that found
// nothing, a chain continues with the resources before it.
func (c *compiler) side(list []value.Value, source bool) (found []*resource, err error) {
	for _, v := range list {
		if r, ok := v.(*value.Runtime); ok {
			w := r.Value.(*collector)
			if source && w.found == nil && len(list) == 1 && w.left != nil {
				return c.side(w.left, true)
			}
			found = append(found, w.found...)
			continue
		}
		ref := refOf(v)
		r := c.look(ref)
		if r == nil {
			return nil, eval.Errorf("unknown-resource", "%s is in a relation and not declared", reference(ref))
		}
		found = append(found, r)
	}
	return found, nil
}

// inherit copies the metaparameters of an instance of a defined type, except relations,
// to a resource in it.
func (c *compiler) inherit(r *resource) {
	o := c.owner(r.scope)
	if r.def != nil && r.def.Kind == eval.KindClass || o.def == nil || o.def.Kind != eval.KindDefine || !c.open(o) {
		return
	}
	for _, name := range types.Metaparams() {
		if slices.ContainsFunc(o.def.Params(), func(p *syntax.Param) bool { return p.Name == name }) {
			continue // a parameter of its own
		}
		v, is := o.params.GetString(name)
		if _, has := r.params.GetString(name); is && !has && !slices.Contains(relations, name) {
			r.params = r.params.With(value.String(name), v)
		}
	}
}

// open reports whether a resource is only in instances of defined types. Puppet does
// not find other instances from its starting point.
func (c *compiler) open(r *resource) bool {
	o := c.owner(r.scope)
	switch {
	case o.def == nil:
		return true
	case o.def.Kind == eval.KindDefine:
		return c.open(o)
	}
	return false
}
