package puppettest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/environment"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A ledger is a Builder that writes down what programs declare, and evaluates
// classes and defines when Puppet does. It is no compiler: it knows nothing of
// containment by classes, nor of an order, and of what types of resources
// accept only as much as it needs for notify.
type ledger struct {
	x       *environment.Evaluation
	list    []*entry
	byRef   map[eval.Ref]*entry // by titles and by aliases
	main    *entry              // the class main, which references do not find
	classes []string            // evaluated, in order
	heirs   []string            // the classes whose inherited ones are being written down

	defaults  map[*eval.Scope]map[string][]eval.Attribute // by type
	overrides []*order
	wanted    []*wish
	relations []*eval.Relation
	realized  []eval.Ref
}

// An order is an override that waits for its resources.
type order struct {
	*eval.Override
	scope *eval.Scope
}

// A wish is a collector with what it has found.
type wish struct {
	*eval.Collector
	scope *eval.Scope
	found []*entry
	left  []value.Value // of the relation on whose right side it is
}

func newLedger(x *environment.Evaluation) *ledger {
	l := &ledger{x: x, byRef: map[eval.Ref]*entry{}, main: newEntry(nil), defaults: map[*eval.Scope]map[string][]eval.Attribute{}}
	l.main.ref = eval.Ref{Type: "class", Title: "main"}
	for _, r := range []eval.Ref{{Type: "stage", Title: "main"}, {Type: "class", Title: "settings"}} {
		l.byRef[r] = newEntry(nil)
		l.byRef[r].ref = r
	}
	return l
}

// maxRounds is how often generate may find something, as in Puppet.
const maxRounds = 1000

