package eval

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A rendering is the text of a template that is being evaluated.
type rendering struct {
	buf       []byte
	sensitive bool
}

type renderTextNode struct {
	pos
	text string
}

func (n *renderTextNode) eval(t *thread, s *Scope) (value.Value, error) {
	return t.render(n.pos, value.String(n.text))
}

type renderNode struct {
	pos
	x node
}

func (n *renderNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	return t.render(n.pos, v)
}

func (t *thread) render(at pos, v value.Value) (value.Value, error) {
	r := t.rendering
	if r == nil {
		return nil, t.fail(at, "internal", "internal error: text outside of a template")
	}
	if hidden, is := v.(*value.Sensitive); is {
		r.sensitive = true
		v = hidden.Unwrap()
	}
	var err error
	r.buf, err = t.appendText(at, r.buf, v)
	return value.Undef{}, err
}

// template evaluates a template.
func (t *thread) template(s *Site, p *syntax.Program, args *value.Hash, local bool) (value.Value, error) {
	if p.Body == nil || len(p.Body.Exprs) != 1 {
		return nil, t.fail(s.at, "bad-template", "the text is not a template")
	}
	epp, is := p.Body.Exprs[0].(*syntax.EPP)
	if !is {
		return nil, t.fail(s.at, "bad-template", "the text is not a template")
	}
	if len(p.Definitions) > 0 {
		return nil, t.fail(s.at, "bad-template", "a template cannot define anything")
	}
	args, names, err := t.templateArgs(s, args)
	if err != nil {
		return nil, err
	}
	c := t.in.template(p, epp, names)
	f := &Scope{named: s.Scope.named, names: c.names, slots: make([]value.Value, len(c.names))}
	if local {
		f.outer = s.Scope
	} else {
		f.named, f.function = s.Scope.named.global(), true
	}
	if err := t.enter("template "+p.File.Name, s.at, c); err != nil {
		return nil, err
	}
	defer t.leave(c)
	outer := t.rendering
	t.rendering = &rendering{}
	defer func() { t.rendering = outer }()
	if err := t.templateParams(s, epp, c, f, args); err != nil {
		return nil, err
	}
	t.begin()
	_, err = c.body.eval(t, f)
	t.end()
	if err != nil {
		return t.templateEnd(s.at, err)
	}
	text := value.String(t.rendering.buf)
	if t.rendering.sensitive {
		return value.NewSensitive(text), nil
	}
	return text, nil
}

// templateEnd returns the value of a template that next or return ended. This
// value replaces the text. As in functions, the value of return can have any
// type.
func (t *thread) templateEnd(at pos, err error) (value.Value, error) {
	j, is := err.(*jump)
	if !is {
		return nil, err
	}
	switch j.kind {
	case jumpReturn:
		return j.value, nil
	case jumpNext:
		if !value.Instance(renderedType, j.value) {
			return nil, t.fail(at, "type-mismatch", "%s", value.Mismatch("the value of the template", renderedType, j.value))
		}
		return j.value, nil
	}
	return nil, err
}

// renderedType is the type of a rendered template.
var renderedType = value.NewVariantType(&value.StringType{}, value.NewSensitiveType(&value.StringType{}))

// maxTemplates is the number of compiled templates that an Interp caches. A
// template is often rendered for many resources.
const maxTemplates = 64

// template returns a compiled template. If undeclared names are given to a
// template without parameters, it is compiled for these names and not cached.
func (in *Interp) template(p *syntax.Program, epp *syntax.EPP, names []string) *code {
	if !epp.HasParams && len(names) > 0 {
		return compileTemplate(p, epp, names)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	c := in.templates[p]
	if c == nil {
		c = compileTemplate(p, epp, nil)
		if in.templates == nil || len(in.templates) == maxTemplates {
			in.templates = map[*syntax.Program]*code{}
		}
		in.templates[p] = c
	}
	return c
}

// templateArgs sets the variables of the caller whose names in args contain ::.
// It returns the other arguments and their names.
func (t *thread) templateArgs(s *Site, args *value.Hash) (*value.Hash, []string, error) {
	if args == nil {
		return nil, nil, nil
	}
	var names []string
	var b value.HashBuilder
	for k, v := range args.All() {
		name := value.ToString(k)
		if !strings.Contains(name, "::") {
			names = append(names, name)
			b.Put(value.String(name), v)
			continue
		}
		if err := s.Scope.Set(strings.TrimPrefix(name, "::"), v); err != nil {
			return nil, nil, t.wrap(s.at, err)
		}
	}
	return b.Build(), names, nil
}

// templateParams sets the parameters of a template. A template that declares no
// parameters accepts any.
func (t *thread) templateParams(s *Site, epp *syntax.EPP, c *code, f *Scope, args *value.Hash) error {
	given := args
	if given == nil {
		given = value.NewHash()
	}
	if epp.HasParams || args == nil {
		// Puppet ignores an unknown parameter whose value is undef.
		for k, v := range given.All() {
			_, undef := v.(value.Undef)
			if undef && !slices.ContainsFunc(epp.Params, func(p *syntax.Param) bool { return value.String(p.Name) == k }) {
				given = given.Without(k)
			}
		}
		return t.named(s.at, c.subject(), c, f, given)
	}
	for i, name := range f.names {
		if v, is := given.GetString(name); is {
			f.slots[i] = v
		}
	}
	return nil
}

// parameterFault returns the error of parameters that are given by name.
// declared is the position of their declaration. The calling program often does
// not name the template itself. Therefore the message includes the position of
// the declaration. If the call does not come from a program, that position is
// the position of the error.
func (t *thread) parameterFault(at, declared pos, c *code, msg string) error {
	e := t.fail(at, "parameter", "%s", msg)
	if c.name != "" {
		return e
	}
	p := declared.position()
	if e.Pos.Line == 0 {
		e.Pos = p
	} else {
		e.Msg += fmt.Sprintf(" (%s, line %d)", p.File, p.Line)
	}
	return e
}

func (c *code) subject() string {
	if c.name == "" {
		return "the template"
	}
	return c.title()
}
