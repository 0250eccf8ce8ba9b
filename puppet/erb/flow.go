package erb

// evalControl evaluates assignments, conditions, loops and definitions.
func (r *rendering) evalControl(n node, e *env) (any, error) {
	switch n := n.(type) {
	case *assignNode:
		return r.assignment(n, e)
	case *multiNode:
		v, err := r.eval(n.value, e)
		if err != nil {
			return nil, err
		}
		return v, r.assign(n, v, e)
	case *logicNode:
		v, err := r.eval(n.x, e)
		if err != nil || truthy(v) == n.or {
			return v, err
		}
		return r.eval(n.y, e)
	case *notNode:
		v, err := r.eval(n.x, e)
		return !truthy(v), err
	case *definedNode:
		return r.defined(n.x, e)
	case *ifNode:
		v, err := r.eval(n.cond, e)
		if err != nil {
			return nil, err
		}
		if truthy(v) {
			return r.eval(n.then, e)
		}
		return r.eval(n.other, e)
	case *whileNode:
		return r.while(n, e)
	case *forNode:
		return r.forIn(n, e)
	case *caseNode:
		return r.caseWhen(n, e)
	case *beginNode:
		return r.begin(n, e)
	case *defNode:
		r.shared.methods[n.name] = n
		return symbol(n.name), nil
	case *jumpNode:
		v, err := r.eval(n.value, e)
		if err != nil {
			return nil, err
		}
		return nil, &jump{kind: n.kind, value: v, frame: e.frame}
	}
	return nil, r.raise("NotImplementedError", "internal error: %T", n)
}

