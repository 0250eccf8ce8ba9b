// Package compile makes catalogs from programs of the Puppet language.
//
// A compiler is the Builder of one evaluation (package puppet/eval). It records the resources that
// programs declare, and evaluates classes and instances of defined types at the time at which
// Puppet does. The steps of Compile are those of Puppet:
//
//  1. The main programs are evaluated, then the node definition that matches, then the
//     classes in Options.
//  2. Collectors, realize and instances of defined types are evaluated, again and again,
//     until there are no new resources.
//  3. Relations and late overrides become parameters of resources, and the resources
//     become a catalog.
//
// The reference is Puppet's own behaviour, as testdata/puppet records it; the language
// specification does not describe the steps.
package compile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bolt/catalog"
	"bolt/catalog/exports"
	"bolt/catalog/types"
	"bolt/environment"
	"bolt/environment/autoload"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options describe one compilation.
type Options struct {
	// Node is the certname, which node definitions match.
	Node string
	// Environment is the name of the environment of the code.
	Environment string
	// Declared are classes that are declared with their parameters after the node definition.
	Declared []Class
	// Classes are evaluated after Declared. Their names are in lower case.
	Classes []string
	// Exports finds the exported resources of other nodes. nil finds none; if a program then
	// collects some, there is a warning of kind NoExports.
	Exports Exports
	// Resolve makes the compiler call the functions of Deferred values, which otherwise stay in the catalog.
	Resolve bool
}

// NoExports is the kind of a warning.
const NoExports = "no-exports"

// Exports are the exported resources of nodes.
type Exports interface {
	// Find returns the resources of a type ("Web::Vhost") that nodes other than node export and
	// that match the query; nil matches all. The caller must not change them.
	Find(ctx context.Context, node, typ string, q eval.Query) ([]exports.Export, error)
}

// A Collected is a resource of another node that a collector has added to the catalog.
type Collected struct {
	Node string
	Ref  catalog.Ref
}

// A Class is a class that a classifier declares with parameters.
type Class struct {
	Name   string // in lower case
	Params *value.Hash
}

// A Result is the result of a compilation.
type Result struct {
	// Catalog contains the virtual resources, too.
	Catalog *catalog.Catalog
	// Value is the value of the last main program.
	Value value.Value
	// Collected are the resources of other nodes in the catalog, in its order.
	Collected []Collected
}

// Compile evaluates the main programs (a manifest, or all manifests of a directory) for a node and
// returns the catalog. x must be new: it is used for this compilation only. If the programs have an
// error, it is an *eval.Error with a position.
func Compile(ctx context.Context, x *environment.Evaluation, programs []*syntax.Program, o Options) (*Result, error) {
	c := newCompiler(x)
	c.nodeName, c.exports = o.Node, o.Exports
	x.Interp.Env().Builder = c
	v, err := c.run(ctx, programs, o)
	if err != nil {
		return nil, err
	}
	if o.Resolve {
		if err := c.resolveDeferred(ctx); err != nil {
			return nil, err
		}
	}
	made, err := c.catalog(o)
	if err != nil {
		return nil, err
	}
	return &Result{Catalog: made, Value: v, Collected: c.foreign()}, nil
}

// A compiler is an eval.Builder and an eval.Cataloger.
type compiler struct {
	x        *environment.Evaluation
	list     []*resource            // in the order of the catalog
	byRef    map[eval.Ref]*resource // by titles and by aliases
	combined map[string]*resource   // by names that only together with other parameters must differ
	byType   map[string]*kin        // by names that must only be unique together with other parameters
	main     *resource              // Class[main], which references do not find
	classes  []string               // evaluated, in order
	tags     tagSet                 // of the catalog
	pending  []*resource            // instances of defined types that may have to be evaluated
	awaiting []*collector           // in the order of the programs
	// inheriting are the classes whose parents are being declared.
	inheriting []string
	types      map[string]resourceType // the declared types, by name

	defaults  map[*eval.Scope]map[string][]eval.Attribute // by type
	overrides []*override                                 // of resources that are not declared yet
	relations []*eval.Relation
	related   int // references that relations have added
	realized  []eval.Ref

	nodeName string
	exports  Exports      // nil for none
	asking   []*collector // collectors of exported resources that have not queried other nodes' exports yet
	warned   bool         // about exports that are not collected
}

