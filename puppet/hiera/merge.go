package hiera

import (
	"slices"

	"bolt/puppet/value"
)

// A strategy determines how several values of one key are combined.
type strategy struct {
	name    string
	options *value.Hash // as given, with "strategy"; or nil
	deep    deepOptions
}

// firstFound is the default strategy.
var firstFound = &strategy{name: "default"}

func (m *strategy) first() bool { return m.name == "default" || m.name == "first" }

// parseStrategy parses the value of merge: nil, a name, or a hash with the name
// under "strategy".
func parseStrategy(v value.Value) (*strategy, error) {
	switch v := v.(type) {
	case nil, value.Undef:
		return firstFound, nil
	case value.String:
		m := &strategy{name: string(v)}
		return m, m.check()
	case *value.Hash:
		name, ok := v.GetString("strategy")
		s, isString := name.(value.String)
		if !ok || !isString {
			return nil, errorf("merge", "a hash of merge options must have the name of a strategy under 'strategy'")
		}
		m := &strategy{name: string(s)}
		if err := m.check(); err != nil {
			return nil, err
		}
		if v.Len() > 1 {
			m.options = v
			return m, m.parseOptions()
		}
		return m, nil
	}
	return nil, errorf("merge", "merge must be the name of a strategy or a hash of options, not %s", typeName(v))
}

func (m *strategy) check() error {
	switch m.name {
	case "default", "first", "unique", "hash", "deep", "unconstrained_deep", "reverse_deep":
		return nil
	}
	return errorf("merge", "unknown merge strategy '%s'; there are first, unique, hash and deep", m.name)
}

func (m *strategy) parseOptions() error {
	loose := m.name == "unconstrained_deep" || m.name == "reverse_deep"
	if m.name != "deep" && !loose {
		return errorf("merge", "the merge strategy '%s' takes no options; '%s' is one", m.name, value.ToString(otherKey(m.options)))
	}
	for k, v := range m.options.All() {
		name := value.ToString(k)
		_, undef := v.(value.Undef)
		flag, isBool := v.(value.Bool)
		switch name {
		case "strategy":
			continue
		case "knockout_prefix":
			s, ok := v.(value.String)
			if !ok && !undef {
				return errorf("merge", "the merge option knockout_prefix must be a string, not %s", typeName(v))
			}
			if err := m.deep.setKnockout(string(s), ok); err != nil {
				return err
			}
			continue
		case "sort_merged_arrays":
			m.deep.sort = bool(flag)
		case "merge_hash_arrays":
			m.deep.hashArrays = bool(flag)
		case "merge_debug":
		case "unpack_arrays":
			if !loose {
				return errorf("merge", "the merge strategy deep has no option 'unpack_arrays'; the strategy unconstrained_deep has it")
			}
			if s, ok := v.(value.String); ok {
				m.deep.unpack, m.deep.unpacks = string(s), true
			}
			continue
		case "overwrite_arrays":
			m.deep.overwriteArrays = bool(flag)
		case "extend_existing_arrays":
			m.deep.extend = bool(flag)
		case "preserve_unmergeables":
			m.deep.preserve = bool(flag)
		default:
			if !loose {
				return errorf("merge", "the merge strategy deep has no option '%s'; there are knockout_prefix, sort_merged_arrays and merge_hash_arrays", name)
			}
			continue
		}
		if !loose {
			switch name {
			case "overwrite_arrays", "extend_existing_arrays", "preserve_unmergeables":
				return errorf("merge", "the merge strategy deep has no option '%s'; there are knockout_prefix, sort_merged_arrays and merge_hash_arrays", name)
			}
			if !isBool && !undef {
				return errorf("merge", "the merge option %s must be true or false, not %s", name, typeName(v))
			}
		}
	}
	if m.deep.preserve && m.deep.knockout.set {
		return errorf("merge", "the merge options knockout_prefix and preserve_unmergeables exclude each other")
	}
	return nil
}

func otherKey(h *value.Hash) value.Value {
	for k := range h.All() {
		if s, ok := k.(value.String); !ok || s != "strategy" {
			return k
		}
	}
	return value.Undef{}
}

