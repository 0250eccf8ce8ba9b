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

// Values of plans wrap the results of package run. A result's output stays in the
// result and becomes a value only when a plan reads it.

func (x *Executor) result(r *event.Result) *value.Object {
	if r.Action == event.Apply {
		return x.o.Language.types.applyResult.Wrap(r)
	}
	return x.o.Language.types.result.Wrap(r)
}

func runResult(v value.Value) *event.Result {
	r, _ := v.(*value.Object).Payload().(*event.Result)
	return r
}

// resultData returns a result as data in the form of Puppet Bolt.
func resultData(o *value.Object) (value.Value, error) {
	m, err := runResult(o).Data()
	if err != nil {
		return nil, err
	}
	return valuedata.Of(m)
}

// resultValue returns the value of a result.
func resultValue(r *event.Result) (value.Value, error) {
	m, err := r.Members()
	if err != nil {
		return nil, err
	}
	return valuedata.Of(m)
}

// resultMember returns one member of the value of a result, or undef, without making
// the other members.
func resultMember(r *event.Result, key string) (value.Value, error) {
	d, _, err := r.Member(key)
	if err != nil {
		return nil, err
	}
	return valuedata.Of(d)
}

// newResult implements Result.new(target, value).
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
		h, ok := args[1].(*value.Hash)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "Result.new expects a Hash, got %s", value.DescribeValue(args[1]))
		}
		m, err := plainMap("the value of Result.new", h)
		if err != nil {
			return nil, err
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

// errorObject returns an error in data as a value.
func errorObject(m *ordered.Map) (value.Value, error) {
	f := failf("", "")
	f.Kind, _ = m.Value("kind").(string)
	f.Msg, _ = m.Value("msg").(string)
	f.Code, _ = m.Value("issue_code").(string)
	details, err := valuedata.Of(m.Value("details"))
	if err != nil {
		return nil, err
	}
	if h, ok := details.(*value.Hash); ok {
		f.Details = h
	}
	return f.object(), nil
}

// resultFunctions returns the attributes and functions of Result.
func resultFunctions() []*eval.Function {
	about := func(name, params string, tell func(c *eval.Call, r *event.Result) value.Value) *eval.Function {
		return member("Result", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, runResult(c.Args[0])), nil })
	}
	data := func(name string, tell func(o *value.Object, r *event.Result) (value.Value, error)) *eval.Function {
		return member("Result", name, "", func(c *eval.Call) (value.Value, error) { return tell(c.Args[0].(*value.Object), runResult(c.Args[0])) })
	}
	return []*eval.Function{
		about("target", "", func(c *eval.Call, r *event.Result) value.Value { return of(&c.Site).target(r.Target) }),
		data("value", func(_ *value.Object, r *event.Result) (value.Value, error) { return resultValue(r) }),
		data("to_data", func(o *value.Object, _ *event.Result) (value.Value, error) { return resultData(o) }),
		about("action", "", func(_ *eval.Call, r *event.Result) value.Value { return value.String(r.Action) }),
		about("ok", "", func(_ *eval.Call, r *event.Result) value.Value { return value.Bool(r.OK()) }),
		about("status", "", func(_ *eval.Call, r *event.Result) value.Value {
			if r.OK() {
				return value.String("success")
			}
			return value.String("failure")
		}),
		data("error", func(_ *value.Object, r *event.Result) (value.Value, error) {
			if r.Err == nil {
				return value.Undef{}, nil
			}
			return errorObject(r.Err.Map())
		}),
		data("message", func(_ *value.Object, r *event.Result) (value.Value, error) { return resultMember(r, "_output") }),
		about("sensitive", "", func(_ *eval.Call, r *event.Result) value.Value {
			if v, ok := r.Value.Value("_sensitive").(*value.Sensitive); ok {
				return v
			}
			return value.Undef{}
		}),
		member("Result", "[]", "String $key", func(c *eval.Call) (value.Value, error) {
			r, key := runResult(c.Args[0]), string(c.Args[1].(value.String))
			if v, ok := r.Value.Value(key).(*value.Sensitive); ok {
				return v, nil
			}
			return resultMember(r, key)
		}),
	}
}

// applyResultFunctions returns the attributes and functions of ApplyResult.
func applyResultFunctions() []*eval.Function {
	own := func(name string, tell func(r *event.Result) (value.Value, error)) *eval.Function {
		return member("ApplyResult", name, "", func(c *eval.Call) (value.Value, error) { return tell(runResult(c.Args[0])) })
	}
	list := []*eval.Function{
		own("report", func(r *event.Result) (value.Value, error) { return resultMember(r, "report") }),
		own("catalog", appliedCatalog),
		own("value", func(r *event.Result) (value.Value, error) {
			v, err := resultValue(r)
			if h, ok := v.(*value.Hash); ok && err == nil && r.Applied != nil {
				var c value.Value
				if c, err = appliedCatalog(r); !value.IsUndef(c) {
					v = h.With(value.String("_sensitive"), value.NewSensitive(value.NewHash(value.Entry{Key: value.String("catalog"), Value: c})))
				}
			}
			return v, err
		}),
	}
	for _, f := range resultFunctions() {
		switch _, name, _ := strings.Cut(f.Name, "."); name {
		case "target", "error", "ok", "message", "action", "to_data":
			list = append(list, member("ApplyResult", name, "", f.Signatures[0].Run))
		}
	}
	return list
}