func newCompiler(x *environment.Evaluation) *compiler {
	c := &compiler{
		x:        x,
		byRef:    make(map[eval.Ref]*resource),
		combined: make(map[string]*resource),
		byType:   make(map[string]*kin),
		types:    make(map[string]resourceType),
		defaults: make(map[*eval.Scope]map[string][]eval.Attribute),
	}
	// Every catalog begins with these three resources.
	stage := newResource(eval.Ref{Type: "stage", Title: mainTitle}, nil)
	stage.kind = catalog.KindType
	stage.params = stage.params.With(value.String("name"), value.String(mainTitle))
	settings := newResource(eval.Ref{Type: "class", Title: "settings"}, nil)
	settings.kind = catalog.KindUnknown
	settings.within(stage)
	c.main = newResource(eval.Ref{Type: "class", Title: mainTitle}, nil)
	c.main.kind = catalog.KindUnknown
	c.main.params = c.main.params.With(value.String("name"), value.String(mainTitle))
	c.main.within(stage)
	for _, r := range []*resource{stage, settings, c.main} {
		r.done = true
		c.list = append(c.list, r)
	}
	c.byRef[stage.ref], c.byRef[settings.ref] = stage, settings
	c.classes = []string{"settings"}
	c.tags.add("settings")
	return c
}

// initial is the number of resources at the beginning of every catalog.
const initial = 3

// mainTitle is the title of the first stage and of the class of the top of the main program.
const mainTitle = "main"

// maxResources is the maximum number of resources of a catalog, and maxRelated the maximum number
// of references that relations add. They stop a program that declares without an end.
const (
	maxResources = 250_000
	maxRelated   = 5_000_000
)

// maxRounds is the number of times that new resources may be found, as in Puppet.
const maxRounds = 1000

func (c *compiler) run(ctx context.Context, programs []*syntax.Program, o Options) (value.Value, error) {
	for name, v := range map[string]string{"title": mainTitle, "name": mainTitle, "module_name": ""} {
		if given := c.x.Interp.Env().Variables; given != nil {
			if _, is := given.GetString(name); is { // set by a target or a plan
				continue
			}
		}
		if err := c.x.Interp.Top().Set(name, value.String(v)); err != nil {
			return nil, err
		}
	}
	v, err := c.x.Interp.RunAll(ctx, programs)
	if err != nil {
		return nil, err
	}
	scope, err := c.node(ctx, o.Node)
	if err != nil {
		return nil, err
	}
	if err := c.assign(c.x.Interp.Site(ctx, scope), o.Declared, o.Classes); err != nil {
		return nil, err
	}
	for rounds, more := 0, true; more; rounds++ {
		if rounds > maxRounds {
			return nil, c.endless()
		}
		if more, err = c.generate(ctx); err != nil {
			return nil, err
		}
	}
	return v, c.finish(ctx)
}

// endless returns the error for instances that declare others without an end. It names one of them.
func (c *compiler) endless() error {
	for _, r := range c.pending {
		if r.form == syntax.Regular {
			return at(r.pos, eval.Errorf("limit", "instances of %s declare others without an end", r.def.Name))
		}
	}
	return eval.Errorf("limit", "collectors find new resources without an end")
}

