package executor

import (
	"slices"
	"strings"

	"bolt/environment"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/transport"
)

// Results of plans stand for those of package run: output stays where that has
// it, and becomes a value when a program asks for it.

func (x *Executor) result(r *event.Result) *value.Object { return x.o.Language.types.result.Wrap(r) }

func runResult(v value.Value) *event.Result {
	r, _ := v.(*value.Object).Payload().(*event.Result)
	return r
}

// resultMap is a result as Puppet Bolt has it as data.
func resultMap(r *event.Result) *ordered.Map {
	if m, err := r.Data(); err == nil {
		return m
	}
	return ordered.Of("target", r.Target.Name, "action", r.Action, "value", &ordered.Map{})
}

func mustValue(v any) value.Value {
	w, err := valuedata.Of(v)
	if err != nil {
		return value.Undef{}
	}
	return w
}

func resultData(o *value.Object) value.Value { return mustValue(resultMap(runResult(o))) }

// resultValue is what the result came to: the value of Puppet Bolt's Result.
func resultValue(r *event.Result) *value.Hash {
	if m, err := r.Members(); err == nil {
		if h, ok := mustValue(m).(*value.Hash); ok {
			return h
		}
	}
	return value.NewHash()
}

// resultMember is one of the values of a result, made without the others.
func resultMember(r *event.Result, key string) (v value.Value, ok bool) {
	d, ok, err := r.Member(key)
	if err != nil || !ok {
		return nil, false
	}
	return mustValue(d), true
}

// newResult is Result.new(target, value).
func newResult(data any, args []value.Value) (value.Value, error) {
	x, _ := environment.Host(data).(*Executor)
	if x == nil || len(args) == 0 || len(args) > 2 {
		return nil, eval.Errorf("argument-count", "Result.new expects a target and a hash")
	}
	o, ok := args[0].(*value.Object)
	if !ok || inventoryTarget(o) == nil {
		return nil, eval.Errorf("type-mismatch", "Result.new expects a Target, got %s", value.DescribeValue(args[0]))
	}
	r := &event.Result{Target: inventoryTarget(o), Value: &ordered.Map{}}
	if len(args) == 2 {
		m, ok := plain(args[1]).(*ordered.Map)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "Result.new expects a Hash, got %s", value.DescribeValue(args[1]))
		}
		for k, v := range m.All() {
			if k != "_error" {
				r.Value.Set(k, v)
				continue
			}
			given, _ := v.(*ordered.Map)
			if given == nil {
				given = ordered.Of("msg", v, "kind", "bolt/error", "details", &ordered.Map{})
			}
			r.Err = &event.Error{Class: event.ClassFailed, Given: given, Details: &ordered.Map{}}
			r.Err.Msg, _ = given.Value("msg").(string)
			r.Err.Kind, _ = given.Value("kind").(string)
		}
	}
	return x.result(r), nil
}

// errorOf is the error of a result as a value; nil without one.
func errorOf(r *event.Result) *value.Object {
	if r.Err == nil {
		return nil
	}
	return errorObject(r.Err.Map())
}

// errorObject is an error in data as a value.
func errorObject(m *ordered.Map) *value.Object {
	f := failf("", "")
	f.Kind, _ = m.Value("kind").(string)
	f.Msg, _ = m.Value("msg").(string)
	f.Code, _ = m.Value("issue_code").(string)
	if h, ok := mustValue(m.Value("details")).(*value.Hash); ok {
		f.Details = h
	}
	return f.object()
}

// resultFunctions are the attributes and functions of Result.
func resultFunctions() []*eval.Function {
	about := func(name, params string, tell func(c *eval.Call, r *event.Result) value.Value) *eval.Function {
		return member("Result", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, runResult(c.Args[0])), nil })
	}
	return []*eval.Function{
		about("target", "", func(c *eval.Call, r *event.Result) value.Value { return of(&c.Site).target(r.Target) }),
		about("value", "", func(_ *eval.Call, r *event.Result) value.Value { return resultValue(r) }),
		about("to_data", "", func(c *eval.Call, _ *event.Result) value.Value { return resultData(c.Args[0].(*value.Object)) }),
		about("action", "", func(_ *eval.Call, r *event.Result) value.Value { return value.String(r.Action) }),
		about("ok", "", func(_ *eval.Call, r *event.Result) value.Value { return value.Bool(r.OK()) }),
		about("status", "", func(_ *eval.Call, r *event.Result) value.Value {
			if r.OK() {
				return value.String("success")
			}
			return value.String("failure")
		}),
		about("error", "", func(_ *eval.Call, r *event.Result) value.Value {
			if e := errorOf(r); e != nil {
				return e
			}
			return value.Undef{}
		}),
		about("message", "", func(_ *eval.Call, r *event.Result) value.Value {
			if v, ok := resultMember(r, "_output"); ok {
				return v
			}
			return value.Undef{}
		}),
		about("sensitive", "", func(_ *eval.Call, r *event.Result) value.Value {
			if v, ok := r.Value.Value("_sensitive").(*value.Sensitive); ok {
				return v
			}
			return value.Undef{}
		}),
		about("[]", "String $key", func(c *eval.Call, r *event.Result) value.Value {
			if v, ok := r.Value.Value(string(c.Args[1].(value.String))).(*value.Sensitive); ok {
				return v
			}
			if v, ok := resultMember(r, string(c.Args[1].(value.String))); ok {
				return v
			}
			return value.Undef{}
		}),
	}
}

