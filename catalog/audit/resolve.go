package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/environment/autoload"
	"bolt/puppet/erb"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Result is code that was read. It is not safe for concurrent use.
type Result struct {
	code   Code
	o      Options
	read   *reader
	find   environment.Finder
	files  autoload.Files
	bodies map[key]*body
	main   []*body         // of main manifests
	set    map[string]bool // variables of the top scope that are not facts
	facts  map[string]bool // names that the code uses as facts: $facts['a'], $::a
	parts  map[Part]*Part
	known  map[use]*Part // of names that were looked up
	order  []*body       // all bodies of the code, in the order of files
	queue  []*body       // bodies whose uses were not looked up
	nodes  []*body       // whose catalogs were compiled
}

// Read reads code. The error is that of ctx; errors in the code are parts of the result.
func Read(ctx context.Context, code Code, o Options) (*Result, error) {
	r := &Result{
		code: code, o: o, read: &reader{code: code, o: o, engine: erb.New(), customs: make(map[string]custom)}, find: code.Env.Finder(ctx), files: autoload.Files{Path: code.Modules},
		bodies: make(map[key]*body), set: make(map[string]bool), facts: make(map[string]bool), parts: make(map[Part]*Part), known: make(map[use]*Part),
	}
	if err := r.read.read(ctx); err != nil {
		return nil, err
	}
	if code.Hiera != "" {
		r.read.bodies = append(r.read.bodies, r.read.backends(ctx, code.Hiera, ""))
	}
	for name := range environment.Certified("node", value.NewHash(), site.ServerFacts(environment.Name)).Variables.All() {
		r.set[value.ToString(name)] = true
	}
	for _, b := range r.read.bodies {
		if r.bodies[b.key] == nil {
			r.bodies[b.key] = b
		}
		for _, u := range b.uses {
			if u.kind == useFact || u.kind == useVariable && u.param == topScope {
				r.facts[u.name] = true
			}
		}
		if b.sort == sortMain && b.module == "" || b.sort == sortNode {
			maps.Copy(r.set, b.locals)
		}
		if b.sort == sortMain && b.module == "" {
			r.main = append(r.main, b)
		}
	}
	for name := range r.set {
		delete(r.facts, name)
	}
	r.order = r.read.bodies
	r.queue = slices.Clone(r.order)
	for len(r.queue) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b := r.queue[0]
		r.queue = r.queue[1:]
		r.resolve(ctx, b)
	}
	return r, nil
}

// resolve looks up the uses of a body.
func (r *Result) resolve(ctx context.Context, b *body) {
	for _, u := range b.uses {
		r.use(ctx, b, u)
	}
	b.uses = nil
	switch {
	case b.sort == sortNode:
		for _, m := range r.main {
			b.depend(m)
		}
	case b.params:
		r.data(b)
	}
}

// data makes a body depend on the hierarchies that its lookups use.
func (r *Result) data(b *body) {
	paths := []string{r.code.Hiera}
	if m, ok := r.code.Modules.Module(b.module); ok && b.module != "" {
		paths = append(paths, m.Path("hiera.yaml"))
	}
	for _, path := range paths {
		if d := r.bodies[key{sortData, path}]; d != nil {
			b.depend(d)
		}
	}
}

func (b *body) depend(on *body) {
	if on != b && !slices.Contains(b.deps, on) {
		b.deps = append(b.deps, on)
	}
}

// noteUse records a part that a use names. A part that Puppet does not have either is optional if it is used in a
// branch: the branch is then not evaluated, or the code does not work anyway.
func (r *Result) noteUse(b *body, p Part, u use) {
	p.Optional = u.branch && (p.Need == Modules || p.Need == Impossible)
	r.note(b, p, u.at)
}

// note records a part of a body.
func (r *Result) note(b *body, p Part, at Place) {
	known := r.parts[p]
	if known == nil {
		known = &p
		r.parts[p] = known
	}
	f := found{known, at}
	if !slices.Contains(b.parts, f) {
		b.parts = append(b.parts, f)
	}
}

