package erb

import (
	"fmt"
	"strings"

	"bolt/puppet/value"
)

// A call is a call of a method that is written in Go.
type call struct {
	*rendering
	recv  any
	name  string
	args  []any
	block *proc
	path  []value.Value // keys that the caller follows from the result
}

// A method takes from min to max arguments. If max < 0, the number is unlimited.
type method struct {
	min, max int
	run      func(c *call) (any, error)
}

// tables are the methods, by the class of their receiver.
type tables struct {
	kernel  map[string]method // functions, without an object
	object  map[string]method // of every value
	classes map[string]map[string]method
	modules map[string]map[string]method // methods of constants
}

func newTables() *tables {
	return &tables{
		kernel: kernelMethods(),
		object: objectMethods(),
		classes: map[string]map[string]method{
			"NilClass": nilMethods(), "TrueClass": boolMethods(), "FalseClass": boolMethods(),
			"Integer": numberMethods(), "Float": numberMethods(), "String": stringMethods(), "Symbol": symbolMethods(),
			"Array": arrayMethods(), "Hash": hashMethods(), "Enumerable": enumMethods(), "Range": rangeMethods(),
			"Regexp": regexpMethods(), "MatchData": matchMethods(), "Proc": procMethods(), "Class": classMethods(),
			"Puppet::Parser::Scope": scopeMethods(), "StandardError": errorMethods(), "Enumerator": enumeratorMethods(), "IPAddr": addressMethods(),
		},
		modules: moduleMethods(),
	}
}

// lookup finds a method of a value.
func (r *rendering) lookup(v any, name string) (method, bool) {
	if c, is := v.(*class); is {
		if m, ok := r.tables.modules[c.name][name]; ok {
			return m, true
		}
	}
	if _, is := v.(*scopeObject); is && strings.HasPrefix(name, "function_") {
		return method{0, 1, func(c *call) (any, error) {
			var args []any
			if len(c.args) == 1 {
				var err error
				if args, err = c.arr(0); err != nil {
					return nil, err
				}
			}
			return c.puppetFunction(strings.TrimPrefix(c.name, "function_"), args)
		}}, true
	}
	if f, is := v.(*foreign); is {
		if m, ok := foreignMethod(f, name); ok {
			return m, true
		}
	}
	for _, class := range ancestors(v) {
		if m, ok := r.tables.classes[class][name]; ok {
			return m, true
		}
	}
	m, ok := r.tables.object[name]
	return m, ok
}

func (r *rendering) responds(v any, name string) bool {
	_, ok := r.lookup(v, name)
	return ok
}

// send calls a method.
func (r *rendering) send(recv any, name string, args []any, block *proc, path ...value.Value) (any, error) {
	m, ok := r.lookup(recv, name)
	if !ok {
		if recv == nil {
			return nil, r.raise("NoMethodError", "undefined method %q for nil", name)
		}
		if r.undefined(className(recv), name) {
			return nil, r.raise("NoMethodError", "undefined method %q for a %s", name, className(recv))
		}
		return nil, r.subset("the method %q of %s", name, className(recv))
	}
	return r.run(m, &call{r, recv, name, args, block, path})
}

// undefined reports whether Ruby does not have the method either. If another
// common class has a method with the name, the tables are complete for that
// name, except for the methods that are listed here.
func (r *rendering) undefined(class, name string) bool {
	switch class {
	case "String", "Array", "Hash", "Integer", "Float", "TrueClass", "FalseClass":
	default:
		return false
	}
	switch class + " " + name {
	case "String sum", "Array slice!", "Integer []", "Integer size", "Float []":
		return false
	}
	for _, other := range []string{"String", "Array", "Hash", "Integer", "Enumerable"} {
		if _, ok := r.tables.classes[other][name]; ok {
			return true
		}
	}
	return false
}

func (r *rendering) run(m method, c *call) (any, error) {
	if len(c.args) < m.min || m.max >= 0 && len(c.args) > m.max {
		expected := fmt.Sprint(m.min)
		if m.max < 0 {
			expected += "+"
		} else if m.max > m.min {
			expected += fmt.Sprintf("..%d", m.max)
		}
		return nil, r.raise("ArgumentError", "wrong number of arguments for %s (given %d, expected %s)", c.name, len(c.args), expected)
	}
	line := r.line
	v, err := m.run(c)
	r.line = line
	return v, err
}

