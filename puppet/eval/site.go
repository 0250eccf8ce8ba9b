package eval

import (
	"context"
	"fmt"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Site is a position in an evaluation. Functions and Builders use it to look
// at the evaluation and to evaluate more. It belongs to one goroutine. It is
// valid until the function or method that received it returns.
type Site struct {
	Interp *Interp
	Scope  *Scope // of the caller
	t      *thread
	at     pos
}

// Context returns the context of the run.
func (s *Site) Context() context.Context { return s.t.ctx }

// Behalf returns the value that the innermost CallFor around the site was
// given, or nil outside of CallFor.
func (s *Site) Behalf() any { return s.t.of }

// CallFor is Call with a value that functions inside the call can get with
// Behalf. next and break cannot leave the call.
func (s *Site) CallFor(of any, name string, args ...value.Value) (value.Value, error) {
	was := s.t.of
	s.t.of = of
	defer func() { s.t.of = was }()
	v, err := s.t.callNamed(s.Scope, s.at, name, args, nil)
	return v, s.t.escaped(err)
}

// FirstTime reports whether it is called with these arguments for the first
// time in this evaluation. Callers use it to log a message only once. After a
// hundred different arguments, it returns false.
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

// maxSaid is the number of arguments that FirstTime stores.
const maxSaid = 100

// Position returns the position of the expression in its source.
func (s *Site) Position() syntax.Position { return s.at.position() }

// Errorf returns an Error with the position and the stack of the site.
func (s *Site) Errorf(kind, format string, args ...any) *Error {
	e := Errorf(kind, format, args...)
	e.Pos = s.at.position()
	e.Stack = s.t.stack(s.at)
	return e
}

// Log logs a message at a level.
func (s *Site) Log(level Level, msg string) {
	if log := s.Interp.env.Log; log != nil {
		log(Log{Level: level, Msg: msg, Pos: s.Position(), Scope: s.Scope.String()})
	}
}

// Warn applies the setting strict: it returns an error, or logs a warning, or
// does nothing.
func (s *Site) Warn(kind, msg string) error { return s.t.strict(s.at, kind, msg) }

// Deprecated logs a warning that the call at this position does something
// deprecated. It does so once for each position.
func (s *Site) Deprecated(what string) {
	if p := s.Position(); s.FirstTime("deprecated", fmt.Sprintf("%s %s:%d", what, p.File, p.Line)) {
		s.t.warn(s.at, "deprecation", what)
	}
}

// Step counts n units of work of a function that loops by itself. It returns an
// error if a limit is reached or the context is done.
func (s *Site) Step(n int) error { return s.t.step(s.at, n) }

// Size returns an error if a string of n bytes would be too large.
func (s *Site) Size(n int) error { return s.t.size(s.at, n) }

// Elements returns an error if an array or a hash of n elements would be too
// large.
func (s *Site) Elements(n int) error { return s.t.elements(s.at, n) }

// Walk counts the work of a function that visits or compares all values in v.
func (s *Site) Walk(v value.Value) error { return s.t.walk(s.at, v) }

// Made counts bytes that a function has made or will make, and that are not
// part of its result. It returns an error if the memory limit is exceeded.
func (s *Site) Made(bytes int) error { return s.t.made(s.at, bytes) }

// Budget returns the limits for the matches of regular expressions in a
// function, and for the size of the strings made from them.
func (s *Site) Budget() *value.Budget { return s.t.budget(s.at) }

// Climb reserves the stack that nested expressions of the given height need. A
// function that evaluates a language of its own, and calls functions from
// there, needs it. end releases the stack. If the stack is too small, Climb
// returns an error.
func (s *Site) Climb(height int) (end func(), err error) {
	if err := s.t.climb(s.at, height); err != nil {
		return nil, err
	}
	return func() { s.t.descend(height) }, nil
}

// Call calls a function by its name, as a program at this position would.
func (s *Site) Call(name string, block *Closure, args ...value.Value) (value.Value, error) {
	return s.t.callNamed(s.Scope, s.at, name, args, block)
}

// Find returns the definition of a qualified name, or nil if there is none. A
// leading :: and upper case do not matter.
func (s *Site) Find(kind Kind, name string) (*Definition, error) {
	return s.t.find(kind, name)
}

// ParseType returns the type that a string describes, such as "Array[Integer,
// 1]" or "Mymod::Port". The string can be any expression of constants whose
// value is a type.
func (s *Site) ParseType(text string) (value.Type, error) { return s.t.parseType(s.at, text) }

// Tasks reports whether the rules of plans apply.
func (s *Site) Tasks() bool { return s.Interp.env.Tasks }

// Declared reports whether the catalog contains a resource at this point.
// Without a catalog, it returns false.
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

// HasResourceType reports whether a resource type exists: a core type of
// Puppet, a type that the Loader knows, or a define.
func (s *Site) HasResourceType(name string) (bool, error) {
	t, err := s.t.resourceType(s.at, lower(name))
	return t != nil, err
}

// Template evaluates a parsed template and returns its text. The result is a
// String, or a Sensitive with a String if a sensitive value was rendered. If
// local is set, the template sees the variables of the scope of the site
// (inline_epp), otherwise those of the top or node scope (epp). args are its
// parameters, or nil if none are given.
func (s *Site) Template(p *syntax.Program, args *value.Hash, local bool) (value.Value, error) {
	return s.t.template(s, p, args, local)
}

// Plan calls a plan with parameters that are given by name.
func (s *Site) Plan(d *Definition, params *value.Hash) (value.Value, error) {
	return s.t.plan(s, d, params)
}

// PlanDefaults evaluates the defaults that a plan needs if it is called with
// params, and returns their error. Puppet evaluates them before it checks the
// parameters, so their error comes first.
func (s *Site) PlanDefaults(d *Definition, params *value.Hash) error {
	return s.t.planDefaults(s, d, params)
}

// Bind sets the parameters of a class or a define in a new scope. The value of
// a parameter is its value in given. Otherwise it is the value that data
// returns (data binding). Otherwise it is the default; defaults are evaluated
// in order, and each sees the parameters before it. If data is nil, data
// binding is disabled. Bind checks the types, sets the variables and returns
// all parameters that have a value. It ignores other names in given, such as
// metaparameters.
func (s *Site) Bind(d *Definition, scope *Scope, given *value.Hash, data func(name string) (value.Value, bool, error)) (*value.Hash, error) {
	return s.t.bind(s, d, scope, given, data)
}

// Body evaluates the body of a class, a define or a node in a scope. next and
// return end it.
func (s *Site) Body(d *Definition, scope *Scope) (value.Value, error) {
	return s.t.body(s, d, scope)
}

// Flow returns the flow of the innermost With or Fork around the site, or nil
// outside of both. It passes data about the control flow to the functions of
// the host.
func (s *Site) Flow() any { return s.t.flow }

// With returns the site with another context and flow, for the same goroutine.
// The stack of the evaluation there contains the calls around the site.
func (s *Site) With(ctx context.Context, flow any) *Site {
	return &Site{Interp: s.Interp, Scope: s.Scope, t: s.t.fork(ctx, flow), at: s.at}
}

// Fork returns a copy of the Call for another goroutine (parallelize in plans).
// The copy has the same arguments, block and stack, and its own step count. The
// other goroutine may call its methods, also after the original call has
// returned. flow is as for With.
func (c *Call) Fork(ctx context.Context, flow any) *Call {
	f := *c
	f.t = c.t.fork(ctx, flow)
	c.Scope.kept = c.Scope != c.Scope.named.root
	return &f
}