func (r *Result) use(ctx context.Context, b *body, u use) {
	switch u.kind {
	case useType:
		r.resource(b, u)
	case useValue:
		r.value(b, u)
	case useParam:
		r.note(b, Part{Kind: KindParam, Name: u.name + " " + u.param, Need: Impossible, Reason: fmt.Sprintf("the type %s has no parameter %s", u.name, u.param)}, u.at)
	case useFunction:
		r.function(b, u)
	case useClass:
		r.class(b, u)
	case useTemplate:
		r.template(ctx, b, u)
	case useFact:
		r.fact(b, u.name, u.at)
	case useVariable:
		r.variable(b, b, u, b.loose)
	case useData:
		r.dataType(b, u)
	case useScope:
		if d := r.bodies[key{sortClass, u.name}]; d != nil {
			b.depend(d)
		}
	case useLookup:
		r.data(b)
	case useERB:
		r.note(b, Part{Kind: KindERB, Name: u.name, Need: Compiler, Reason: reasonERB}, u.at)
	case useUnknown:
		r.note(b, Part{Kind: KindERB, Name: u.name, Need: Impossible, Reason: "the template has neither a variable nor a function of this name. A variable of Puppet is @" + u.name}, u.at)
	case useError:
		r.note(b, Part{Kind: KindCode, Name: u.name, Need: Impossible, Reason: "the code has an error"}, u.at)
	}
}

// definition makes a body depend on a definition. found is false if there is none.
func (r *Result) definition(b *body, kind eval.Kind, u use) (found bool) {
	k := key{sortOf(kind), u.name}
	if d := r.bodies[k]; d != nil {
		b.depend(d)
		return true
	}
	d, err := r.find.Find(kind, u.name)
	if err != nil {
		r.broken(b, err, u.at)
		return true
	}
	if d == nil || d.Program == nil {
		return false
	}
	at := d.Program.File.Position(d.Node.At().Off)
	made := &body{key: k, at: Place{at.File, at.Line}, module: d.Module}
	extract(made, d.Program.File, d.Node)
	r.bodies[k] = made
	r.queue = append(r.queue, made)
	b.depend(made)
	return true
}

// broken records the error of a file that a name leads to.
func (r *Result) broken(b *body, err error, at Place) {
	r.note(b, Part{Kind: KindCode, Name: message(err), Need: Impossible, Reason: "the code has an error"}, placeOf(err, at))
}

// message returns the text of an error without its position.
func message(err error) string {
	if list, is := errors.AsType[syntax.Errors](err); is && len(list) > 0 {
		return list[0].Msg
	}
	if e, is := errors.AsType[*eval.Error](err); is {
		return e.Msg
	}
	if e, is := errors.AsType[*hiera.Error](err); is {
		return e.Msg
	}
	return err.Error()
}

// placeOf returns the position of an error; at if it has none.
func placeOf(err error, at Place) Place {
	if list, is := errors.AsType[syntax.Errors](err); is && len(list) > 0 {
		pos := list[0].Position()
		return Place{pos.File, pos.Line}
	}
	if e, is := errors.AsType[*eval.Error](err); is && e.Pos.Line > 0 {
		return Place{e.Pos.File, e.Pos.Line}
	}
	if e, is := errors.AsType[*hiera.Error](err); is && e.File != "" {
		return Place{e.File, e.Line}
	}
	return at
}

// resource finds a resource type.
func (r *Result) resource(b *body, u use) {
	if r.definition(b, eval.KindDefine, u) {
		return
	}
	p := r.known[use{kind: useType, name: u.name}]
	if p == nil {
		p = r.resourceType(u.name)
		r.known[use{kind: useType, name: u.name}] = p
	}
	r.noteUse(b, *p, u)
}

