package puppettest

import (
	"slices"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// relations are the parameters that name other resources.
var relations = []string{"before", "notify", "require", "subscribe"}

// finish does what waits for all resources to be known.
func (l *ledger) finish() error {
	for _, e := range l.list {
		if e.form != syntax.Regular {
			continue
		}
		for k, v := range e.params.All() {
			name := string(k.(value.String))
			if !slices.Contains(relations, name) {
				continue
			}
			for _, v := range pieces(v) {
				if l.look(named(v)) == nil {
					pos := e.pos
					if g, is := e.given[name]; is {
						pos = g.pos
					}
					return at(pos, eval.Errorf("unknown-resource", "%s is named by %s and not declared", value.Inspect(v), reference(e.ref)))
				}
			}
		}
	}
	for _, r := range l.relations {
		if err := l.relate(r); err != nil {
			return err
		}
	}
	for _, e := range l.list {
		if err := l.late(e); err != nil {
			return err
		}
		for k := range e.params.All() {
			if name := string(k.(value.String)); !e.accepts(name) {
				return at(e.pos, eval.Errorf("unknown-parameter", "%s has no parameter %s", reference(e.ref), name))
			}
		}
	}
	for _, o := range l.overrides {
		return eval.Errorf("unknown-resource", "%v are overridden and not declared", o.Refs)
	}
	for _, r := range l.realized {
		if l.look(r) == nil {
			return eval.Errorf("unknown-resource", "%s is realized and not declared", reference(r))
		}
	}
	for _, e := range l.list {
		l.inherit(e)
	}
	return nil
}

// late changes a resource as it was said before the resource was declared.
func (l *ledger) late(e *entry) error {
	rest := l.overrides[:0]
	for _, o := range l.overrides {
		if o.Refs[0] != e.ref {
			rest = append(rest, o)
		} else if err := l.override(o, e); err != nil {
			return at(o.Pos, err)
		}
	}
	l.overrides = rest
	return nil
}

// relate adds one side of a relation to the parameters of the other.
func (l *ledger) relate(r *eval.Relation) error {
	targets, err := l.side(r.Targets, false)
	if err != nil {
		return err
	}
	sources, err := l.side(r.Sources, true)
	if err != nil {
		return err
	}
	name := "before"
	if r.Notify {
		name = "notify"
	}
	for _, e := range sources {
		for _, t := range targets {
			e.change(nil, []eval.Attribute{{Name: name, Value: value.NewArray(value.String(reference(t.ref))), Add: true}})
		}
	}
	return nil
}

// inherit gives a resource in an instance of a define the metaparameters of
// that, but for relations.
func (l *ledger) inherit(e *entry) {
	o := l.owner(e.scope)
	if e.def != nil && e.def.Kind == eval.KindClass || o.def == nil || o.def.Kind != eval.KindDefine || !l.open(o) {
		return
	}
	for _, name := range metaparams {
		v, is := o.params.GetString(name)
		if _, has := e.params.GetString(name); is && !has && !slices.Contains(relations, name) {
			e.params = e.params.With(value.String(name), v)
		}
	}
}

// open tells whether a resource is in nothing but instances of defines. Puppet
// does not see others from where it begins.
func (l *ledger) open(e *entry) bool {
	o := l.owner(e.scope)
	switch {
	case o.def == nil:
		return true
	case o.def.Kind == eval.KindDefine:
		return l.open(o)
	}
	return false
}

// side returns what stands on one side of a relation. For a collector that
// found nothing, what is to its left in a chain is the source of what follows.
func (l *ledger) side(list []value.Value, source bool) (found []*entry, err error) {
	for _, v := range list {
		if r, ok := v.(*value.Runtime); ok {
			w := r.Value.(*wish)
			if source && w.found == nil && len(list) == 1 && w.left != nil {
				return l.side(w.left, true)
			}
			found = append(found, w.found...)
			continue
		}
		r := refOf(v)
		e := l.look(r)
		if e == nil {
			return nil, eval.Errorf("unknown-resource", "%s is in a relation and not declared", reference(r))
		}
		found = append(found, e)
	}
	return found, nil
}
