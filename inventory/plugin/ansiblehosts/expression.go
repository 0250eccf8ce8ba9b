package ansiblehosts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/inventory/ansible"
)

// The part of Jinja's expressions that inventories use for connections:
//
//	expression = primary { "." name | "[" expression "]" } { "|" filter }
//	primary    = text | number | name | "(" expression ")"
//	           | "lookup" "(" "'env'" "," text ")"
//	filter     = ("default" | "d") "(" expression [ "," "true" ] ")"
//	           | "first" | "last" | "lower" | "upper" | "trim" | "string" | "int"
//	           | "join" [ "(" text ")" ]
//
// Names are variables of the host or variables that Ansible sets, such as groups
// (lists of the names of hosts) and hostvars (the variables of other hosts).

// others holds the other hosts of an inventory, and its groups.
type others struct {
	ctx    context.Context
	inv    *ansible.Inventory
	vars   map[*ansible.Host]*ordered.Map
	groups map[string][]any
}

// maxOthers is the number of other hosts whose variables are cached.
const maxOthers = 1000

func newOthers(ctx context.Context, inv *ansible.Inventory) *others {
	return &others{ctx: ctx, inv: inv, vars: make(map[*ansible.Host]*ordered.Map), groups: make(map[string][]any)}
}

// group lists the names of a group's hosts.
func (o *others) group(name string) ([]any, bool) {
	if o == nil || o.inv.Group(name) == nil {
		return nil, false
	}
	list, known := o.groups[name]
	if !known {
		for _, h := range o.inv.Group(name).Members() {
			list = append(list, h.Name)
		}
		o.groups[name] = list
	}
	return list, true
}

// groupNames lists the groups of a host, sorted.
func (o *others) groupNames(h *ansible.Host) []any {
	if o == nil {
		return nil
	}
	var names []string
	for _, g := range o.inv.GroupsOf(h) {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = n
	}
	return list
}

// host returns a host and its variables, nil if no host has that name.
func (o *others) host(name string) (*ansible.Host, *ordered.Map, error) {
	if o == nil || o.inv.Host(name) == nil {
		return nil, nil, nil
	}
	h := o.inv.Host(name)
	vars, known := o.vars[h]
	if !known {
		var err error
		if vars, err = o.inv.Vars(o.ctx, h); err != nil {
			return nil, nil, err
		}
		if len(o.vars) >= maxOthers {
			clear(o.vars)
		}
		o.vars[h] = vars
	}
	return h, vars, nil
}

// Values that only have members: the variables groups and hostvars, and one host
// of the latter.
type (
	groupsOfAll struct{}
	hostvars    struct{}
	hostScope   struct{ *scope }
)

// A thunk evaluates a part of an expression. Its value can contain templates, which
// are evaluated in the scope. The scope is nil if the value is not a template.
type thunk func() (v any, in *scope, err error)

// evaluated returns a thunk for a value that is already evaluated. The elements of
// lists and maps are not evaluated.
func evaluated(v any, in *scope) (any, *scope, error) {
	if _, ok := v.(string); ok {
		in = nil
	}
	return v, in, nil
}

// expression evaluates the text between {{ and }}.
func (s *scope) expression(text string, depth int) (any, error) {
	p := parser{s: s, rest: text, depth: depth}
	t, err := p.expression()
	if err == nil && p.token() != "" {
		err = errTemplate
	}
	if err != nil {
		return nil, err
	}
	return p.final(t)
}

// A parser reads one expression. Its methods parse a part and return a thunk for it.
type parser struct {
	s     *scope
	rest  string
	depth int
	open  int // brackets
}

// final evaluates a part to the end.
func (p *parser) final(t thunk) (any, error) {
	v, in, err := t()
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case groupsOfAll, hostvars, hostScope:
		return nil, errTemplate
	}
	if in == nil {
		return v, nil
	}
	return in.value(v, p.depth+1)
}