func (r *Result) resourceType(name string) *Part {
	p := &Part{Kind: KindType, Name: name}
	known, err := r.find.HasResourceType(name)
	switch {
	case err != nil:
		p.Need, p.Reason = Impossible, message(err)
	case !known:
		return r.missing(KindType, name)
	case !r.o.Applies(catalog.Capitals(name)) && !grouping(name):
		p.Need, p.Reason = Engine, "bolt does not apply it"
		if d, err := r.find.Find(eval.KindResourceType, name); err == nil && d != nil && d.Module != "" {
			p.Reason += ". It is in Ruby, in the module " + d.Module
		}
	}
	return p
}

// grouping reports whether the resources of a type only group others.
func grouping(typ string) bool {
	return (&catalog.Resource{Ref: catalog.Ref{Type: catalog.Capitals(typ)}, Kind: catalog.KindType}).Container()
}

// missing returns the part for a name that nothing defines. If its module is not installed, the part is the module. The
// module of a name without a qualifier is unknown, so it may not be installed.
func (r *Result) missing(kind Kind, name string) *Part {
	module, _, qualified := strings.Cut(name, "::")
	if _, installed := r.code.Modules.Module(module); !installed && (qualified || kind == KindClass) {
		return &Part{Kind: KindModule, Name: module, Need: Modules, Reason: "it is not installed"}
	}
	if !qualified && kind != KindClass {
		return &Part{Kind: kind, Name: name, Need: Modules, Reason: "no installed module defines it"}
	}
	return &Part{Kind: kind, Name: name, Need: Impossible, Reason: "its module does not define it"}
}

// value checks one value of a parameter of a resource. The inventory of parts has only providers.
func (r *Result) value(b *body, u use) {
	typ := catalog.Capitals(u.name)
	if !r.o.Applies(typ) || r.bodies[key{sortDefine, u.name}] != nil {
		return
	}
	id := use{kind: useValue, name: u.name, param: u.param, value: u.value}
	p := r.known[id]
	if p == nil {
		p = &Part{Kind: KindProvider, Name: u.name + " " + u.value}
		if u.param != "provider" {
			p.Kind, p.Name = KindParam, u.name+" "+u.param
		}
		if err := r.o.Refuses(typ, u.param, u.value); err != nil {
			p.Need, p.Reason = Engine, err.Error()
		}
		r.known[id] = p
	}
	if p.Kind == KindProvider || p.Need != Nothing {
		r.noteUse(b, *p, u)
	}
}

// function finds a function. u.param is the level of a hierarchy that needs it.
func (r *Result) function(b *body, u use) {
	kind := KindFunction
	if b.sort == sortData {
		kind = KindBackend
	}
	if d := r.bodies[key{sortFunction, u.name}]; d != nil {
		r.note(b, Part{Kind: kind, Name: u.name}, u.at)
		b.depend(d)
		return
	}
	id := use{kind: useFunction, name: u.name, param: string(kind)}
	p := r.known[id]
	if p == nil {
		p = &Part{Kind: kind, Name: u.name}
		d, err := r.find.Find(eval.KindFunction, u.name)
		switch {
		case errors.Is(err, eval.ErrForeign):
			p.Need, p.Reason = Compiler, "it is in Ruby"
			if ruby, is := errors.AsType[*autoload.RubyError](err); is {
				p.Reason += ", in the module " + ruby.Module.Name
			}
		case err != nil:
			p.Need, p.Reason = Impossible, message(err)
		case d == nil:
			p = r.missing(kind, u.name)
		case d.Function == nil:
			r.definition(b, eval.KindFunction, u)
		}
		r.known[id] = p
	}
	r.noteUse(b, *p, u)
}

func (r *Result) class(b *body, u use) {
	if !r.definition(b, eval.KindClass, u) {
		r.noteUse(b, *r.missing(KindClass, u.name), u)
	}
}