// A resultSet is what an action came to on its targets, in their order.
type resultSet struct{ results []value.Value }

func (x *Executor) set(results []value.Value) *value.Object {
	return x.o.Language.types.resultSet.Wrap(&resultSet{results})
}

func setOf(v value.Value) []value.Value {
	s, _ := v.(*value.Object).Payload().(*resultSet)
	if s == nil {
		return nil
	}
	return s.results
}

func resultSetData(o *value.Object) value.Value {
	list := make([]value.Value, 0, len(setOf(o)))
	for _, r := range setOf(o) {
		list = append(list, resultData(r.(*value.Object)))
	}
	return value.NewArray(list...)
}

func elements(o *value.Object) *value.Array { return value.NewArray(setOf(o)...) }

// newResultSet is ResultSet.new(results).
func newResultSet(data any, args []value.Value) (value.Value, error) {
	if x, _ := environment.Host(data).(*Executor); x != nil && len(args) == 1 {
		if list, ok := args[0].(*value.Array); ok {
			results := list.Elems()
			if !slices.ContainsFunc(results, func(v value.Value) bool {
				o, ok := v.(*value.Object)
				return !ok || runResult(o) == nil
			}) {
				return x.set(results), nil
			}
		}
	}
	return nil, eval.Errorf("type-mismatch", "ResultSet.new expects an array of results")
}

// resultSetFunctions are the attributes and functions of ResultSet.
func resultSetFunctions() []*eval.Function {
	about := func(name, params string, tell func(c *eval.Call, set []value.Value) value.Value) *eval.Function {
		return member("ResultSet", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, setOf(c.Args[0])), nil })
	}
	where := func(c *eval.Call, set []value.Value, want func(r *event.Result) bool) value.Value {
		var kept []value.Value
		for _, r := range set {
			if want(runResult(r)) {
				kept = append(kept, r)
			}
		}
		return of(&c.Site).set(kept)
	}
	allOK := func(set []value.Value) bool {
		return !slices.ContainsFunc(set, func(r value.Value) bool { return !runResult(r).OK() })
	}
	filter := member("ResultSet", "filter_set", "", nil)
	filter.Signatures[0].Block = "Callable[1, 1]"
	filter.Signatures[0].Run = func(c *eval.Call) (value.Value, error) {
		var kept []value.Value
		for _, r := range setOf(c.Args[0]) {
			v, err := c.Yield(r)
			if eval.IsBreak(err) {
				break
			}
			if err != nil {
				return nil, err
			}
			if value.Truthy(v) {
				kept = append(kept, r)
			}
		}
		return of(&c.Site).set(kept), nil
	}
	return []*eval.Function{
		filter,
		about("results", "", func(_ *eval.Call, set []value.Value) value.Value { return value.NewArray(set...) }),
		about("count", "", func(_ *eval.Call, set []value.Value) value.Value { return value.Int(len(set)) }),
		about("empty", "", func(_ *eval.Call, set []value.Value) value.Value { return value.Bool(len(set) == 0) }),
		about("ok", "", func(_ *eval.Call, set []value.Value) value.Value { return value.Bool(allOK(set)) }),
		about("error_set", "", func(c *eval.Call, set []value.Value) value.Value {
			return where(c, set, func(r *event.Result) bool { return !r.OK() })
		}),
		about("ok_set", "", func(c *eval.Call, set []value.Value) value.Value {
			return where(c, set, func(r *event.Result) bool { return r.OK() })
		}),
		about("first", "", func(_ *eval.Call, set []value.Value) value.Value {
			if len(set) == 0 {
				return value.Undef{}
			}
			return set[0]
		}),
		about("find", "String $name", func(c *eval.Call, set []value.Value) value.Value {
			for _, r := range set {
				if runResult(r).Target.Name == string(c.Args[1].(value.String)) {
					return r
				}
			}
			return value.Undef{}
		}),
		about("names", "", func(_ *eval.Call, set []value.Value) value.Value {
			names := make([]value.Value, len(set))
			for i, r := range set {
				names[i] = value.String(runResult(r).Target.Name)
			}
			return value.NewArray(names...)
		}),
		about("targets", "", func(c *eval.Call, set []value.Value) value.Value {
			targets := make([]*inventory.Target, len(set))
			for i, r := range set {
				targets[i] = runResult(r).Target
			}
			return of(&c.Site).targetList(targets)
		}),
		about("to_data", "", func(c *eval.Call, _ []value.Value) value.Value { return resultSetData(c.Args[0].(*value.Object)) }),
		// One result, or those from one place to another, both included.
		about("[]", "Integer $from, Integer $to = 0", func(c *eval.Call, set []value.Value) value.Value {
			at := func(v value.Value) int {
				n := int(v.(value.Int))
				if n < 0 {
					n += len(set)
				}
				return n
			}
			from := at(c.Args[1])
			if len(c.Args) == 2 {
				if from < 0 || from >= len(set) {
					return value.Undef{}
				}
				return set[from]
			}
			to := min(at(c.Args[2])+1, len(set))
			if from < 0 || from >= to {
				return value.NewArray()
			}
			return value.NewArray(set[from:to]...)
		}),
	}
}

