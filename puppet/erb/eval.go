package erb

import (
	"fmt"
	"strings"
)

// A rendering evaluates one template.
type rendering struct {
	tables *tables
	host   Host
	shared *shared
	name   string // of the template
	out    []byte
	line   int // of the current expression
	depth  int
	steps  int            // not reported to the host yet
	bytes  int            // not reported to the host yet
	ivars  map[string]any // that the template has set
	last   *match         // $~
}

// shared is the state that templates share if they call each other.
type shared struct {
	converted map[string]any // variables as Ruby values, and those of setvar
	methods   map[string]*defNode
	nested    int // depth of nested templates
}

const (
	// maxDepth is the largest depth of nested evaluations of expressions.
	maxDepth = 5000
	// maxTemplates is the largest depth of nested templates.
	maxTemplates = 50
	// stepsPerReport is the number of expressions that are evaluated between
	// two reports to the host.
	stepsPerReport = 64
	bytesPerReport = 1 << 16
)

// env are the local variables of a block or a method.
type env struct {
	vars  map[string]any
	outer *env
	frame *frame
}

// frame is the state that a block shares with the method around it.
type frame struct {
	block *proc // of the method
}

func (e *env) find(name string) *env {
	for x := e; x != nil; x = x.outer {
		if _, ok := x.vars[name]; ok {
			return x
		}
	}
	return nil
}

func (e *env) set(name string, v any) {
	if x := e.find(name); x != nil {
		x.vars[name] = v
		return
	}
	e.vars[name] = v
}

type jumpKind uint8

const (
	jumpReturn jumpKind = iota
	jumpBreak
	jumpNext
)

// jump is a return, break or next that has not reached its target yet.
type jump struct {
	kind  jumpKind
	value any
	frame *frame // of a return: the frame of its method
	block *blockNode
}

func (j *jump) Error() string { return "a jump out of a block" }

// rubyError is an error that a template can rescue.
type rubyError struct {
	class, msg string
	err        error // the error of the host
	name       string
	line       int
}

func (e *rubyError) Error() string { return e.msg }

func (r *rendering) raise(class, format string, args ...any) error {
	return &rubyError{class: class, msg: fmt.Sprintf(format, args...), name: r.name, line: r.line}
}

// subset returns the error for a construct of Ruby that is not evaluated.
func (r *rendering) subset(format string, args ...any) error {
	return &Error{Kind: kindSubset, Name: r.name, Line: r.line, Msg: fmt.Sprintf(format, args...) + outside}
}

// template renders a template.
func (r *rendering) template(t *Template) (string, error) {
	r.name, r.line = t.name, 1
	r.ivars = map[string]any{}
	f := &frame{}
	_, err := r.eval(t.body, &env{vars: map[string]any{}, frame: f})
	if err == nil {
		err = r.report()
	}
	switch e := err.(type) {
	case nil:
		return string(r.out), nil
	case *rubyError:
		msg := e.msg
		if e.err == nil && e.class != "RuntimeError" {
			msg = e.class + ": " + msg
		}
		return "", &Error{Kind: kindRuby, Name: e.name, Line: e.line, Msg: msg, Err: e.err}
	case *jump:
		return "", &Error{Kind: kindRuby, Name: r.name, Line: r.line, Msg: "return, break or next outside of a method and a block"}
	case *Error:
		return "", e
	}
	return "", &Error{Kind: kindRuby, Name: r.name, Line: r.line, Msg: err.Error(), Err: err}
}

// nested renders a template that another template calls.
func (r *rendering) nested(t *Template) (string, error) {
	if r.shared.nested >= maxTemplates {
		return "", r.raise("SystemStackError", "more than %d templates in each other", maxTemplates)
	}
	r.shared.nested++
	defer func() { r.shared.nested-- }()
	in := &rendering{tables: r.tables, host: r.host, shared: r.shared, depth: r.depth}
	return in.template(t)
}

// work counts units of work.
func (r *rendering) work(n int) error {
	r.steps += n
	if r.steps >= stepsPerReport {
		return r.report()
	}
	return nil
}