// token returns the next token without taking it: a name or a number, a string with
// its quotes, another character, or "" at the end.
func (p *parser) token() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" {
		return ""
	}
	switch c := p.rest[0]; {
	case c == '\'' || c == '"':
		if end := strings.IndexByte(p.rest[1:], c); end >= 0 && !strings.Contains(p.rest[1:1+end], `\`) {
			return p.rest[:end+2]
		}
		return "\x00" // no rule accepts this token
	case isWord(c):
		n := 1
		for n < len(p.rest) && isWord(p.rest[n]) {
			n++
		}
		return p.rest[:n]
	}
	return p.rest[:1]
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// take takes the next token.
func (p *parser) take() string {
	t := p.token()
	p.rest = p.rest[min(len(t), len(p.rest)):]
	return t
}

// took takes the next token if it is t.
func (p *parser) took(t string) bool {
	if p.token() != t {
		return false
	}
	p.take()
	return true
}

func (p *parser) expression() (thunk, error) {
	if *p.s.steps++; *p.s.steps > maxSteps {
		return nil, errTemplateSize
	}
	if p.open++; p.open > maxTemplates {
		return nil, errTemplate
	}
	defer func() { p.open-- }()
	t, err := p.primary()
	for err == nil {
		switch {
		case p.took("."):
			t = p.member(t, constant(p.take()))
		case p.took("["):
			var key thunk
			if key, err = p.expression(); err == nil && !p.took("]") {
				err = errTemplate
			}
			t = p.member(t, key)
		case p.took("|"):
			t, err = p.filter(t)
		default:
			return t, nil
		}
	}
	return nil, err
}

func constant(v any) thunk { return func() (any, *scope, error) { return v, nil, nil } }

func constantIn(v any, in *scope) thunk { return func() (any, *scope, error) { return v, in, nil } }

func (p *parser) primary() (thunk, error) {
	token := p.take()
	switch {
	case token == "(":
		t, err := p.expression()
		if err == nil && !p.took(")") {
			err = errTemplate
		}
		return t, err
	case token == "lookup":
		return p.environment()
	case token == "" || token == "\x00":
		return nil, errTemplate
	case token[0] == '\'' || token[0] == '"':
		return constant(token[1 : len(token)-1]), nil
	case '0' <= token[0] && token[0] <= '9', token == "-":
		if token == "-" {
			token += p.take()
		}
		n, err := strconv.ParseInt(token, 10, 64)
		if err != nil {
			return nil, errTemplate
		}
		return constant(n), nil
	case !isWord(token[0]):
		return nil, errTemplate
	}
	return func() (any, *scope, error) {
		v, ok := p.s.variable(token)
		if !ok {
			return nil, nil, errUndefined{token}
		}
		return v, p.s, nil
	}, nil
}

// environment reads the rest of a lookup of an environment variable.
func (p *parser) environment() (thunk, error) {
	var words []string
	for range 5 {
		words = append(words, p.take())
	}
	kind, name := strings.Trim(words[1], `'"`), strings.Trim(words[3], `'"`)
	if words[0] != "(" || words[2] != "," || words[4] != ")" || kind != "env" && kind != "ansible.builtin.env" || name == words[3] {
		return nil, errTemplate
	}
	return constant(p.s.lookup(name)), nil
}

// member returns an element of a list, a map, groups or hostvars.
func (p *parser) member(of, key thunk) thunk {
	return func() (any, *scope, error) {
		k, err := p.final(key)
		if err != nil {
			return nil, nil, err
		}
		v, in, err := of()
		if err != nil {
			return nil, nil, err
		}
		if text, ok := v.(string); ok && in != nil && isTemplate(text) {
			if v, err = in.value(v, p.depth+1); err != nil {
				return nil, nil, err
			}
		}
		return in.member(v, k)
	}
}

func (s *scope) member(v, key any) (any, *scope, error) {
	undefined := errUndefined{fmt.Sprint(key)}
	name, named := key.(string)
	switch v := v.(type) {
	case groupsOfAll:
		if list, ok := s.others.group(name); named && ok {
			return list, s, nil
		}
	case hostvars:
		h, vars, err := s.others.host(name)
		if err != nil {
			return nil, nil, err
		}
		if named && h != nil {
			return hostScope{s.of(h, vars)}, s, nil
		}
	case hostScope:
		if value, ok := v.variable(name); named && ok {
			return value, v.scope, nil
		}
	case *ordered.Map:
		if value, ok := v.Get(fmt.Sprint(key)); ok {
			return value, s, nil
		}
	case []any:
		n, ok := key.(int64)
		if !ok {
			var err error
			if n, err = strconv.ParseInt(name, 10, 64); err != nil {
				return nil, nil, errTemplate
			}
		}
		if n < 0 {
			n += int64(len(v))
		}
		if 0 <= n && n < int64(len(v)) {
			return v[n], s, nil
		}
	case nil:
	default:
		return nil, nil, errTemplate
	}
	return nil, nil, undefined
}
