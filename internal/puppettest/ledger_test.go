package puppettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/internal/environment"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A ledger is a Builder that writes down what programs declare, and evaluates
// classes and defines when Puppet does. It is no compiler: it knows nothing of
// containment, of an order, of inherited tags and metaparameters, nor of what
// types of resources accept.
type ledger struct {
	x       *environment.Evaluation
	list    []*entry
	byRef   map[eval.Ref]*entry
	classes []string // evaluated, in order
	tags    map[*eval.Scope][]string

	defaults  map[*eval.Scope]map[string]bool // type and attribute
	overrides []*order
	wanted    []*wish
	relations []*eval.Relation
	realized  []eval.Ref
}

// An entry is a resource or a class that was declared.
type entry struct {
	ref    eval.Ref
	form   syntax.Form
	params *value.Hash
	scope  *eval.Scope // where it was declared
	// pos is where it is written; a class that was included has none.
	pos syntax.Position
	def *eval.Definition // of a class or a define, until it is evaluated
}

// An order is an override that waits for its resources.
type order struct {
	*eval.Override
	scope *eval.Scope
}

// A wish is a collector with what it has found.
type wish struct {
	*eval.Collector
	found []*entry
}

func newLedger(x *environment.Evaluation) *ledger {
	l := &ledger{
		x: x, byRef: map[eval.Ref]*entry{}, tags: map[*eval.Scope][]string{}, defaults: map[*eval.Scope]map[string]bool{},
	}
	for _, r := range []eval.Ref{{Type: "stage", Title: "main"}, {Type: "class", Title: "main"}, {Type: "class", Title: "settings"}} {
		l.byRef[r] = &entry{ref: r, params: value.NewHash()}
	}
	return l
}

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
	for more := true; more; {
		if more, err = l.generate(ctx); err != nil {
			return nil, err
		}
	}
	return v, l.finish()
}