// made counts bytes.
func (r *rendering) made(n int) error {
	r.bytes += n
	if r.bytes >= bytesPerReport {
		return r.report()
	}
	return r.work(1 + n/64)
}

func (r *rendering) report() error {
	steps, bytes := r.steps, r.bytes
	r.steps, r.bytes = 0, 0
	if err := r.host.Step(steps); err != nil {
		return err
	}
	return r.host.Made(bytes)
}

// fits must be called before a string is made. It returns an error if the
// string is too large.
func (r *rendering) fits(bytes int) error {
	if err := r.host.Size(bytes); err != nil {
		return err
	}
	return r.made(bytes)
}

// list returns an array. If it is too large, it returns an error.
func (r *rendering) list(e []any) (any, error) {
	return &array{e}, r.fits(16 * len(e))
}

// str returns a string. If it is too large, it returns an error.
func (r *rendering) str(s string) (any, error) { return &text{s}, r.fits(len(s)) }

func (r *rendering) put(s string) error {
	if err := r.host.Size(len(r.out) + len(s)); err != nil {
		return err
	}
	if err := r.made(len(s)); err != nil {
		return err
	}
	r.out = append(r.out, s...)
	return nil
}

// eval evaluates an expression.
func (r *rendering) eval(n node, e *env) (any, error) {
	if n == nil {
		return nil, nil
	}
	r.line = n.line()
	if err := r.work(1); err != nil {
		return nil, err
	}
	if r.depth++; r.depth > maxDepth {
		r.depth--
		return nil, r.raise("SystemStackError", "more than %d expressions are evaluated in each other", maxDepth)
	}
	v, err := r.evalNode(n, e)
	r.depth--
	return v, err
}

func (r *rendering) evalNode(n node, e *env) (any, error) {
	switch n := n.(type) {
	case *seqNode:
		var last any
		for _, x := range n.list {
			var err error
			if last, err = r.eval(x, e); err != nil {
				return nil, err
			}
		}
		return last, nil
	case *outNode:
		return nil, r.put(n.text)
	case *insertNode:
		v, err := r.eval(n.x, e)
		if err != nil {
			return nil, err
		}
		s, err := r.toS(v)
		if err != nil {
			return nil, err
		}
		return nil, r.put(s)
	case *literal:
		return n.v, nil
	case *textPart:
		return &text{n.s}, nil
	case *strNode:
		s, err := r.join(n.parts, e)
		if err != nil {
			return nil, err
		}
		if n.sym {
			return symbol(s), nil
		}
		return r.str(s)
	case *regexNode:
		return r.regexp(n, e)
	case *arrayNode:
		list, err := r.values(n.elems, e)
		if err != nil {
			return nil, err
		}
		return r.list(list)
	case *hashNode:
		return r.hashLiteral(n, e)
	case *rangeNode:
		lo, err := r.eval(n.lo, e)
		if err != nil {
			return nil, err
		}
		hi, err := r.eval(n.hi, e)
		return &span{lo, hi, n.exclusive}, err
	case *selfNode:
		return nil, r.subset("self")
	case *localNode:
		if x := e.find(n.name); x != nil {
			return x.vars[n.name], nil
		}
		return nil, nil
	case *ivarNode:
		return r.ivar(n.name, n.path...)
	case *gvarNode:
		return r.gvar(n.name)
	case *constNode:
		return r.constant(n.name)
	case *callNode:
		return r.callNode(n, e)
	case *blockNode:
		return &proc{block: n, env: e, lambda: n.lambda}, nil
	case *yieldNode:
		if e.frame.block == nil {
			return nil, r.raise("LocalJumpError", "no block given (yield)")
		}
		args, err := r.values(n.args, e)
		if err != nil {
			return nil, err
		}
		return r.yield(e.frame.block, args...)
	case *splatNode:
		return nil, r.subset("* here")
	}
	return r.evalControl(n, e)
}