// template finds a file that is or can be a template.
func (r *Result) template(ctx context.Context, b *body, u use) {
	path, ok := r.files.Find("templates", u.name)
	if !ok {
		if u.param != "" {
			module, _, _ := strings.Cut(u.name, "/")
			p := Part{Kind: KindTemplate, Name: u.name, Need: Impossible, Reason: "the file does not exist"}
			if _, installed := r.code.Modules.Module(module); !installed {
				p = *r.missing(KindClass, module)
			}
			r.noteUse(b, p, u)
		}
		return
	}
	k := key{sortTemplate, path}
	t := r.bodies[k]
	if t == nil {
		module, _, _ := strings.Cut(u.name, "/")
		t = r.read.readTemplate(ctx, path, module, u.param == "epp" || filepath.Ext(path) == ".epp")
		r.bodies[k] = t
		r.queue = append(r.queue, t)
	}
	b.depend(t)
	if filepath.Ext(path) == ".epp" {
		return
	}
	// An ERB template sees the variables of the body that uses it.
	for _, v := range t.variables() {
		r.variable(b, t, v, u.param == "" || strings.HasPrefix(v.name, "_"))
	}
}

// variables returns the variables that an ERB template reads. resolve empties the uses, so they are found first.
func (b *body) variables() []use {
	if b.reads == nil {
		b.reads = []use{}
		for _, u := range b.uses {
			if u.kind == useVariable {
				b.reads = append(b.reads, u)
			}
		}
	}
	return b.reads
}

// variable records a variable of the top scope, which can be a fact. It is in the body in; b is the body whose variables
// are visible there. If loose is set, the variable can also come from code that was not found.
func (r *Result) variable(b, in *body, u use, loose bool) {
	if in.sort == sortTemplate && in == b && filepath.Ext(b.name) != ".epp" {
		b.variables() // they belong to the bodies that use the template
		return
	}
	name, inside, _ := strings.Cut(u.name, ".")
	if name == "facts" {
		if inside != "" {
			r.fact(in, inside, u.at)
		}
		return
	}
	if i := strings.LastIndex(name, "::"); i > 0 {
		if d := r.bodies[key{sortClass, lower(name[:i])}]; d != nil {
			in.depend(d)
		}
		return
	}
	if slices.Contains(scoped, name) || r.set[name] {
		return
	}
	for c, n := b, 0; c != nil && n < maxParents; c, n = r.bodies[key{sortClass, c.parent}], n+1 {
		if c.locals[name] {
			return
		}
	}
	if !loose || r.isFact(name) {
		r.fact(in, name, u.at)
	}
}

// maxParents ends the search in classes that inherit from each other without an end.
const maxParents = 100

// isFact reports whether a name is that of a fact beyond doubt.
func (r *Result) isFact(name string) bool {
	_, custom := r.read.customs[name]
	return custom || r.facts[name] || slices.Contains(r.o.Facts, name)
}

// fact records a fact.
func (r *Result) fact(b *body, name string, at Place) {
	p := Part{Kind: KindFact, Name: name}
	custom, is := r.read.customs[name]
	switch {
	case slices.Contains(r.o.Facts, name):
	case is:
		p.Need, p.Reason = Facts, "the module "+custom.module+" defines it in Ruby"
	default:
		p.Need, p.Reason = Facts, "bolt's helper does not collect it, unless it is an external fact"
	}
	r.note(b, p, at)
}

// dataType checks the name of a type of values, or of a resource type in a reference.
func (r *Result) dataType(b *body, u use) {
	id := use{kind: useData, name: u.name}
	p := r.known[id]
	if p == nil {
		p = &Part{Kind: KindData, Name: catalog.Capitals(u.name)}
		if !r.hasType(u.name) {
			if p = r.missing(KindData, u.name); p.Kind == KindData {
				p.Name = catalog.Capitals(u.name)
			}
		}
		r.known[id] = p
	}
	if p.Need != Nothing {
		r.noteUse(b, *p, u)
	}
}

func (r *Result) hasType(name string) bool {
	if r.bodies[key{sortDefine, name}] != nil || r.bodies[key{sortClass, name}] != nil {
		return true
	}
	for _, kind := range []eval.Kind{eval.KindType, eval.KindDefine, eval.KindClass} {
		if d, err := r.find.Find(kind, name); d != nil || err != nil { // the file with an error is reported itself
			return true
		}
	}
	known, err := r.find.HasResourceType(name)
	return known || err != nil
}
