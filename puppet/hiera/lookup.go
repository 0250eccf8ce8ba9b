package hiera

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"bolt/puppet/value"
)

// errNoFunction is the error of Caller.Call for a function that does not exist.
var errNoFunction = errors.New("the function does not exist")

// A Caller is the context of a lookup in a program.
type Caller interface {
	// Variable returns the value of a variable in this context. Names can be
	// qualified ("::x", "mod::x"). With keys, the lookup uses only the part of
	// the value to which the nested keys lead.
	Variable(name string, keys ...value.Value) (value.Value, bool)
	// Call calls a function. If the function does not exist, the error is
	// errNoFunction.
	Call(ctx context.Context, function string, args ...value.Value) (value.Value, error)
	// ParseType returns the type that a string describes.
	ParseType(text string) (value.Type, error)
}

// A Request describes a lookup.
type Request struct {
	Names []string // the first one that is found is used
	// Type is the required type of the value; nil: any.
	Type value.Type
	// Merge is the name of a strategy or a hash of options. nil: lookup_options
	// decide; without them, the first value is used.
	Merge value.Value
	// Default is the value if none is found. nil: the result is an error of the
	// kind "not-found".
	Default value.Value
	// Block returns the value if none is found. It precedes Default. It can be
	// nil.
	Block func() (value.Value, error)
	// Overrides are used instead of the data, Defaults if no value is found.
	// Both can be nil.
	Overrides, Defaults *value.Hash
	// Global searches only the global layer.
	Global bool
	// Explain records the steps of the lookup, or is nil.
	Explain *Explanation
	// Source receives the location where the value was found, or is nil.
	Source *Source
}

// A lookup is a Request that is being processed, or a lookup on behalf of
// another.
type lookup struct {
	s                   *Session
	ctx                 context.Context
	caller              Caller
	overrides, defaults *value.Hash
	ex                  *Explanation
	names               []string // keys that are being looked up, outermost first
	module              string   // of the key
	global              bool
	depth               int
	spent               *int   // number of interpolated expressions, including those of outer lookups
	from                source // of the last value
	merged              bool   // the last value is from several sources
	// origins receives the sources of the keys of lookup_options while these
	// are looked up; otherwise nil.
	origins map[string]source

	// While a hierarchy is resolved:
	used  *[]usedVariable // variables that the hierarchy depends on; otherwise nil
	local *localVariable  // of mapped_paths
	level level           // its paths are being resolved; an unknown variable is at most a warning
}

type localVariable struct {
	name  string
	value value.Value
}

// A usedVariable is a variable that the paths of a hierarchy depend on.
type usedVariable struct {
	key, root string
	segments  []value.Value
	value     value.Value
}

// An insider is a Caller that connects nested lookups. A lookup in a function
// that a lookup calls is made on behalf of the outer lookup.
type insider interface {
	outer() *lookup          // the lookup around the call, or nil
	inside(l *lookup) Caller // the same context, for calls inside of l
}

// start returns the lookup for a request. If a data function makes the lookup,
// it is made on behalf of the lookup that called the function. Therefore the
// keys that are being looked up are known, and there is a single explanation.
func (s *Session) start(ctx context.Context, caller Caller, r Request) *lookup {
	l := &lookup{s: s, ctx: ctx, caller: caller, overrides: r.Overrides, defaults: r.Defaults, ex: r.Explain, global: r.Global}
	if outer := outerOf(caller); outer != nil && outer.s == s {
		l.names, l.depth, l.spent = outer.names, outer.depth, outer.spent
		l.global = l.global || outer.global
		if l.ex == nil {
			l.ex = outer.ex
		}
	}
	if l.spent == nil {
		l.spent = new(int)
	}
	return l
}

func outerOf(caller Caller) *lookup {
	if in, ok := caller.(insider); ok {
		return in.outer()
	}
	return nil
}

// invoke calls a function on behalf of l. Functions can make lookups, so
// recursion through functions is detected.
func (l *lookup) invoke(function string, args ...value.Value) (value.Value, error) {
	caller := l.caller
	if in, ok := caller.(insider); ok {
		caller = in.inside(l)
	}
	return caller.Call(l.ctx, function, args...)
}

// sub returns a lookup on behalf of l.
func (l *lookup) sub() *lookup {
	c := *l
	c.names = slices.Clip(l.names)
	c.used, c.local, c.level, c.origins = nil, nil, level{}, nil
	return &c
}

// meta returns a lookup on behalf of l without overrides and defaults.
func (l *lookup) meta() *lookup {
	c := l.sub()
	c.overrides, c.defaults = nil, nil
	return c
}

// check runs f while name is one of the keys that are being looked up. If name
// is one of them already, the result is an error.
func (l *lookup) check(name string, f func() error) error {
	if slices.Contains(l.names, name) {
		return errorf("recursion", "the lookup of '%s' leads back to itself: %s", name, quoteNames(append(slices.Clip(l.names), name)))
	}
	if len(l.names) >= maxNesting {
		return errorf("recursion", "lookups lead to each other more than %d deep", maxNesting)
	}
	l.names = append(slices.Clip(l.names), name)
	err := f()
	l.names = l.names[:len(l.names)-1]
	return err
}

