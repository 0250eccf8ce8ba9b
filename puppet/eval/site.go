package eval

import (
	"context"
	"fmt"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Site is a place in an evaluation: what functions and Builders see of it
// and evaluate further by. It belongs to one goroutine and is valid until the
// function or method that got it returns.
type Site struct {
	Interp *Interp
	Scope  *Scope // of the caller
	t      *thread
	at     pos
}

// Context returns the context of the run.
func (s *Site) Context() context.Context { return s.t.ctx }

// Behalf returns what is evaluated on behalf of here: what the innermost
// CallFor around the site was given, nil outside of any.
func (s *Site) Behalf() any { return s.t.of }

// CallFor is Call on behalf of something that functions further inside need to
// know of. next and break cannot get out of it.
func (s *Site) CallFor(of any, name string, args ...value.Value) (value.Value, error) {
	was := s.t.of
	s.t.of = of
	defer func() { s.t.of = was }()
	v, err := s.t.callNamed(s.Scope, s.at, name, args, nil)
	return v, s.t.escaped(err)
}

// FirstTime tells whether it is asked with these words for the first time in
// this evaluation: so that something is said once. After a hundred different
// ones the answer is false.
func (s *Site) FirstTime(about, what string) bool {
	in := s.Interp
	if in.saids.Load() >= maxSaid {
		return false
	}
	if _, before := in.said.LoadOrStore([2]string{about, what}, nil); before {
		return false
	}
	return in.saids.Add(1) <= maxSaid
}

// maxSaid bounds what FirstTime remembers.
const maxSaid = 100

// Position returns where the expression is written.
func (s *Site) Position() syntax.Position { return s.at.position() }

// Errorf returns an Error with the site's place and stack.
func (s *Site) Errorf(kind, format string, args ...any) *Error {
	e := Errorf(kind, format, args...)
	e.Pos = s.at.position()
	e.Stack = s.t.stack(s.at)
	return e
}

// Log says something at a level.
func (s *Site) Log(level Level, msg string) {
	if log := s.Interp.env.Log; log != nil {
		log(Log{Level: level, Msg: msg, Pos: s.Position(), Scope: s.Scope.String()})
	}
}

// Warn is for what the setting strict decides about: an error is returned, a
// warning is logged, or neither.
func (s *Site) Warn(kind, msg string) error { return s.t.strict(s.at, kind, msg) }

// Deprecated warns that what the call at this place does is deprecated, once
// for each place.
func (s *Site) Deprecated(what string) {
	if p := s.Position(); s.FirstTime("deprecated", fmt.Sprintf("%s %s:%d", what, p.File, p.Line)) {
		s.t.warn(s.at, "deprecation", what)
	}
}

// Step counts n units of work of a function that loops by itself, and returns
// an error when a limit is reached or the context is done.
func (s *Site) Step(n int) error { return s.t.step(s.at, n) }

// Size returns an error when a string of n bytes would be too large.
func (s *Site) Size(n int) error { return s.t.size(s.at, n) }

// Elements returns an error when an array or a hash of n elements would be too
// large.
func (s *Site) Elements(n int) error { return s.t.elements(s.at, n) }

// Walk counts the work of a function that looks at all that is in v, or
// compares it.
func (s *Site) Walk(v value.Value) error { return s.t.walk(s.at, v) }

// Made tells of bytes that a function has made or is about to make, and that
// its result does not show: an error says that too much is in memory.
func (s *Site) Made(bytes int) error { return s.t.made(s.at, bytes) }

// Budget is what the matches of regular expressions in a function may take,
// and how large what is made of them may be.
func (s *Site) Budget() *value.Budget { return s.t.budget(s.at) }

// Climb reserves as much stack as height nested expressions take. A function that
// evaluates a language of its own, and calls functions from there, needs it. The
// result gives the stack back. The error is for too little stack.
func (s *Site) Climb(height int) (end func(), err error) {
	if err := s.t.climb(s.at, height); err != nil {
		return nil, err
	}
	return func() { s.t.descend(height) }, nil
}

// Call calls a function by its name, as a program at this place would.
func (s *Site) Call(name string, block *Closure, args ...value.Value) (value.Value, error) {
	return s.t.callNamed(s.Scope, s.at, name, args, block)
}

// Find returns what a qualified name stands for, nil when there is none. A
// leading :: and upper case do not matter.
func (s *Site) Find(kind Kind, name string) (*Definition, error) {
	return s.t.find(kind, name)
}

// ParseType returns the type that a text is: "Array[Integer, 1]",
// "Mymod::Port". The text may be any expression of constants whose value is a
// type.
func (s *Site) ParseType(text string) (value.Type, error) { return s.t.parseType(s.at, text) }

// Tasks tells whether the rules of plans hold.
func (s *Site) Tasks() bool { return s.Interp.env.Tasks }

// Declared tells whether the catalog has a resource by now; without a catalog
// nothing is declared.
func (s *Site) Declared(typeName, title string) (bool, error) {
	b := s.Interp.env.Builder
	if b == nil {
		return false, nil
	}
	_, found, err := b.Parameter(s, typeName, title, "title")
	if found {
		err = nil
	}
	return found, err
}

// HasResourceType tells whether there are resources of a type: one of Puppet's
// core, one that the Loader knows, or a define.
func (s *Site) HasResourceType(name string) (bool, error) {
	t, err := s.t.resourceType(s.at, lower(name))
	return t != nil, err
}

// Template evaluates a parsed template and returns its text: a String, or a
// Sensitive with a String if something sensitive was rendered. It sees the
// variables of the site's scope if local (inline_epp), or those of the
// top or node scope (epp). args are its parameters, nil for none given.
func (s *Site) Template(p *syntax.Program, args *value.Hash, local bool) (value.Value, error) {
	return s.t.template(s, p, args, local)
}

// Plan calls a plan with parameters by name.
func (s *Site) Plan(d *Definition, params *value.Hash) (value.Value, error) {
	return s.t.plan(s, d, params)
}

// PlanDefaults evaluates the defaults that a plan needs if it is called with
// params, and returns their error. Puppet evaluates them before it checks the
// parameters, so their error comes first.
func (s *Site) PlanDefaults(d *Definition, params *value.Hash) error {
	return s.t.planDefaults(s, d, params)
}

// Bind gives the parameters of a class or a define, which are not given
// positions, their values in a new scope: those in given; else what data says
// (data binding; nil: nothing is asked); else their defaults, in order, each
// seeing the ones before it. It checks their types, sets the variables and
// returns all parameters that have a value. given may hold more than
// parameters (metaparameters), which are passed over.
func (s *Site) Bind(d *Definition, scope *Scope, given *value.Hash, data func(name string) (value.Value, bool, error)) (*value.Hash, error) {
	return s.t.bind(s, d, scope, given, data)
}

// Body evaluates the body of a class, a define or a node in a scope. next and
// return end it.
func (s *Site) Body(d *Definition, scope *Scope) (value.Value, error) {
	return s.t.body(s, d, scope)
}

// Flow returns the flow of the innermost With or Fork around the site, nil
// outside of any. It carries the host's data about the flow of control to the
// host's functions.
func (s *Site) Flow() any { return s.t.flow }

// With returns the site with another context and flow, for the same goroutine: the
// stack of what is evaluated there goes on with the calls around the site.
func (s *Site) With(ctx context.Context, flow any) *Site {
	return &Site{Interp: s.Interp, Scope: s.Scope, t: s.t.fork(ctx, flow), at: s.at}
}

// Fork returns a Call for another goroutine (a plan's parallelize): it has the
// same arguments, block and stack, and a count of its own. The other goroutine
// may call its methods, also after the original has returned. flow is as for With.
func (c *Call) Fork(ctx context.Context, flow any) *Call {
	f := *c
	f.t = c.t.fork(ctx, flow)
	c.Scope.kept = c.Scope != c.Scope.named.root
	return &f
}