// node evaluates the definition that is for a node: the one of its name, or of
// a pattern, or the default.
func (l *ledger) node(ctx context.Context, name string) error {
	var best *eval.Definition
	rank := 0
	label := "default"
	for _, d := range l.x.Interp.Nodes() {
		for _, m := range d.Node.(*syntax.NodeDef).Matches {
			r, as := 0, name
			switch m := m.(type) {
			case *syntax.Str:
				if m.Value == name {
					r = 3
				}
			case *syntax.Regexp:
				x, err := value.NewRegexp(m.Source)
				if err != nil {
					return err
				}
				if ok, err := x.MatchString(name); err != nil {
					return err
				} else if ok {
					r = 2
				}
			case *syntax.Default:
				r, as = 1, "default"
			}
			if r > rank {
				best, rank, label = d, r, as
			}
		}
	}
	if best == nil {
		return nil
	}
	l.classes = append(l.classes, label)
	scope := l.x.Interp.NewScope(eval.ScopeOptions{Kind: eval.NodeScope, Name: label, Label: "Node[" + label + "]", Parent: l.x.Interp.Top()})
	_, err := l.x.Interp.Site(ctx, nil).Body(best, scope)
	return err
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
			if e.ref.Type != w.Type || slices.Contains(w.found, e) || !matches(w.Query, e) || w.Exported && e.form != syntax.Exported {
				continue
			}
			w.found = append(w.found, e)
			e.form = syntax.Regular
			e.change(w.Attrs)
			more = true
		}
	}
	for _, r := range l.realized {
		if e := l.byRef[r]; e != nil && e.form == syntax.Virtual {
			e.form, more = syntax.Regular, true
		}
	}
	for _, e := range slices.Clone(l.list) {
		if e.def == nil || e.def.Kind != eval.KindDefine || e.form != syntax.Regular {
			continue
		}
		d := e.def
		e.def, more = nil, true
		scope := l.x.Interp.NewScope(eval.ScopeOptions{Kind: eval.DefineScope, Name: d.Name, Label: reference(e.ref), Module: d.Module, Parent: e.scope})
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

// finish does what waits for all resources to be known.
func (l *ledger) finish() error {
	for _, o := range l.overrides {
		return eval.Errorf("unknown-resource", "%v are overridden and not declared", o.Refs)
	}
	for _, r := range l.realized {
		if l.byRef[r] == nil {
			return eval.Errorf("unknown-resource", "%s is realized and not declared", reference(r))
		}
	}
	for _, e := range l.list {
		for _, name := range []string{"before", "notify", "require", "subscribe"} {
			v, _ := e.params.GetString(name)
			for _, v := range elements(v) {
				if r := refOf(v); r.Title != "" && l.byRef[r] == nil {
					return at(e.pos, eval.Errorf("unknown-resource", "%s is named by %s and not declared", reference(r), reference(e.ref)))
				}
			}
		}
	}
	for _, r := range l.relations {
		name := "before"
		if r.Notify {
			name = "notify"
		}
		targets, err := l.side(r.Targets)
		if err != nil {
			return err
		}
		sources, err := l.side(r.Sources)
		if err != nil {
			return err
		}
		for _, e := range sources {
			for _, t := range targets {
				list, _ := e.params.GetString(name)
				a, _ := list.(*value.Array)
				if a == nil {
					a = value.NewArray()
				}
				e.params = e.params.With(value.String(name), value.NewArray(append(slices.Clone(a.Elems()), value.String(reference(t.ref)))...))
			}
		}
	}
	return nil
}

// side returns what stands on one side of a relation.
func (l *ledger) side(list []value.Value) (found []*entry, err error) {
	for _, v := range list {
		if r, ok := v.(*value.Runtime); ok {
			found = append(found, r.Value.(*wish).found...)
			continue
		}
		r := refOf(v)
		e := l.byRef[r]
		if e == nil {
			return nil, eval.Errorf("unknown-resource", "%s is in a relation and not declared", reference(r))
		}
		found = append(found, e)
	}
	return found, nil
}

// change puts attributes over those of an entry.
func (e *entry) change(attrs []eval.Attribute) {
	for _, a := range attrs {
		v := a.Value
		if old, ok := e.params.GetString(a.Name); ok && a.Add {
			v = value.NewArray(append(slices.Clone(elements(old)), elements(v)...)...)
		}
		e.params = e.params.With(value.String(a.Name), v)
	}
}

func elements(v value.Value) []value.Value {
	if a, ok := v.(*value.Array); ok {
		return a.Elems()
	}
	return []value.Value{v}
}

// matches tells whether a collector's query is true of an entry.
func matches(q eval.Query, e *entry) bool {
	switch q := q.(type) {
	case *eval.QueryBool:
		if q.Or {
			return matches(q.X, e) || matches(q.Y, e)
		}
		return matches(q.X, e) && matches(q.Y, e)
	case *eval.QueryCompare:
		var has bool
		if q.Name == "title" {
			has = value.Equal(q.Value, value.String(e.ref.Title))
		} else if v, ok := e.params.GetString(q.Name); ok {
			has = slices.ContainsFunc(elements(v), func(v value.Value) bool { return value.Equal(q.Value, v) })
		}
		return has != q.Not
	}
	return true
}

// bind gives a class or an instance of a define its parameters and the
// variables about itself. Parameters that were given come first, then those
// from data, then defaults.
func (l *ledger) bind(s *eval.Site, d *eval.Definition, scope *eval.Scope, e *entry, data func(string) (value.Value, bool, error)) error {
	title := e.ref.Title
	for _, v := range [][2]string{{"title", title}, {"name", title}, {"module_name", d.Module}, {"caller_module_name", s.Scope.Options().Module}} {
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
	for k := range e.params.All() {
		if name := string(k.(value.String)); !slices.Contains(known, name) && !slices.Contains(metaparams, name) {
			return eval.Errorf("unknown-parameter", "%s has no parameter %s", reference(e.ref), name)
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

// metaparams can be given to any resource.
var metaparams = strings.Fields("alias audit before loglevel noop notify require schedule stage subscribe tag")

func (l *ledger) add(e *entry) error {
	if l.byRef[e.ref] != nil {
		return eval.Errorf("duplicate-declaration", "%s is declared already", reference(e.ref))
	}
	l.byRef[e.ref] = e
	l.list = append(l.list, e)
	return nil
}

// Declare writes resources down and evaluates classes.
func (l *ledger) Declare(s *eval.Site, d *eval.Declaration) ([]value.Value, error) {
	var refs []value.Value
	for _, b := range d.Bodies {
		for _, title := range b.Titles {
			var params value.HashBuilder
			for _, a := range b.Attrs {
				params.Put(value.String(a.Name), a.Value)
			}
			e := &entry{form: d.Form, params: params.Build(), scope: s.Scope, pos: d.Pos}
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
			def, err := s.Find(eval.KindDefine, d.Type)
			if err != nil {
				return nil, err
			}
			if def == nil {
				if known, err := s.HasResourceType(d.Type); err != nil || !known {
					return nil, eval.Errorf("unknown-resource-type", "there are no resources of type %s", d.Type)
				}
			}
			e.def = def
			if err := l.add(e); err != nil {
				return nil, err
			}
			for i := 0; i < len(l.overrides); i++ {
				if slices.Contains(l.overrides[i].Refs, e.ref) {
					o := l.overrides[i]
					l.overrides = slices.Delete(l.overrides, i, i+1)
					if err := l.override(o, e); err != nil {
						return nil, err
					}
					i--
				}
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
	return l.class(s, &entry{ref: eval.Ref{Type: "class", Title: name}, params: value.NewHash(), scope: s.Scope})
}

// enter evaluates a class that was written down, unless that has been done.
func (l *ledger) enter(s *eval.Site, name string) error {
	e := l.byRef[eval.Ref{Type: "class", Title: name}]
	d := e.def
	if d == nil {
		return nil
	}
	e.def = nil
	o := eval.ScopeOptions{Kind: eval.ClassScope, Name: name, Label: reference(e.ref), Module: d.Module, Parent: s.Scope}
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
	_, err = s.Body(d, scope)
	return err
}

// Include writes classes down, then evaluates them; what contains them is not written down.
func (l *ledger) Include(s *eval.Site, _ eval.Inclusion, names []string) error {
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
	return nil
}

// Realize remembers what is to be made real.
func (l *ledger) Realize(_ *eval.Site, refs []eval.Ref) error {
	l.realized = append(l.realized, refs...)
	return nil
}

// Tag adds tags to the class or resource of a scope.
func (l *ledger) Tag(s *eval.Site, tags []string) error {
	at := s.Scope.Named()
	l.tags[at] = append(l.tags[at], tags...)
	return nil
}

// Tagged tells whether the class or resource of a scope was given all of some
// tags, or is in a class of that name.
func (l *ledger) Tagged(s *eval.Site, tags []string) (bool, error) {
	for _, tag := range tags {
		if !slices.Contains(l.tags[s.Scope.Named()], tag) && !slices.Contains(l.classes, tag) {
			return false, nil
		}
	}
	return true, nil
}

// Default refuses a second default in one scope. No case has a catalog with
// defaults in it.
func (l *ledger) Default(s *eval.Site, typ string, attrs []eval.Attribute) error {
	at := s.Scope.Named()
	if l.defaults[at] == nil {
		l.defaults[at] = map[string]bool{}
	}
	for _, a := range attrs {
		key := typ + " " + a.Name
		if l.defaults[at][key] {
			return eval.Errorf("duplicate-default", "%s has a default for %s in this scope", typ, a.Name)
		}
		l.defaults[at][key] = true
	}
	return nil
}

// Override changes resources, or waits for them.
func (l *ledger) Override(s *eval.Site, o *eval.Override) error {
	for _, ref := range o.Refs {
		one := *o
		one.Refs = []eval.Ref{ref}
		wait := &order{&one, s.Scope}
		if e := l.byRef[ref]; e == nil {
			l.overrides = append(l.overrides, wait)
		} else if err := l.override(wait, e); err != nil {
			return err
		}
	}
	return nil
}

// override changes a resource. Only the class may that declared it, or one that
// inherits that class; and what has a value already, only the latter.
func (l *ledger) override(o *order, e *entry) error {
	own, heir := o.scope.Named() == e.scope.Named(), false
	for s := o.scope.Options().Inherits; s != nil; s = s.Options().Inherits {
		heir = heir || s.Named() == e.scope.Named()
	}
	if !own && !heir {
		return eval.Errorf("override-refused", "%s is not to be changed in %s", reference(e.ref), o.scope)
	}
	for _, a := range o.Attrs {
		if _, is := e.params.GetString(a.Name); is && !heir {
			return at(e.pos, eval.Errorf("override-refused", "%s of %s has a value already", a.Name, reference(e.ref)))
		}
	}
	e.change(o.Attrs)
	return nil
}

// Collect remembers a collector.
func (l *ledger) Collect(_ *eval.Site, c *eval.Collector) (value.Value, error) {
	w := &wish{Collector: c}
	l.wanted = append(l.wanted, w)
	return &value.Runtime{Runtime: "go", Name: "collector", Value: w}, nil
}

// Relate remembers a relation.
func (l *ledger) Relate(_ *eval.Site, r *eval.Relation) error {
	l.relations = append(l.relations, r)
	return nil
}

// Parameter returns what a resource or class has by now.
func (l *ledger) Parameter(_ *eval.Site, typ, title, name string) (value.Value, bool, error) {
	if typ == "class" {
		title = strings.ToLower(title)
	}
	e := l.byRef[eval.Ref{Type: typ, Title: title}]
	switch {
	case e == nil:
		return nil, false, nil
	case name == "title":
		return value.String(e.ref.Title), true, nil
	}
	v, ok := e.params.GetString(name)
	if !ok {
		v = value.Undef{}
	}
	return v, true, nil
}

// capitals writes a name as references do: App::Params.
func capitals(name string) string {
	parts := strings.Split(name, "::")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "::")
}

// reference writes a reference as catalogs have it: File[/x], Class[App].
func reference(r eval.Ref) string {
	title := r.Title
	if r.Type == "class" && title != "main" {
		title = capitals(title)
	}
	return fmt.Sprintf("%s[%s]", capitals(r.Type), title)
}

// A stock is what a case keeps of a catalog and is compared here.
type stock struct {
	Resources []struct {
		Type, Title, File string
		Line              int
		Exported          bool
		Parameters        json.RawMessage
		Sensitive         []string `json:"sensitive_parameters"`
	}
	Classes []string
}

// lines returns what was declared, one thing a line, without what each
// catalog begins with.
func (s *stock) lines() (list []string, err error) {
	for _, r := range s.Resources {
		name := fmt.Sprintf("%s[%s]", r.Type, r.Title)
		switch {
		case name == "Stage[main]", name == "Class[main]", name == "Class[Settings]", r.Type == "Node":
			continue
		}
		params := "{ }"
		if r.Parameters != nil {
			if params, err = canonical(r.Parameters); err != nil {
				return nil, err
			}
		}
		list = append(list, fmt.Sprintf("%s at %s:%d, exported %v, sensitive %v: %s", name, r.File, r.Line, r.Exported, r.Sensitive, params))
	}
	return append(list, fmt.Sprintf("classes %q", slices.DeleteFunc(slices.Clone(s.Classes), func(c string) bool { return c == "settings" }))), nil
}

// lines returns what is in the ledger in the same way.
func (l *ledger) lines() (list []string, err error) {
	for _, e := range l.list {
		if e.form != syntax.Regular {
			continue
		}
		file := e.pos.File
		if i := strings.LastIndex(file, "modules/"); i >= 0 {
			file = file[i:]
		}
		var params value.HashBuilder
		var secret []string
		for k, v := range e.params.All() {
			if s, ok := v.(*value.Sensitive); ok {
				secret = append(secret, string(k.(value.String)))
				v = s.Unwrap()
			}
			if _, undef := v.(value.Undef); !undef {
				params.Put(k, written(flat(v)))
			}
		}
		data, err := value.MarshalRich(params.Build())
		if err != nil {
			return nil, err
		}
		text, err := canonical(data)
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%s at %s:%d, exported %v, sensitive %v: %s", reference(e.ref), file, e.pos.Line, false, secret, text))
	}
	return append(list, fmt.Sprintf("classes %q", l.classes)), nil
}

// flat returns an array with references in it without arrays inside.
func flat(v value.Value) value.Value {
	a, ok := v.(*value.Array)
	if !ok || !slices.ContainsFunc(a.Elems(), func(v value.Value) bool { return refOf(v).Title != "" }) {
		return v
	}
	var list []value.Value
	var add func(*value.Array)
	add = func(a *value.Array) {
		for _, v := range a.Elems() {
			if in, ok := v.(*value.Array); ok {
				add(in)
			} else {
				list = append(list, v)
			}
		}
	}
	add(a)
	return value.NewArray(list...)
}

// written returns a parameter as catalogs have it: references are strings.
func written(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.ClassType:
		return value.String(reference(refOf(v)))
	case *value.ResourceType:
		if v.HasTitle {
			return value.String(reference(refOf(v)))
		}
	case *value.Array:
		list := slices.Clone(v.Elems())
		for i := range list {
			list[i] = written(list[i])
		}
		return value.NewArray(list...)
	case *value.Hash:
		var b value.HashBuilder
		for k, x := range v.All() {
			b.Put(written(k), written(x))
		}
		return b.Build()
	}
	return v
}

// compare says how what was declared differs from a catalog, "" if it does
// not. Order counts, of resources and of parameters.
func (l *ledger) compare(catalog []byte) (string, error) {
	var s stock
	if err := json.Unmarshal(catalog, &s); err != nil {
		return "", err
	}
	want, err := s.lines()
	if err != nil {
		return "", err
	}
	got, err := l.lines()
	if err != nil {
		return "", err
	}
	if slices.Equal(got, want) {
		return "", nil
	}
	return fmt.Sprintf("declared\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  ")), nil
}

// refOf returns what a type is a reference to.
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