func (r *rendering) assignment(n *assignNode, e *env) (any, error) {
	if n.op == "" {
		v, err := r.eval(n.value, e)
		if err != nil {
			return nil, err
		}
		return v, r.assign(n.target, v, e)
	}
	target := n.target
	if c, is := target.(*callNode); is {
		// The receiver of the target is evaluated once.
		recv, err := r.eval(c.recv, e)
		if err != nil {
			return nil, err
		}
		args, err := r.values(c.args, e)
		if err != nil {
			return nil, err
		}
		held := &callNode{at: c.at, recv: &literal{c.at, recv}, name: c.name}
		for _, a := range args {
			held.args = append(held.args, &literal{c.at, a})
		}
		target = held
	}
	old, err := r.eval(target, e)
	if err != nil {
		return nil, err
	}
	var v any
	switch n.op {
	case "||":
		if truthy(old) {
			return old, nil
		}
		v, err = r.eval(n.value, e)
	case "&&":
		if !truthy(old) {
			return old, nil
		}
		v, err = r.eval(n.value, e)
	default:
		if v, err = r.eval(n.value, e); err == nil {
			v, err = r.send(old, n.op, []any{v}, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return v, r.assign(target, v, e)
}

func (r *rendering) assign(target node, v any, e *env) error {
	switch t := target.(type) {
	case *localNode:
		e.set(t.name, v)
		return nil
	case *ivarNode:
		r.ivars[t.name] = v
		return nil
	case *splatNode:
		return r.assign(t.x, v, e)
	case *multiNode:
		return r.multiple(t, v, e)
	case *callNode:
		recv, err := r.eval(t.recv, e)
		if err != nil {
			return err
		}
		args, err := r.values(t.args, e)
		if err != nil {
			return err
		}
		r.line = t.line()
		_, err = r.send(recv, t.name+"=", append(args, v), nil)
		return err
	}
	return r.subset("an assignment to this")
}

// multiple assigns the elements of v to targets.
func (r *rendering) multiple(n *multiNode, v any, e *env) error {
	list, is := v.(*array)
	if !is {
		list = &array{[]any{v}}
	}
	i := 0
	for k, t := range n.targets {
		s, splat := t.(*splatNode)
		if splat {
			after := len(n.targets) - k - 1
			end := max(len(list.e)-after, i)
			rest := &array{append([]any{}, list.e[i:end]...)}
			i = end
			if s.x != nil {
				if err := r.assign(s.x, rest, e); err != nil {
					return err
				}
			}
			continue
		}
		var x any
		if i < len(list.e) {
			x = list.e[i]
		}
		i++
		if err := r.assign(t, x, e); err != nil {
			return err
		}
	}
	return nil
}

// defined returns the result of defined?() for an expression.
func (r *rendering) defined(n node, e *env) (any, error) {
	word := "expression"
	switch n := n.(type) {
	case *seqNode:
		if len(n.list) == 1 {
			return r.defined(n.list[0], e)
		}
	case *localNode:
		word = "local-variable"
	case *ivarNode:
		v, err := r.ivar(n.name, n.path...)
		if err != nil {
			return nil, err
		}
		if _, set := r.ivars[n.name]; v == nil && !set {
			return nil, nil
		}
		word = "instance-variable"
	case *assignNode, *multiNode:
		word = "assignment"
	case *yieldNode:
		if e.frame.block == nil {
			return nil, nil
		}
		word = "yield"
	case *constNode:
		if _, err := r.constant(n.name); err != nil {
			return nil, nil
		}
		word = "constant"
	case *callNode:
		word = "method"
		if n.recv == nil {
			if _, own := r.shared.methods[n.name]; !own && r.tables.kernel[n.name].run == nil {
				return nil, nil
			}
			break
		}
		v, err := r.eval(n.recv, e)
		switch err.(type) {
		case nil:
		case *rubyError, *Error:
			return nil, nil
		default:
			return nil, err
		}
		if !r.responds(v, n.name) {
			return nil, nil
		}
	}
	return &text{word}, nil
}

func (r *rendering) while(n *whileNode, e *env) (any, error) {
	for first := true; ; first = false {
		if !first || !n.after {
			v, err := r.eval(n.cond, e)
			if err != nil {
				return nil, err
			}
			if truthy(v) == n.until {
				return nil, nil
			}
		}
		if v, over, err := r.turn(n.body, e); over || err != nil {
			return v, err
		}
	}
}

// turn evaluates the body of a loop once. If break ends it, over is set and v
// is the value of break.
func (r *rendering) turn(body node, e *env) (v any, over bool, err error) {
	_, err = r.eval(body, e)
	if j, is := err.(*jump); is {
		switch j.kind {
		case jumpBreak:
			return j.value, true, nil
		case jumpNext:
			return nil, false, nil
		}
	}
	return nil, false, err
}

func (r *rendering) forIn(n *forNode, e *env) (any, error) {
	v, err := r.eval(n.list, e)
	if err != nil {
		return nil, err
	}
	list, err := r.elements(v)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		if err := r.assign(n.target, x, e); err != nil {
			return nil, err
		}
		if v, over, err := r.turn(n.body, e); over || err != nil {
			return v, err
		}
	}
	return v, nil
}

func (r *rendering) caseWhen(n *caseNode, e *env) (any, error) {
	subject, err := r.eval(n.subject, e)
	if err != nil {
		return nil, err
	}
	for _, w := range n.whens {
		tests, err := r.values(w.tests, e)
		if err != nil {
			return nil, err
		}
		for _, test := range tests {
			ok := truthy(test)
			if n.subject != nil {
				if ok, err = r.caseEqual(test, subject); err != nil {
					return nil, err
				}
			}
			if ok {
				return r.eval(w.body, e)
			}
		}
	}
	return r.eval(n.other, e)
}

// caseEqual implements ===.
func (r *rendering) caseEqual(test, v any) (bool, error) {
	switch test := test.(type) {
	case *class:
		return isA(v, test.name), nil
	case *pattern:
		switch v.(type) {
		case *text, symbol:
			m, err := r.match(test, toS(v), 0)
			return m != nil, err
		}
		return false, nil
	case *span:
		return covers(test, v), nil
	case *proc:
		x, err := r.yield(test, v)
		return truthy(x), err
	}
	return equal(test, v), nil
}

func isA(v any, name string) bool {
	for _, a := range ancestors(v) {
		if a == name {
			return true
		}
	}
	return false
}

// begin evaluates begin … rescue … ensure … end.
func (r *rendering) begin(n *beginNode, e *env) (any, error) {
	depth := r.depth
	v, err := r.eval(n.body, e)
	if fault, is := err.(*rubyError); is {
		r.depth = depth
		v, err = r.rescue(n, fault, e)
	} else if err == nil && n.other != nil {
		v, err = r.eval(n.other, e)
	}
	if n.ensure != nil && !final(err) {
		if _, failed := r.eval(n.ensure, e); failed != nil {
			return nil, failed
		}
	}
	return v, err
}

// final reports whether an error ends the rendering. Such an error is from the
// host, such as a limit, or is for a construct outside of the subset. Ruby code
// cannot rescue or replace it.
func final(err error) bool {
	switch err.(type) {
	case nil, *rubyError, *jump:
		return false
	}
	return true
}

func (r *rendering) rescue(n *beginNode, fault *rubyError, e *env) (any, error) {
	for _, c := range n.rescues {
		takes := len(c.classes) == 0 && isA(fault, "StandardError")
		for _, x := range c.classes {
			name, is := x.(*constNode)
			if !is {
				return nil, r.subset("rescue of what is not a constant")
			}
			takes = takes || isA(fault, name.name)
		}
		if !takes {
			continue
		}
		if c.target != nil {
			if err := r.assign(c.target, fault, e); err != nil {
				return nil, err
			}
		}
		return r.eval(c.body, e)
	}
	return nil, fault
}