// appliedCatalog returns the catalog of a result. It returns undef if the catalog is
// not known, because nothing was applied, or because the run of the plan was resumed
// since.
func appliedCatalog(r *event.Result) (value.Value, error) {
	if r.Applied == nil || r.Applied.Catalog == nil {
		return value.Undef{}, nil
	}
	text, err := r.Applied.Catalog.MarshalJSON()
	if err != nil {
		return nil, err
	}
	data, err := ordered.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return valuedata.Of(data)
}

// A resultSet contains the results of an action on its targets, in their order.
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

func resultSetData(o *value.Object) (value.Value, error) {
	list := make([]value.Value, 0, len(setOf(o)))
	for _, r := range setOf(o) {
		d, err := resultData(r.(*value.Object))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return value.NewArray(list...), nil
}

func elements(o *value.Object) *value.Array { return value.NewArray(setOf(o)...) }

// newResultSet implements ResultSet.new(results).
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

// resultSetFunctions returns the attributes and functions of ResultSet.
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
		member("ResultSet", "to_data", "", func(c *eval.Call) (value.Value, error) { return resultSetData(c.Args[0].(*value.Object)) }),
		// One result, or a range of results, including both ends.
		about("[]", "Integer $from, Integer $to = 0", func(c *eval.Call, set []value.Value) value.Value {
			at := func(v value.Value) int {
				n := int(value.ClampInt(v))
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

// member returns a function of a type's objects, which are its first argument.
func member(typ, name, params string, run func(c *eval.Call) (value.Value, error)) *eval.Function {
	self := typ + " $self"
	if params != "" {
		self += ", " + params
	}
	return &eval.Function{Name: strings.ToLower(typ) + "." + name, Doc: "The member " + name + " of " + typ + ".", Signatures: []eval.Signature{{Params: self, Run: run}}}
}

// secretless returns data in which a placeholder string replaces each secret.
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

// Data converts a value to data as package valuedata does. A Result, a Target or an
// Error becomes the data that Puppet Bolt writes for it.
func Data(v value.Value) (any, error) { return converter(atOnce).To(v) }

// ToWrite is like Data, but its result may only be written: the results in it are
// safejson.Lazy.
func ToWrite(v value.Value) (any, error) { return converter(whenWritten).To(v) }

// atOnce returns a result as data.
func atOnce(r *event.Result) (any, error) { return r.Data() }

// whenWritten returns a result as data that is made when it is written. So, if a
// plan returns a thousand results, only one of them is in memory at a time.
func whenWritten(r *event.Result) (any, error) { return laterData{r}, nil }

// laterData is a safejson.Lazy.
type laterData struct{ r *event.Result }

func (l laterData) Data() (any, error) { return l.r.Data() }

// converter returns a converter for the objects of plans. of returns a result as
// data.
func converter(of func(*event.Result) (any, error)) *valuedata.Converter {
	c := &valuedata.Converter{}
	c.Object = func(o *value.Object) (data any, ok bool, err error) {
		switch p := o.Payload().(type) {
		case *inventory.Target:
			return p.SafeName(), true, nil
		case *event.Result:
			data, err = of(p)
			return data, true, err
		case *resultSet:
			data, err = c.To(value.NewArray(p.results...))
			return data, true, err
		case *event.ContainerResult:
			return p.Map(), true, nil
		case *resource:
			data, err = p.data()
			return data, true, err
		case *future:
			return p.String(), true, nil
		}
		if o.Type() == value.ErrorType() {
			return ofObject(o).data(c), true, nil
		}
		return nil, false, nil
	}
	return c
}

// resultsOf returns the results of a ResultSet that a plan has returned.
func resultsOf(v value.Value) (list []*event.Result, ok bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, false
	}
	s, ok := o.Payload().(*resultSet)
	if !ok {
		return nil, false
	}
	list = make([]*event.Result, 0, len(s.results))
	for _, r := range s.results {
		list = append(list, runResult(r))
	}
	return list, true
}

// Results returns the results of the action whose failure f is.
func (f *Failure) Results() (list []*event.Result, ok bool) {
	if !f.acted {
		return nil, false
	}
	v, _ := f.Details.GetString("result_set")
	return resultsOf(v)
}