// Lookup looks up a value. Errors are *Error, or errors of functions of the
// caller.
func (s *Session) Lookup(ctx context.Context, caller Caller, r Request) (v value.Value, err error) {
	defer recoverBug(&err)
	return s.start(ctx, caller, r).find(r)
}

// Parameter looks up the value of a parameter of a class. The key is
// "class::parameter". If the data does not contain it, found is false.
func (s *Session) Parameter(ctx context.Context, caller Caller, key string) (v value.Value, found bool, err error) {
	defer recoverBug(&err)
	return s.start(ctx, caller, Request{}).key(key, nil)
}

// recoverBug converts a panic, which is a bug, to an error.
func recoverBug(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Kind: "internal", Msg: fmt.Sprintf("internal error in a lookup: %v", r), Err: fmt.Errorf("%s", debug.Stack())}
	}
}

// find implements the function lookup.
func (l *lookup) find(r Request) (value.Value, error) {
	for _, name := range r.Names {
		if l.overrides != nil {
			if v, ok := l.overrides.GetString(name); ok {
				return v, checkType("value for '"+name+"' in the override hash", r.Type, v)
			}
		}
		v, found, err := l.key(name, r.Merge)
		if err != nil {
			return nil, err
		}
		if found {
			at := Source{l.from, l.merged}
			if r.Source != nil {
				*r.Source = at
			}
			err := checkType("value found for '"+name+"'", r.Type, v)
			if e, is := errors.AsType[*Error](err); is {
				e.Msg += at.String()
			}
			return v, err
		}
	}
	if l.defaults != nil {
		for _, name := range r.Names {
			if v, ok := l.defaults.GetString(name); ok {
				return v, checkType("value for '"+name+"' in the hash of default values", r.Type, v)
			}
		}
	}
	if r.Block != nil {
		v, err := r.Block()
		if err != nil {
			return nil, err
		}
		return v, checkType("value that the block returned", r.Type, v)
	}
	if r.Default != nil {
		return r.Default, checkType("default value", r.Type, r.Default)
	}
	if len(r.Names) == 1 {
		return nil, errorf("not-found", "Function lookup() did not find a value for the name '%s'", r.Names[0])
	}
	return nil, errorf("not-found", "Function lookup() did not find a value for any of the names [%s]", quoteNames(r.Names))
}

func checkType(subject string, t value.Type, v value.Value) error {
	if t == nil || value.Instance(t, v) {
		return nil
	}
	return errorf("type-mismatch", "%s", value.Mismatch(subject, t, v))
}

// key looks up one key. If merge is nil, lookup_options decide.
func (l *lookup) key(text string, merge value.Value) (value.Value, bool, error) {
	if text == optionsName || len(text) > len(optionsName) && text[:len(optionsName)+1] == optionsName+"." {
		l.ex.leaf(&Node{Type: NodeInvalidKey, Name: optionsName})
		return nil, false, nil
	}
	if err := l.ctx.Err(); err != nil {
		return nil, false, &Error{Kind: "canceled", Msg: "the lookup of '" + text + "' was ended: " + context.Cause(l.ctx).Error(), Err: err}
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, false, err
	}
	if l.s.o.Looked != nil {
		l.s.o.Looked(text)
	}
	outer := l
	l = l.keeping()
	l.from, l.merged = source{}, false
	defer func() { outer.from, outer.merged = l.from, l.merged }()
	l.module = k.module
	if l.ex != nil && l.ex.OnlyOptions {
		_, _, err := l.layers(optionsRoot, hashMerge)
		return value.Undef{}, true, err
	}
	options, at, err := l.optionsFor(k)
	if err != nil {
		return nil, false, err
	}
	var convert value.Value
	if options != nil {
		if m, ok := options.GetString("merge"); ok && !isUndef(m) && (merge == nil || isUndef(merge)) {
			merge = m
			at.merges = true
			l.ex.leaf(&Node{Type: NodeMergeSource, Name: optionsName})
		}
		if c, ok := options.GetString("convert_to"); ok && !isUndef(c) {
			convert = c
		}
	}
	mark := l.ex.mark()
	v, found, err := l.value(k, merge, at)
	if convert == nil {
		return v, found, err
	}
	made := false
	if err == nil && found {
		v, err = l.convert(text, at, convert, v)
		_, made = v.(*value.Sensitive)
	}
	// Differs from Puppet: there an explanation shows the plain text of a value
	// that is made sensitive after it was found. A value that could not be
	// converted is hidden, because the conversion could have made it sensitive.
	if made || (err != nil || !found) && l.mayHide(convert) {
		l.ex.hideSince(mark)
	}
	return v, found, err
}

// keeping returns a copy of l. Changes of the copy do not affect l.
func (l *lookup) keeping() *lookup {
	c := *l
	c.names = slices.Clip(l.names)
	return &c
}