// shownOptions returns the options without the name of the strategy.
func (m *strategy) shownOptions() *value.Hash {
	if m.options == nil {
		return nil
	}
	return m.options.Without(value.String("strategy"))
}

// search calls ask for n sources in order, and merges the values that are
// found.
func (l *lookup) search(key string, m *strategy, n int, ask func(i int) (value.Value, bool, error)) (value.Value, bool, error) {
	switch {
	case n == 0:
		return nil, false, nil
	case m.first():
		for i := range n {
			if v, found, err := ask(i); found || err != nil {
				return v, found, err
			}
		}
		return nil, false, nil
	case n == 1:
		v, found, err := ask(0)
		if found && m.name == "unique" {
			if a, ok := v.(*value.Array); ok {
				v = value.NewArray(unique(a.Elems())...)
			}
		}
		return v, found, err
	}
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeMerge, Name: m.name, Options: m.shownOptions()})()
	}
	var merged value.Value
	var first source // of merged, while it has a single source
	for i := range n {
		v, found, err := ask(i)
		if err != nil {
			return nil, false, err
		}
		switch {
		case !found:
		case merged == nil && m.name == "unique":
			merged, first = value.NewArray(flatten(nil, v)...), l.from
		case merged == nil:
			merged, first = v, l.from
		default:
			both, err := m.merge(merged, v)
			if err != nil {
				at := l.from
				if m.operand(merged) != nil {
					at = first
				}
				return nil, false, at.blame(err, key)
			}
			merged, l.merged = both, true
		}
	}
	if merged == nil {
		return nil, false, nil
	}
	l.ex.result(merged)
	return merged, true, nil
}

// merge merges two values. a has the higher priority.
func (m *strategy) merge(a, b value.Value) (value.Value, error) {
	switch m.name {
	case "unique":
		if err := m.uniqueOperand(a); err != nil {
			return nil, err
		}
		if err := m.uniqueOperand(b); err != nil {
			return nil, err
		}
		return value.NewArray(unique(flatten(flatten(nil, a), b))...), nil
	case "hash":
		x, err := m.hashOperand(a)
		if err != nil {
			return nil, err
		}
		y, err := m.hashOperand(b)
		if err != nil {
			return nil, err
		}
		return y.Merge(x), nil
	case "reverse_deep":
		return m.deep.merge(b, a)
	case "deep", "unconstrained_deep":
		return m.deep.merge(a, b)
	}
	return a, nil
}

// operand returns an error if a value cannot be merged.
func (m *strategy) operand(v value.Value) error {
	switch m.name {
	case "unique":
		return m.uniqueOperand(v)
	case "hash":
		_, err := m.hashOperand(v)
		return err
	}
	return nil
}

func (m *strategy) hashOperand(v value.Value) (*value.Hash, error) {
	if h, ok := v.(*value.Hash); ok && isData(h) {
		return h, nil
	}
	return nil, errorf("merge", "the merge strategy hash needs hashes of plain data with keys that are strings; one of the values found is of type %s", typeName(v))
}

func (m *strategy) uniqueOperand(v value.Value) error {
	if a, ok := v.(*value.Array); ok && isData(a) || isScalar(v) {
		return nil
	}
	return errorf("merge", "the merge strategy unique needs scalars and arrays of plain data; one of the values found is of type %s", typeName(v))
}

// flatten appends v to out. If v is an array, it appends its elements
// recursively.
func flatten(out []value.Value, v value.Value) []value.Value {
	a, ok := v.(*value.Array)
	if !ok {
		return append(out, v)
	}
	for _, e := range a.All() {
		out = flatten(out, e)
	}
	return out
}

// unique returns the elements without duplicates.
func unique(elems []value.Value) []value.Value {
	if len(elems) > 16 {
		var b value.HashBuilder
		for _, e := range elems {
			b.Put(e, value.Undef{})
		}
		return b.Build().Keys().Elems()
	}
	var out []value.Value
	for _, e := range elems {
		if !slices.ContainsFunc(out, func(o value.Value) bool { return value.Same(o, e) }) {
			out = append(out, e)
		}
	}
	return out
}
