package eval

import (
	"sort"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// program evaluates a program in a scope.
func (t *thread) program(s *Site, p *syntax.Program) (value.Value, error) {
	c := compileProgram(p)
	match := s.Scope.match
	v, err := c.body.eval(t, s.Scope)
	s.Scope.match = match
	return v, err
}

// body evaluates the body of a class, a define or a node. In a class or a
// define, next and return end the body. As in Puppet, break in a class ends the
// body that includes the class.
func (t *thread) body(s *Site, d *Definition, scope *Scope) (value.Value, error) {
	c := d.compiled()
	if err := t.enter(scope.label(), s.at, c); err != nil {
		return nil, err
	}
	leave := s.Scope.named.suspend(s.Scope)
	t.begin()
	v, err := c.body.eval(t, scope)
	leave()
	t.leave(c)
	if j, is := err.(*jump); is && j.kind != jumpBreak && d.Kind != KindNode {
		return j.value, nil
	}
	if d.Kind != KindClass || t.depth == 0 {
		err = t.escaped(err)
	}
	return v, err
}

// label returns the name of a named scope in stacks.
func (s *Scope) label() string {
	if s.named.Label != "" {
		return s.named.Label
	}
	return s.named.Name
}

// bind sets the parameters from the values in given, by name.
func (t *thread) bind(s *Site, d *Definition, scope *Scope, given *value.Hash, data func(string) (value.Value, bool, error)) (*value.Hash, error) {
	c := d.compiled()
	if err := t.climb(s.at, c.height); err != nil {
		return nil, err
	}
	defer t.descend(c.height)
	defer s.Scope.named.suspend(s.Scope)()
	f := &Scope{named: scope.named, names: c.names, slots: make([]value.Value, len(c.params))}
	var explicit []bool
	for i := range c.params {
		p := &c.params[i]
		v, is := given.GetString(p.name)
		if _, undef := v.(value.Undef); undef {
			is = false
			if p.value == nil {
				f.slots[i] = v
			}
		}
		if !is && data != nil {
			found, ok, err := data(p.name)
			if err != nil {
				return nil, t.wrap(s.at, err) // Puppet reports the position of the declaration of the class
			}
			// If data contain undef, it is a value unless the parameter has a
			// default.
			if _, undef := found.(value.Undef); ok && (!undef || p.value == nil) {
				v, is = found, true
			}
		}
		explicit = append(explicit, is)
		if is {
			f.slots[i] = v
		}
	}
	if err := t.defaults(s.at, c, f, explicit); err != nil {
		return nil, err
	}
	if err := t.checkNamed(s.at, scope.label(), c, f); err != nil {
		return nil, err
	}
	var b value.HashBuilder
	for i := range c.params {
		v := f.slots[i]
		if v == nil {
			continue
		}
		b.Put(value.String(c.params[i].name), v)
		if err := scope.Set(c.params[i].name, v); err != nil {
			return nil, t.wrap(c.params[i].at, err)
		}
	}
	return b.Build(), nil
}

// defaults evaluates the defaults of the parameters that are not given.
func (t *thread) defaults(at pos, c *code, f *Scope, given []bool) error {
	if c.taken >= 0 {
		return t.fail(at, "reserved-variable", "parameter $%s of %s has a reserved name", c.params[c.taken].name, c.title())
	}
	for i := range c.params {
		if given[i] || c.params[i].value == nil {
			continue
		}
		v, err := t.defaultOf(at, c, f, i)
		if err != nil {
			return err
		}
		f.slots[i] = v
	}
	return nil
}

// checkNamed checks parameters that are given by name.
func (t *thread) checkNamed(at pos, subject string, c *code, f *Scope) error {
	types, err := t.typesOf(c, f)
	if err != nil {
		return err
	}
	var faults []string
	var first pos
	for i := range c.params {
		p := &c.params[i]
		if faults == nil {
			first = p.at // used if this parameter has the first fault
		}
		switch typ := types.params[i]; {
		case f.slots[i] == nil:
			faults = append(faults, "parameter '"+p.name+"' needs a value")
		case typ != nil && !value.Instance(typ, f.slots[i]):
			faults = append(faults, value.Mismatch("parameter '"+p.name+"'", typ, f.slots[i]))
		}
	}
	if faults != nil {
		return t.parameterFault(at, first, c, subject+": "+strings.Join(faults, "; "))
	}
	return nil
}

// plan calls a plan with parameters that are given by name.
func (t *thread) plan(s *Site, d *Definition, params *value.Hash) (value.Value, error) {
	if !t.in.env.Tasks {
		return nil, t.fail(s.at, "plan-refused", "plans cannot be called here")
	}
	if d.Function != nil {
		return t.native(s.Scope, s.at, d.Name, d.Function, []value.Value{params}, nil)
	}
	c := d.compiled()
	f := t.scope(c, nil, t.in.top.named)
	f.function = true
	if err := t.enter(c.name, s.at, c); err != nil {
		return nil, err
	}
	v, err := t.planBody(s.at, c, f, params)
	t.leave(c)
	if j, is := err.(*jump); is && j.kind != jumpBreak {
		return j.value, nil
	}
	if err != nil || d.Function != nil {
		return v, err
	}
	return value.Undef{}, nil // a plan returns a value only with return()
}

// planDefaults evaluates the defaults of a plan for parameters that are not given
// and discards their values. The given parameters are not checked.
func (t *thread) planDefaults(s *Site, d *Definition, params *value.Hash) error {
	if !t.in.env.Tasks || d.Function != nil {
		return nil
	}
	c := d.compiled()
	f := t.scope(c, nil, t.in.top.named)
	f.function = true
	if err := t.enter(c.name, s.at, c); err != nil {
		return err
	}
	defer t.leave(c)
	given := make([]bool, len(c.params))
	for i := range c.params {
		v, is := params.GetString(c.params[i].name)
		if _, undef := v.(value.Undef); is && (!undef || c.params[i].value == nil) {
			f.slots[i], given[i] = v, true
		}
	}
	return t.defaults(s.at, c, f, given)
}

func (t *thread) planBody(at pos, c *code, f *Scope, params *value.Hash) (value.Value, error) {
	if err := t.named(at, c.title(), c, f, params); err != nil {
		return nil, err
	}
	t.begin()
	return c.body.eval(t, f)
}

// named sets the parameters in a local scope from params, by name.
func (t *thread) named(at pos, subject string, c *code, f *Scope, params *value.Hash) error {
	var unknown []string
	index := make(map[string]int, len(c.params))
	for i := range c.params {
		index[c.params[i].name] = i
	}
	given := make([]bool, len(c.params))
	for k, v := range params.All() {
		name, _ := k.(value.String)
		i, is := index[string(name)]
		if !is {
			unknown = append(unknown, value.Inspect(k))
			continue
		}
		_, undef := v.(value.Undef)
		if given[i] = !undef; given[i] || c.params[i].value == nil {
			f.slots[i] = v
		}
	}
	if unknown != nil {
		sort.Strings(unknown)
		return t.parameterFault(at, c.at, c, subject+" has no parameter "+strings.Join(unknown, ", "))
	}
	if err := t.defaults(at, c, f, given); err != nil {
		return err
	}
	return t.checkNamed(at, subject, c, f)
}