// generate evaluates new collectors, realize and instances of defined types since the last call.
// more is false if there were none.
func (c *compiler) generate(ctx context.Context) (more bool, err error) {
	if more, err = c.collect(ctx); err != nil {
		return false, err
	}
	rest := c.realized[:0]
	for _, ref := range c.realized {
		if r := c.look(ref); r == nil {
			rest = append(rest, ref)
		} else if r.form != syntax.Regular {
			r.form, more = syntax.Regular, true
		}
	}
	c.realized = rest
	instances := c.pending
	c.pending = nil
	for _, r := range instances {
		if r.form != syntax.Regular {
			c.pending = append(c.pending, r)
			continue
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r.done, more = true, true
		scope := c.x.Interp.NewScope(eval.ScopeOptions{
			Kind: eval.DefineScope, Name: r.def.Name, Label: reference(r.ref), Module: r.def.Module, Parent: r.scope, Owner: r,
		})
		site := c.x.Interp.Site(ctx, r.scope)
		if err := c.bind(site, scope, r, nil); err != nil {
			return false, at(r.pos, err)
		}
		if _, err := site.Body(r.def, scope); err != nil {
			return false, err
		}
	}
	return more, nil
}

// at sets the position of an error to a declaration, unless it has a position.
func at(pos syntax.Position, err error) error {
	if e, ok := errors.AsType[*eval.Error](err); ok && e.Pos.Line == 0 {
		e.Pos = pos
	}
	return err
}

// warn logs a warning.
func (c *compiler) warn(s *eval.Scope, pos syntax.Position, kind, msg string) {
	if log := c.x.Interp.Env().Log; log != nil {
		log(eval.Log{Level: eval.Warning, Kind: kind, Msg: msg, Pos: pos, Scope: s.String()})
	}
}

// owner returns the class or resource that a scope belongs to; for the top scope it is Class[main].
func (c *compiler) owner(s *eval.Scope) *resource {
	if s != nil {
		if r, is := s.Options().Owner.(*resource); is {
			return r
		}
	}
	return c.main
}

// add adds a resource under its title and its other names.
func (c *compiler) add(r *resource) error {
	if old := c.byRef[r.ref]; old != nil {
		return eval.Errorf("duplicate-declaration", "%s is declared already%s", reference(r.ref), old.where())
	}
	if len(c.list) >= maxResources {
		return eval.Errorf("limit", "the catalog would have more than %d resources", maxResources)
	}
	if v, is := r.params.GetString("tag"); is {
		for _, tag := range texts(v) {
			if !isTag(tag) {
				return eval.Errorf("bad-tag", "%q cannot be a tag", tag)
			}
		}
	}
	if _, is := r.params.GetString("stage"); is && r.ref.Type != "class" {
		return eval.Errorf("bad-stage", "%s cannot be in a stage: only classes can", reference(r.ref))
	}
	c.byRef[r.ref] = r
	c.list = append(c.list, r)
	k := c.kinOf(r.ref.Type)
	k.resources = append(k.resources, r)
	c.noteChange(r)
	for _, name := range r.aliases() {
		ref := eval.Ref{Type: r.ref.Type, Title: name}
		if old := c.byRef[ref]; old != nil && old != r {
			return eval.Errorf("duplicate-declaration", "%s cannot be %s too, which is declared already%s", reference(r.ref), reference(ref), old.where())
		}
		c.byRef[ref] = r
	}
	if key := r.combined(); key != "" {
		if old := c.combined[key]; old != nil {
			_, name := r.key()
			return eval.Errorf("duplicate-declaration", "%s has the name %s, as %s has, which is declared already%s", reference(r.ref), value.ToString(name), reference(old.ref), old.where())
		}
		c.combined[key] = r
	}
	if r.ref.Type != "class" && r.ref.Type != "stage" {
		r.within(c.owner(r.scope))
	}
	if r.def != nil && r.def.Kind == eval.KindDefine {
		c.pending = append(c.pending, r)
	}
	return nil
}

// look returns the resource that a reference names, nil if it is not declared.
func (c *compiler) look(r eval.Ref) *resource {
	if found := c.byRef[r]; found != nil {
		return found
	}
	return c.byRef[canonicalTitle(r)]
}

// find returns the definition of a type, nil for a type that is not a defined type.
func (c *compiler) find(s *eval.Site, typ string) (*eval.Definition, error) {
	def, err := s.Find(eval.KindDefine, typ)
	if def != nil || err != nil {
		return def, err
	}
	known, err := s.HasResourceType(typ)
	if err == nil && !known {
		err = unknown("unknown-resource-type", typ, "resource type "+typ+" does not exist")
	}
	return nil, err
}

// A resourceType is the type of resources: a defined type, a type in Ruby, or a type of Puppet.
type resourceType struct {
	def  *eval.Definition
	ruby *autoload.ResourceType
}

// define stores the definition of the type of a resource. Each type is looked up once.
func (c *compiler) define(s *eval.Site, r *resource, pos syntax.Position) (err error) {
	t, known := c.types[r.ref.Type]
	if !known {
		if t.def, err = c.find(s, r.ref.Type); err != nil {
			return err
		}
		if t.def == nil {
			if t.ruby, err = c.inRuby(s, pos, r.ref.Type); err != nil {
				return err
			}
		}
		c.types[r.ref.Type] = t
	}
	r.def, r.ruby, r.kind = t.def, t.ruby, catalog.KindType
	if r.def != nil {
		r.kind = catalog.KindDefine
	}
	return nil
}

// unknown returns the error for a name that is not defined.
func unknown(kind, name, msg string) error {
	return &eval.Error{Kind: kind, Name: name, Msg: msg}
}

// RubyType is the kind of the warnings about types that modules define in Ruby. All nodes
// whose catalogs have such a type get the same message.
const RubyType = "ruby-type"

// inRuby returns the known parts of a type that a module defines in Ruby, nil for other types. It
// warns about the type, unless package types knows it.
func (c *compiler) inRuby(s *eval.Site, pos syntax.Position, typ string) (*autoload.ResourceType, error) {
	def, err := s.Find(eval.KindResourceType, typ)
	if err != nil {
		return nil, err
	}
	var ruby *autoload.ResourceType
	if def != nil {
		ruby, _ = def.Data.(*autoload.ResourceType)
	}
	if ruby != nil && types.Find(typ) == nil {
		c.warn(s.Scope, pos, RubyType, fmt.Sprintf("the type %s of module %s is defined in Ruby: its parameters are not checked", typ, def.Module))
	}
	return ruby, nil
}

// Declare adds resources and evaluates classes.
func (c *compiler) Declare(s *eval.Site, d *eval.Declaration) ([]value.Value, error) {
	var refs []value.Value
	for _, b := range d.Bodies {
		for _, title := range b.Titles {
			ref, err := c.declare(s, d, &b, title)
			if err != nil {
				return nil, err
			}
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// declare adds one resource, or evaluates one class.
func (c *compiler) declare(s *eval.Site, d *eval.Declaration, b *eval.Body, title string) (value.Value, error) {
	r := newResource(eval.Ref{Type: d.Type, Title: title}, s.Scope)
	r.outer = c.tagsOf(s.Scope)
	r.form, r.exported, r.pos = d.Form, d.Form == syntax.Exported, d.Pos
	r.numbered = b.NotStrings
	r.change(s.Scope, b.Attrs)
	if d.Type == "class" {
		r.ref.Title = className(title)
		r.kind = catalog.KindClass
		if err := c.class(s, r); err != nil {
			return nil, err
		}
		if err := c.enter(s, r.ref.Title); err != nil {
			return nil, err
		}
		return value.NewClassRef(r.ref.Title), nil
	}
	if err := c.define(s, r, d.Pos); err != nil {
		return nil, err
	}
	r.fill(s.Scope, c.defaultsFor(s.Scope, d.Type))
	if err := c.add(r); err != nil {
		return nil, err
	}
	return value.NewResourceRef(d.Type, title), nil
}

// Realize stores resources that will be made real.
func (c *compiler) Realize(_ *eval.Site, refs []eval.Ref) error {
	c.realized = append(c.realized, refs...)
	return nil
}

// Default stores attributes for resources of a type that are declared in a scope from now on. Each
// attribute can be set once.
func (c *compiler) Default(s *eval.Site, typ string, attrs []eval.Attribute) error {
	at := s.Scope.Named()
	if c.defaults[at] == nil {
		c.defaults[at] = make(map[string][]eval.Attribute)
	}
	for _, a := range attrs {
		if slices.ContainsFunc(c.defaults[at][typ], func(o eval.Attribute) bool { return o.Name == a.Name }) {
			return eval.Errorf("duplicate-default", "%s has a default for %s in this scope", typ, a.Name)
		}
		c.defaults[at][typ] = append(c.defaults[at][typ], a)
	}
	return nil
}

// defaultsFor returns the defaults for resources of a type in a scope, including the defaults of
// the scopes around it.
func (c *compiler) defaultsFor(s *eval.Scope, typ string) (list []eval.Attribute) {
	if len(c.defaults) == 0 {
		return nil
	}
	if o := s.Options(); o.Parent != nil {
		list = c.defaultsFor(o.Parent, typ)
	}
	for _, a := range c.defaults[s.Named()][typ] {
		i := slices.IndexFunc(list, func(o eval.Attribute) bool { return o.Name == a.Name })
		if i < 0 {
			list = append(list, a)
		} else {
			list[i] = a
		}
	}
	return list
}

// Parameter returns the current value of a parameter of a resource or class.
func (c *compiler) Parameter(_ *eval.Site, typ, title, name string) (value.Value, bool, error) {
	if typ == "class" {
		title = className(title)
	}
	r := c.look(eval.Ref{Type: typ, Title: title})
	if r == nil {
		return nil, false, nil
	}
	if !r.accepts(name) {
		return nil, true, r.lacks(name)
	}
	v, ok := r.params.GetString(name)
	if _, undef := v.(value.Undef); (!ok || undef) && r.scope != nil {
		for _, a := range c.defaultsFor(r.scope, typ) {
			if a.Name == name {
				return a.Value, true, nil
			}
		}
	}
	return v, true, nil
}