// value searches a key and merges the values that are found. merge selects the
// strategy; it can come from an entry of lookup_options.
func (l *lookup) value(k *lookupKey, merge value.Value, at entryOfOptions) (value.Value, bool, error) {
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeData, Name: k.text})()
	}
	m, err := parseStrategy(merge)
	if err != nil {
		if at.merges {
			err = at.blame(err)
		}
		return nil, false, err
	}
	v, found, err := l.layers(k, m)
	if err != nil {
		return nil, false, err
	}
	if found {
		if v, found, err = l.dig(k, v); found || err != nil {
			return v, found, err
		}
	}
	if l.global {
		return nil, false, nil
	}
	if v, found, err = l.moduleDefault(k); found {
		return l.dig(k, v)
	}
	return nil, false, err
}

// layers searches the layers in order.
func (l *lookup) layers(k *lookupKey, m *strategy) (value.Value, bool, error) {
	if l.global {
		return l.inLayer(l.s.global, k, m)
	}
	return l.search(k.text, m, 3, func(i int) (value.Value, bool, error) {
		y, err := l.layer(i)
		if y == nil || err != nil {
			return nil, false, err
		}
		return l.inLayer(y, k, m)
	})
}

// layer returns layer i for the module of l, or nil if there is none.
func (l *lookup) layer(i int) (*layer, error) {
	switch i {
	case 0:
		return l.s.global, nil
	case 1:
		return l.s.environment(l.ctx)
	}
	if l.module == "" {
		return nil, nil
	}
	y, known, err := l.s.moduleLayer(l.ctx, l.module)
	if y == nil && err == nil {
		e := EventNoModule
		if known {
			e = EventNoModuleConfig
		}
		l.ex.leaf(&Node{Type: NodeModule, Name: l.module, Event: e})
	}
	return y, err
}

// moduleDefault searches the default_hierarchy of the module of the key.
func (l *lookup) moduleDefault(k *lookupKey) (value.Value, bool, error) {
	if k.module == "" {
		return nil, false, nil
	}
	y, _, err := l.s.moduleLayer(l.ctx, k.module)
	if y == nil || err != nil {
		return nil, false, err
	}
	c, err := y.config(l.ctx, l.s)
	if err != nil || !c.hasDefaults {
		return nil, false, err
	}
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeScope, Name: "Searching default_hierarchy of module \"" + k.module + "\""})()
	}
	options, err := l.moduleDefaultOptions(y)
	if err != nil {
		return nil, false, err
	}
	m := firstFound
	if o, at := options.of(k.root); o != nil {
		merge, _ := o.GetString("merge")
		if m, err = parseStrategy(merge); err != nil {
			return nil, false, at.blame(err)
		}
	}
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeScope, Name: "Searching for \"" + k.text + "\""})()
	}
	return l.inDefaults(y, k, m)
}

// mayHide reports whether convert_to could make a value sensitive. For an
// unknown type, or a type that a module defines, it returns true.
func (l *lookup) mayHide(to value.Value) bool {
	if a, ok := to.(*value.Array); ok && a.Len() > 0 {
		to = a.At(0)
	}
	s, ok := to.(value.String)
	if !ok {
		return true
	}
	t, err := l.caller.ParseType(string(s))
	return err != nil || !isClear(t)
}

// isClear reports whether values of a type are never sensitive.
func isClear(t value.Type) bool {
	switch t := t.(type) {
	case *value.IntegerType, *value.FloatType, *value.NumericType, *value.BooleanType, *value.StringType, *value.EnumType, *value.PatternType,
		*value.RegexpType, *value.SemVerType, *value.SemVerRangeType, *value.TimespanType, *value.TimestampType, *value.BinaryType, *value.URIType:
		return true
	case *value.ArrayType:
		return isPart(t.Elem)
	case *value.HashType:
		return isPart(t.Key) && isPart(t.Elem)
	}
	return false
}

// isPart is isClear for the elements of a collection. If the type does not
// restrict them, they are unchanged.
func isPart(t value.Type) bool {
	_, any := t.(*value.AnyType)
	return any || isClear(t)
}

// convert applies convert_to: a type, or an array of a type and arguments.
func (l *lookup) convert(key string, at entryOfOptions, to, v value.Value) (value.Value, error) {
	args := []value.Value{to}
	if a, ok := to.(*value.Array); ok {
		args = slices.Clone(a.Elems())
	}
	if len(args) == 0 {
		return v, nil
	}
	if s, ok := args[0].(value.String); ok {
		t, err := l.caller.ParseType(string(s))
		if err != nil {
			return nil, at.converting(key, "'"+string(s)+"' is not a type: "+plain(err), err)
		}
		args[0] = t
	}
	l.ex.text("Applying convert_to lookup_option with arguments " + value.ToString(value.NewArray(args...)))
	call := append([]value.Value{args[0], v}, args[1:]...)
	out, err := l.invoke("new", call...)
	if err != nil {
		return nil, at.converting(key, plain(err), err)
	}
	return out, nil
}