// member is a function of a type's objects, which are its first argument.
func member(typ, name, params string, run func(c *eval.Call) (value.Value, error)) *eval.Function {
	self := typ + " $self"
	if params != "" {
		self += ", " + params
	}
	return &eval.Function{Name: strings.ToLower(typ) + "." + name, Doc: "The member " + name + " of " + typ + ".", Signatures: []eval.Signature{{Params: self, Run: run}}}
}

// secretless is data with secrets as text that shows nothing of them.
func secretless(v any) any {
	switch v := v.(type) {
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(k, secretless(e))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = secretless(e)
		}
		return list
	case transport.Secret:
		return v.String()
	}
	return v
}

// Data is a value as data that package safetext writes as JSON: a Result, a
// Target or an Error is what it is there.
func Data(v value.Value) any {
	return dataOf(v, func(r *event.Result) any { return resultMap(r) })
}

// ToWrite is Data for nothing but writing: results in it are safejson.Lazy.
func ToWrite(v value.Value) any { return dataOf(v, whenWritten) }

// whenWritten is a result as data that is made when it is written: of a thousand
// that a plan returns, one is there at a time.
func whenWritten(r *event.Result) any { return laterData{r} }

// laterData is a safejson.Lazy.
type laterData struct{ r *event.Result }

func (l laterData) Data() (any, error) { return resultMap(l.r), nil }

// dataOf is a value as data, in which of says what a result is.
func dataOf(v value.Value, of func(*event.Result) any) any {
	switch v := v.(type) {
	case *value.Object:
		switch p := v.Payload().(type) {
		case *inventory.Target:
			return p.SafeName()
		case *event.Result:
			return of(p)
		case *resultSet:
			return dataOf(value.NewArray(p.results...), of)
		case *ContainerResult:
			return p.Map()
		case *resource:
			return p.data()
		case *future:
			return p.String()
		}
		if v.Type() == value.ErrorType() {
			return ofObject(v).data(of)
		}
	case *value.Array:
		list := make([]any, v.Len())
		for i, e := range v.All() {
			list[i] = dataOf(e, of)
		}
		return list
	case *value.Hash:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(value.ToString(k), dataOf(e, of))
		}
		return m
	case *value.Sensitive:
		return value.Redacted
	}
	return valuedata.To(v)
}

// Results returns the results of a ResultSet that a plan has returned.
func Results(v value.Value) (list []*event.Result, ok bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, false
	}
	s, ok := o.Payload().(*resultSet)
	if !ok {
		return nil, false
	}
	for _, r := range s.results {
		list = append(list, runResult(r))
	}
	return list, true
}

// OneResult is a Result that a plan has returned.
func OneResult(v value.Value) (r *event.Result, ok bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, false
	}
	r, ok = o.Payload().(*event.Result)
	return r, ok
}

// Results are those of an action whose failure this is.
func (f *Failure) Results() (list []*event.Result, ok bool) {
	if !f.acted {
		return nil, false
	}
	v, _ := f.Details.GetString("result_set")
	return Results(v)
}

// ErrorOf is an Error that a plan has returned.
func (x *Executor) ErrorOf(v value.Value) (f *Failure, ok bool) {
	o, ok := v.(*value.Object)
	if !ok || o.Type() != value.ErrorType() {
		return nil, false
	}
	return x.again(o), true
}