// join returns the text of a string with interpolations.
func (r *rendering) join(parts []node, e *env) (string, error) {
	if len(parts) == 1 {
		if p, is := parts[0].(*textPart); is {
			return p.s, nil
		}
	}
	var b strings.Builder
	for _, part := range parts {
		s := ""
		if p, is := part.(*textPart); is {
			s = p.s
		} else {
			v, err := r.eval(part, e)
			if err != nil {
				return "", err
			}
			if s, err = r.toS(v); err != nil {
				return "", err
			}
		}
		if err := r.host.Size(b.Len() + len(s)); err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// toS returns the text of a value, and counts the work for it.
func (r *rendering) toS(v any) (string, error) {
	switch v := v.(type) {
	case *text:
		return v.s, nil
	case nil:
		return "", nil
	}
	s := toS(v)
	return s, r.fits(len(s))
}

func (r *rendering) regexp(n *regexNode, e *env) (any, error) {
	if n.fixed != nil {
		re, err := n.fixed()
		if err != nil {
			return nil, r.raise("RegexpError", "%v", err)
		}
		return &pattern{n.parts[0].(*textPart).s, onlyOf(n.flags, "mix"), re}, nil
	}
	var b strings.Builder
	for _, part := range n.parts {
		if p, is := part.(*textPart); is {
			b.WriteString(p.s)
			continue
		}
		v, err := r.eval(part, e)
		if err != nil {
			return nil, err
		}
		s, err := r.toS(v)
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	p, err := newPattern(b.String(), n.flags)
	if err != nil {
		return nil, r.raise("RegexpError", "%v", err)
	}
	return p, nil
}

// values evaluates a list. *x in the list is replaced by the elements of x.
func (r *rendering) values(nodes []node, e *env) ([]any, error) {
	list := make([]any, 0, len(nodes))
	for _, n := range nodes {
		splat, is := n.(*splatNode)
		if !is {
			v, err := r.eval(n, e)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		v, err := r.eval(splat.x, e)
		if err != nil {
			return nil, err
		}
		more, err := r.toArray(v)
		if err != nil {
			return nil, err
		}
		if err := r.fits(16 * (len(list) + len(more))); err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func (r *rendering) hashLiteral(n *hashNode, e *env) (any, error) {
	h := newHash(len(n.pairs))
	for _, p := range n.pairs {
		v, err := r.eval(p.value, e)
		if err != nil {
			return nil, err
		}
		if p.key == nil {
			o, is := v.(*hash)
			if !is {
				return nil, r.raise("TypeError", "no implicit conversion of %s into Hash", className(v))
			}
			for i, k := range o.keys {
				h.set(k, o.values[i])
			}
			continue
		}
		k, err := r.eval(p.key, e)
		if err != nil {
			return nil, err
		}
		h.set(k, v)
	}
	return h, r.made(32 * len(h.keys))
}

// toArray converts a value as Array() and * do.
func (r *rendering) toArray(v any) ([]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *array:
		return v.e, nil
	case *hash:
		return v.pairs(), nil
	case *span:
		return r.elements(v)
	}
	return []any{v}, nil
}

func (r *rendering) gvar(name string) (any, error) {
	switch {
	case name == "~":
		if r.last == nil {
			return nil, nil
		}
		return r.last, nil
	case name == "":
		return nil, r.subset("$ without a name")
	case isDigit(name[0]) && name != "0":
		n := 0
		for _, c := range name {
			n = n*10 + int(c-'0')
			if n > 1000 {
				return nil, nil
			}
		}
		if r.last == nil {
			return nil, nil
		}
		return r.last.group(n), nil
	case name == "&" && r.last != nil:
		return r.last.group(0), nil
	}
	if isNameByte(name[0]) && name[0] >= 'a' && name != "stdout" && name != "stderr" && name != "stdin" {
		return nil, nil // a variable without a value
	}
	return nil, r.subset("the global variable $%s", name)
}

// group returns a group of a match, or nil if the group did not take part.
func (m *match) group(n int) any {
	if n < 0 || 2*n+1 >= len(m.loc) || m.loc[2*n] < 0 {
		return nil
	}
	return &text{m.s[m.loc[2*n]:m.loc[2*n+1]]}
}