func (r *rendering) callNode(n *callNode, e *env) (any, error) {
	var recv any
	var err error
	if n.recv != nil {
		if _, self := n.recv.(*selfNode); self {
			m := *n
			m.recv = nil
			return r.callNode(&m, e)
		}
		if recv, err = r.eval(n.recv, e); err != nil {
			return nil, err
		}
		if n.safe && recv == nil {
			return nil, nil
		}
	}
	args, err := r.values(n.args, e)
	if err != nil {
		return nil, err
	}
	block, err := r.blockOf(n, e)
	if err != nil {
		return nil, err
	}
	r.line = n.line()
	var v any
	if n.recv == nil {
		v, err = r.function(n, args, block, e)
	} else {
		v, err = r.send(recv, n.name, args, block, n.path...)
	}
	if j, is := err.(*jump); is && j.kind == jumpBreak && n.block != nil && j.block == n.block {
		return j.value, nil
	}
	return v, err
}

// blockOf returns the block of a call: the literal block, or the value of &x.
func (r *rendering) blockOf(n *callNode, e *env) (*proc, error) {
	if n.block != nil {
		return &proc{block: n.block, env: e}, nil
	}
	if n.pass == nil {
		return nil, nil
	}
	v, err := r.eval(n.pass, e)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *proc:
		return v, nil
	case symbol:
		return r.symbolProc(v), nil
	}
	return nil, r.raise("TypeError", "wrong argument type %s (expected Proc)", className(v))
}

// symbolProc returns the block that calls a method of its argument.
func (r *rendering) symbolProc(s symbol) *proc {
	return &proc{native: func(args []any) (any, error) {
		if len(args) == 0 {
			return nil, r.raise("ArgumentError", "no receiver given")
		}
		return r.send(args[0], string(s), args[1:], nil)
	}}
}

// function calls a function, which does not have a receiver: a method of the
// template, or a function of Ruby.
func (r *rendering) function(n *callNode, args []any, block *proc, e *env) (any, error) {
	if d := r.shared.methods[n.name]; d != nil {
		return r.own(d, args, block)
	}
	if n.name == "block_given?" {
		return e.frame.block != nil, nil
	}
	if m, ok := r.tables.kernel[n.name]; ok {
		return r.run(m, &call{rendering: r, name: n.name, args: args, block: block})
	}
	if n.bare {
		return nil, r.raise("NameError", "undefined local variable or method %q. A variable of Puppet is @%s", n.name, n.name)
	}
	return nil, r.subset("the function %q", n.name)
}

// own calls a method that a template defines.
func (r *rendering) own(d *defNode, args []any, block *proc) (any, error) {
	f := &frame{block: block}
	e := &env{vars: map[string]any{}, frame: f}
	if err := r.bind(d.params, args, e, true); err != nil {
		return nil, err
	}
	last := r.last
	v, err := r.eval(d.body, e)
	r.last = last
	if j, is := err.(*jump); is && j.kind == jumpReturn && j.frame == f {
		return j.value, nil
	}
	return v, err
}

// yield calls a block.
func (r *rendering) yield(p *proc, args ...any) (any, error) {
	if err := r.work(1); err != nil {
		return nil, err
	}
	if p.native != nil {
		return p.native(args)
	}
	e := &env{vars: map[string]any{}, outer: p.env, frame: p.env.frame}
	if p.lambda {
		e.frame = &frame{block: p.env.frame.block}
	}
	if err := r.bind(p.block.params, args, e, p.lambda); err != nil {
		return nil, err
	}
	v, err := r.eval(p.block.body, e)
	j, is := err.(*jump)
	switch {
	case !is:
		return v, err
	case j.kind == jumpNext, j.kind == jumpReturn && p.lambda && j.frame == e.frame, j.kind == jumpBreak && p.lambda && j.block == nil:
		return j.value, nil
	case j.kind == jumpBreak && j.block == nil:
		j.block = p.block
	}
	return nil, err
}