// run evaluates a program, the definition of the node that it is for, and what
// these declared.
func (l *ledger) run(ctx context.Context, p *syntax.Program, node string) (value.Value, error) {
	for name, v := range map[string]string{"title": "main", "name": "main", "module_name": ""} {
		if err := l.x.Interp.Top().Set(name, value.String(v)); err != nil {
			return nil, err
		}
	}
	v, err := l.x.Run(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := l.node(ctx, node); err != nil {
		return nil, err
	}
	for rounds, more := 0, true; more; rounds++ {
		if rounds > maxRounds {
			return nil, eval.Errorf("limit", "instances of defines declare others without an end")
		}
		if more, err = l.generate(ctx); err != nil {
			return nil, err
		}
	}
	return v, l.finish()
}

// at gives an error the place of a declaration, unless it has one.
func at(pos syntax.Position, err error) error {
	if e, ok := errors.AsType[*eval.Error](err); ok && e.Pos.Line == 0 {
		e.Pos = pos
	}
	return err
}

// generate realizes what was asked for and evaluates instances of defines,
// and tells whether there was any.
func (l *ledger) generate(ctx context.Context) (more bool, err error) {
	for _, w := range l.wanted {
		for _, e := range l.list {
			if e.ref.Type != w.Type || slices.Contains(w.found, e) || !l.matches(w.Query, e) {
				continue
			}
			w.found = append(w.found, e)
			e.form = syntax.Regular
			e.change(w.scope, w.Attrs)
			if len(w.Attrs) > 0 {
				e.fill(w.scope, l.defaultsFor(w.scope, w.Type))
			}
			more = true
		}
	}
	for _, r := range l.realized {
		if e := l.look(r); e != nil && e.form != syntax.Regular {
			e.form, more = syntax.Regular, true
		}
	}
	for _, e := range slices.Clone(l.list) {
		d := e.def
		if e.done || d == nil || d.Kind != eval.KindDefine || e.form != syntax.Regular {
			continue
		}
		e.done, more = true, true
		scope := l.x.Interp.NewScope(eval.ScopeOptions{
			Kind: eval.DefineScope, Name: d.Name, Label: reference(e.ref), Module: d.Module, Parent: e.scope, Owner: e,
		})
		site := l.x.Interp.Site(ctx, e.scope)
		if err := l.bind(site, d, scope, e, nil); err != nil {
			return false, at(e.pos, err)
		}
		if _, err := site.Body(d, scope); err != nil {
			return false, err
		}
	}
	return more, nil
}

// matches tells whether a collector's query is true of an entry.
func (l *ledger) matches(q eval.Query, e *entry) bool {
	switch q := q.(type) {
	case *eval.QueryBool:
		if q.Or {
			return l.matches(q.X, e) || l.matches(q.Y, e)
		}
		return l.matches(q.X, e) && l.matches(q.Y, e)
	case *eval.QueryCompare:
		v, ok := e.params.GetString(q.Name)
		switch {
		case q.Name == "title":
			v = value.String(e.ref.Title)
		case q.Name == "tag" && !q.Not:
			return slices.ContainsFunc(elements(q.Value), func(v value.Value) bool {
				return l.hasTag(e, strings.ToLower(value.ToString(v)))
			})
		case !ok:
			v = value.Undef{}
		}
		if q.Not {
			return !value.Equal(v, q.Value)
		}
		return slices.ContainsFunc(elements(v), func(v value.Value) bool { return value.Equal(v, q.Value) })
	}
	return true
}

// bind gives a class or an instance of a define its parameters and the
// variables about itself. Parameters that were given come first, then those
// from data, then defaults.
func (l *ledger) bind(s *eval.Site, d *eval.Definition, scope *eval.Scope, e *entry, data func(string) (value.Value, bool, error)) error {
	title := e.ref.Title
	name := title
	if v, is := e.params.GetString("name"); is {
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
	for k, v := range e.params.All() {
		name := string(k.(value.String))
		if !e.accepts(name) {
			return eval.Errorf("unknown-parameter", "%s has no parameter %s", reference(e.ref), name)
		}
		if slices.Contains(metaparams, name) && !slices.Contains(known, name) {
			if err := scope.Set(name, v); err != nil {
				return err
			}
		}
	}
	bound, err := s.Bind(d, scope, e.params, ask)
	if err != nil {
		return err
	}
	var all value.HashBuilder
	put := func(h *value.Hash, name string) {
		if v, ok := h.GetString(name); ok {
			if _, undef := v.(value.Undef); !undef {
				all.Put(value.String(name), v)
			}
		}
	}
	for k := range e.params.All() {
		put(e.params, string(k.(value.String)))
	}
	for _, name := range append(found, known...) {
		put(bound, name)
	}
	e.params = all.Build()
	return nil
}

// add writes an entry down under its title and its other names.
func (l *ledger) add(e *entry) error {
	if o := l.byRef[e.ref]; o != nil {
		return eval.Errorf("duplicate-declaration", "%s is declared already%s", reference(e.ref), o.where())
	}
	if v, is := e.params.GetString("tag"); is {
		for _, tag := range texts(v) {
			if !isTag(tag) {
				return eval.Errorf("bad-tag", "%q cannot be a tag", tag)
			}
		}
	}
	if _, is := e.params.GetString("stage"); is && e.ref.Type != "class" {
		return eval.Errorf("bad-stage", "%s cannot be in a stage: only classes can", reference(e.ref))
	}
	l.byRef[e.ref] = e
	l.list = append(l.list, e)
	for _, name := range e.aliases() {
		r := eval.Ref{Type: e.ref.Type, Title: name}
		if o := l.byRef[r]; o != nil && o != e {
			return eval.Errorf("duplicate-declaration", "%s cannot be %s too, which is declared already%s", reference(e.ref), reference(r), o.where())
		}
		l.byRef[r] = e
	}
	return nil
}

// look returns what a reference is to, nil if that is not there.
func (l *ledger) look(r eval.Ref) *entry {
	if e := l.byRef[r]; e != nil {
		return e
	}
	return l.byRef[canonicalTitle(r)]
}

// find returns the definition of a type of resources, nil for one that is no
// define.
func (l *ledger) find(s *eval.Site, typ string) (*eval.Definition, error) {
	def, err := s.Find(eval.KindDefine, typ)
	if def != nil || err != nil {
		return def, err
	}
	if known, err := s.HasResourceType(typ); err != nil || !known {
		return nil, eval.Errorf("unknown-resource-type", "there are no resources of type %s", typ)
	}
	return nil, nil
}

// Declare writes resources down and evaluates classes.
func (l *ledger) Declare(s *eval.Site, d *eval.Declaration) ([]value.Value, error) {
	if d.Form == syntax.Exported {
		l.warn(s.Scope, d.Pos, "no-exports", "exported resources are kept nowhere: nothing is exported")
	}
	var refs []value.Value
	for _, b := range d.Bodies {
		for _, title := range b.Titles {
			e := newEntry(s.Scope)
			e.form, e.exported, e.pos = d.Form, d.Form == syntax.Exported, d.Pos
			e.change(s.Scope, b.Attrs)
			if d.Type == "class" {
				e.ref = eval.Ref{Type: "class", Title: strings.ToLower(strings.TrimPrefix(title, "::"))}
				if err := l.class(s, e); err != nil {
					return nil, err
				}
				if err := l.enter(s, e.ref.Title); err != nil {
					return nil, err
				}
				refs = append(refs, value.NewClassRef(e.ref.Title))
				continue
			}
			e.ref = eval.Ref{Type: d.Type, Title: title}
			def, err := l.find(s, d.Type)
			if err != nil {
				return nil, err
			}
			e.def = def
			e.fill(s.Scope, l.defaultsFor(s.Scope, d.Type))
			if err := l.add(e); err != nil {
				return nil, err
			}
			refs = append(refs, value.NewResourceRef(d.Type, title))
		}
	}
	return refs, nil
}

// class writes a class down, after the one that it inherits.
func (l *ledger) class(s *eval.Site, e *entry) error {
	name := e.ref.Title
	d, err := s.Find(eval.KindClass, name)
	if err != nil {
		return err
	}
	if d == nil {
		return eval.Errorf("unknown-class", "there is no class %s", name)
	}
	if slices.Contains(l.heirs, name) {
		return eval.Errorf("inheritance-cycle", "the class %s inherits itself", name)
	}
	l.heirs = append(l.heirs, name)
	defer func() { l.heirs = l.heirs[:len(l.heirs)-1] }()
	if parent := parentOf(d); parent != "" {
		if err := l.mention(s, parent); err != nil {
			return at(d.Program.File.Position(d.Node.At().Off), err)
		}
	}
	e.def = d
	return l.add(e)
}

func parentOf(d *eval.Definition) string {
	return strings.ToLower(strings.TrimPrefix(d.Node.(*syntax.Class).Parent, "::"))
}

// mention writes a class down unless it is there.
func (l *ledger) mention(s *eval.Site, name string) error {
	if l.byRef[eval.Ref{Type: "class", Title: name}] != nil {
		return nil
	}
	e := newEntry(s.Scope)
	e.ref = eval.Ref{Type: "class", Title: name}
	return l.class(s, e)
}

// enter evaluates a class that was written down, unless that has been done.
func (l *ledger) enter(s *eval.Site, name string) error {
	e := l.byRef[eval.Ref{Type: "class", Title: name}]
	d := e.def
	if d == nil || e.done {
		return nil
	}
	e.done = true
	o := eval.ScopeOptions{Kind: eval.ClassScope, Name: name, Label: reference(e.ref), Module: d.Module, Parent: s.Scope, Owner: e}
	if parent := parentOf(d); parent != "" {
		if err := l.enter(s, parent); err != nil {
			return err
		}
		o.Inherits = s.Interp.ClassScope(parent)
		o.Parent = o.Inherits
	}
	l.classes = append(l.classes, name)
	scope := s.Interp.NewScope(o)
	s.Interp.SetClassScope(name, scope)
	err := l.bind(s, d, scope, e, func(param string) (value.Value, bool, error) {
		v, err := l.x.Lookup(s.Context(), hiera.Request{Names: []string{name + "::" + param}})
		if hiera.IsNotFound(err) {
			return nil, false, nil
		}
		return v, err == nil, err
	})
	if err != nil {
		return err
	}
	if err := l.stage(e); err != nil {
		return err
	}
	_, err = s.Body(d, scope)
	return err
}

// stage gives a class the stage of the one in which it was declared, unless it
// has one, which must be there.
func (l *ledger) stage(e *entry) error {
	v, own := e.params.GetString("stage")
	if !own {
		if v, _ = l.owner(e.scope).params.GetString("stage"); v == nil {
			return nil
		}
	}
	title, _ := v.(value.String)
	if l.byRef[eval.Ref{Type: "stage", Title: string(title)}] == nil {
		return eval.Errorf("unknown-resource", "%s is to be in the stage %s, which is not declared", reference(e.ref), value.Inspect(v))
	}
	if !own && title != "main" {
		e.params = e.params.With(value.String("stage"), v)
	}
	return nil
}

// Include writes classes down, then evaluates them; that a class contains them is not written down.
func (l *ledger) Include(s *eval.Site, how eval.Inclusion, names []string) error {
	for _, name := range names {
		if err := l.mention(s, name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := l.enter(s, name); err != nil {
			return err
		}
	}
	if how == eval.Require {
		e := l.owner(s.Scope)
		for _, name := range names {
			e.change(nil, []eval.Attribute{{Name: "require", Value: value.NewArray(value.NewClassRef(name)), Add: true}})
		}
	}
	return nil
}

// Realize remembers what is to be made real.
func (l *ledger) Realize(_ *eval.Site, refs []eval.Ref) error {
	l.realized = append(l.realized, refs...)
	return nil
}

// Default notes attributes for resources of a type that are declared in a
// scope from here on. Each can be given once.
func (l *ledger) Default(s *eval.Site, typ string, attrs []eval.Attribute) error {
	at := s.Scope.Named()
	if l.defaults[at] == nil {
		l.defaults[at] = map[string][]eval.Attribute{}
	}
	for _, a := range attrs {
		if slices.ContainsFunc(l.defaults[at][typ], func(o eval.Attribute) bool { return o.Name == a.Name }) {
			return eval.Errorf("duplicate-default", "%s has a default for %s in this scope", typ, a.Name)
		}
		l.defaults[at][typ] = append(l.defaults[at][typ], a)
	}
	return nil
}

// defaultsFor returns the defaults for resources of a type in a scope. What
// the scopes in which it was declared have applies too.
func (l *ledger) defaultsFor(s *eval.Scope, typ string) (list []eval.Attribute) {
	if o := s.Options(); o.Parent != nil {
		list = l.defaultsFor(o.Parent, typ)
	}
	for _, a := range l.defaults[s.Named()][typ] {
		i := slices.IndexFunc(list, func(o eval.Attribute) bool { return o.Name == a.Name })
		if i < 0 {
			list = append(list, a)
		} else {
			list[i] = a
		}
	}
	return list
}

// Override changes resources, or waits for them.
func (l *ledger) Override(s *eval.Site, o *eval.Override) error {
	for _, ref := range o.Refs {
		one := *o
		one.Refs = []eval.Ref{ref}
		wait := &order{&one, s.Scope}
		if e := l.look(ref); e == nil {
			l.overrides = append(l.overrides, wait)
		} else if err := l.override(wait, e); err != nil {
			return err
		}
	}
	return nil
}

// override changes a resource. Only the class may that declared it, or one that
// inherits that class; and what has a value already, only one that inherits the
// class that gave it, unless that was by a default.
func (l *ledger) override(o *order, e *entry) error {
	if !same(o.scope, e.scope) && !heir(o.scope, e.scope) {
		return eval.Errorf("override-refused", "%s is not to be changed in %s", reference(e.ref), o.scope)
	}
	if e.done {
		msg := fmt.Sprintf("%s is changed after it was evaluated%s", reference(e.ref), e.where())
		switch l.x.Interp.Env().Strict {
		case eval.StrictError:
			return eval.Errorf("override-refused", "%s", msg)
		case eval.StrictWarning:
			l.warn(o.scope, o.Pos, "override-refused", msg)
		}
	}
	for _, a := range o.Attrs {
		g, is := e.given[a.Name]
		if is && g.scope != nil && !heir(o.scope, g.scope) && !(g.isDefault && same(o.scope, g.scope)) {
			return at(a.Pos, eval.Errorf("override-refused", "%s of %s has a value already, at %s:%d", a.Name, reference(e.ref), g.pos.File, g.pos.Line))
		}
		e.change(o.scope, []eval.Attribute{a})
	}
	return nil
}

// same tells whether two scopes are of the same class.
func same(a, b *eval.Scope) bool { return a.Named() == b.Named() }

// heir tells whether a scope is of a class that inherits another's.
func heir(s, of *eval.Scope) bool {
	for s = s.Options().Inherits; s != nil; s = s.Options().Inherits {
		if same(s, of) {
			return true
		}
	}
	return false
}

// Collect remembers a collector. There is nowhere that exported resources could
// be collected from.
func (l *ledger) Collect(s *eval.Site, c *eval.Collector) (value.Value, error) {
	w := &wish{Collector: c, scope: s.Scope}
	if c.Exported {
		l.warn(s.Scope, c.Pos, "no-exports", "exported resources are kept nowhere: nothing is collected")
	}
	if _, err := l.find(s, c.Type); err != nil {
		return nil, err
	}
	if !c.Exported {
		l.wanted = append(l.wanted, w)
	}
	return &value.Runtime{Runtime: "go", Name: "collector", Value: w}, nil
}

// warn says something that ends nothing.
func (l *ledger) warn(s *eval.Scope, pos syntax.Position, kind, msg string) {
	l.x.Interp.Env().Log(eval.Log{Level: eval.Warning, Kind: kind, Msg: msg, Pos: pos, Scope: s.String()})
}

// Relate remembers a relation.
func (l *ledger) Relate(_ *eval.Site, r *eval.Relation) error {
	l.relations = append(l.relations, r)
	if len(r.Targets) == 1 {
		if c, is := r.Targets[0].(*value.Runtime); is && c.Value.(*wish).left == nil {
			c.Value.(*wish).left = r.Sources
		}
	}
	return nil
}

// Parameter returns what a resource or class has by now.
func (l *ledger) Parameter(_ *eval.Site, typ, title, name string) (value.Value, bool, error) {
	if typ == "class" {
		title = strings.ToLower(title)
	}
	e := l.look(eval.Ref{Type: typ, Title: title})
	if e == nil {
		return nil, false, nil
	}
	if !e.accepts(name) {
		return nil, true, eval.Errorf("unknown-parameter", "%s has no parameter %s", reference(e.ref), name)
	}
	v, ok := e.params.GetString(name)
	if _, undef := v.(value.Undef); (!ok || undef) && e.scope != nil {
		for _, a := range l.defaultsFor(e.scope, typ) {
			if a.Name == name {
				return a.Value, true, nil
			}
		}
	}
	return v, true, nil
}