// bind sets the parameters. If strict is set, it checks the number of
// arguments, and does not spread a single array.
func (r *rendering) bind(params []param, args []any, e *env, strict bool) error {
	var positional []param
	var named []param
	required, optional, splat := 0, 0, -1
	for _, p := range params {
		switch {
		case p.block:
			e.vars[p.name] = nil
			if e.frame.block != nil {
				e.vars[p.name] = e.frame.block
			}
		case p.key || p.keySplat:
			named = append(named, p)
		default:
			switch {
			case p.splat:
				splat = len(positional)
			case p.value != nil:
				optional++
			default:
				required++
			}
			positional = append(positional, p)
		}
	}
	var options *hash
	if named != nil && len(args) > required {
		if h, is := args[len(args)-1].(*hash); is {
			options, args = h, args[:len(args)-1]
		}
	}
	if !strict && len(args) == 1 && len(positional) > 1 {
		if list, is := args[0].(*array); is {
			args = list.e
		}
	}
	if strict && (len(args) < required || splat < 0 && len(args) > required+optional) {
		return r.raise("ArgumentError", "wrong number of arguments (given %d, expected %d)", len(args), required+optional)
	}
	if err := r.positional(positional, args, required, e); err != nil {
		return err
	}
	return r.named(named, options, e)
}

func (r *rendering) positional(params []param, args []any, required int, e *env) error {
	spare := max(len(args)-required, 0) // arguments for defaults and a splat
	for i, p := range params {
		switch {
		case p.splat:
			n := min(spare, len(args))
			for _, q := range params[i+1:] {
				if q.value != nil && n > 0 {
					n--
				}
			}
			if p.name != "" {
				e.vars[p.name] = &array{append([]any{}, args[:n]...)}
			}
			args = args[n:]
			spare -= n
			continue
		case p.value != nil && spare == 0:
			v, err := r.eval(p.value, e)
			if err != nil {
				return err
			}
			e.vars[p.name] = v
			continue
		case p.value != nil:
			spare--
		}
		var v any
		if len(args) > 0 {
			v, args = args[0], args[1:]
		}
		if p.sub != nil {
			list, is := v.(*array)
			if !is {
				list = &array{[]any{v}}
			}
			if err := r.positional(p.sub, list.e, requiredOf(p.sub), e); err != nil {
				return err
			}
			continue
		}
		e.vars[p.name] = v
	}
	return nil
}

func requiredOf(params []param) int {
	n := 0
	for _, p := range params {
		if p.value == nil && !p.splat {
			n++
		}
	}
	return n
}

func (r *rendering) named(params []param, options *hash, e *env) error {
	if options == nil {
		options = newHash(0)
	}
	rest := options.copy()
	for _, p := range params {
		if p.keySplat {
			e.vars[p.name] = rest
			continue
		}
		v, given := options.get(symbol(p.name))
		rest.delete(symbol(p.name))
		if !given {
			if p.required {
				return r.raise("ArgumentError", "missing keyword: :%s", p.name)
			}
			var err error
			if v, err = r.eval(p.value, e); err != nil {
				return err
			}
		}
		e.vars[p.name] = v
	}
	return nil
}

// Arguments of methods.

func (c *call) str(i int) (string, error) {
	switch v := c.args[i].(type) {
	case *text:
		return v.s, nil
	case symbol:
		return string(v), nil
	}
	return "", c.raise("TypeError", "%s: no implicit conversion of %s into String", c.name, className(c.args[i]))
}

func (c *call) int(i int) (int, error) {
	switch v := c.args[i].(type) {
	case int64:
		return int(v), nil
	case float64:
		return int(v), nil
	}
	return 0, c.raise("TypeError", "%s: no implicit conversion of %s into Integer", c.name, className(c.args[i]))
}

// arr returns argument i, which must be an array.
func (c *call) arr(i int) ([]any, error) {
	if v, is := c.args[i].(*array); is {
		return v.e, nil
	}
	return nil, c.raise("TypeError", "%s: no implicit conversion of %s into Array", c.name, className(c.args[i]))
}

// hashArg returns argument i, which must be a hash.
func (c *call) hashArg(i int) (*hash, error) {
	if v, is := c.args[i].(*hash); is {
		return v, nil
	}
	return nil, c.raise("TypeError", "%s: no implicit conversion of %s into Hash", c.name, className(c.args[i]))
}

// needBlock returns an error if the call does not have a block.
func (c *call) needBlock() error {
	if c.block == nil {
		return c.subset("%s without a block", c.name)
	}
	return nil
}
