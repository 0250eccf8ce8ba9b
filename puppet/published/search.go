package published

import (
	"slices"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func searches() []Set {
	return []Set{
		{"puppet/elasticsearch", []*eval.Function{
			old("deep_implode", 1, "Returns a hash without hashes in it: their keys are joined with points.", func(c *eval.Call, args []value.Value) (value.Value, error) {
				h, ok := args[0].(*value.Hash)
				if !ok || len(args) > 1 {
					return nil, invalid(c, "takes one hash")
				}
				var b value.HashBuilder
				err := implode(c, &b, h, "")
				return b.Build(), err
			}),
			old("concat_merge", 2, "Merges hashes. Arrays of the same key are added to each other.", concatMerge),
			old("array_suffix", 1, "Returns the elements of an array as strings with a suffix.", arraySuffix),
			old("es_plugin_name", 1, "Returns the directory of the first plugin that is not the empty string.", func(c *eval.Call, args []value.Value) (value.Value, error) {
				for _, v := range args {
					if s, ok := v.(value.String); ok && s != "" {
						return value.String(pluginName(string(s))), nil
					}
				}
				return nil, invalid(c, "none of the values is the name of a plugin")
			}),
			old("plugin_dir", 1, "Returns the directory of a plugin.", func(c *eval.Call, args []value.Value) (value.Value, error) {
				s, ok := args[0].(value.String)
				if !ok || len(args) > 2 {
					return nil, invalid(c, "takes the name of a plugin")
				}
				owner, rest, found := strings.Cut(string(s), "/")
				if !found || rest == "" {
					return value.String(owner), nil
				}
				name, _, _ := strings.Cut(rest, "/")
				for _, prefix := range []string{"elasticsearch-", "es-"} {
					if strings.HasPrefix(name, prefix) {
						return value.String(strings.ReplaceAll(name, prefix, "")), nil
					}
				}
				return value.String(name), nil
			}),
		}},
		{"puppet/consul", []*eval.Function{
			function("consul::sorted_json", "Any $data = {}, Any $pretty = false, Any $indent = 4", "Returns JSON with sorted keys. Strings that are whole numbers become numbers.", sortedJSON),
			function("consul::validate_checks", "Variant[Hash, Array] $checks", "Returns an error if the parts of a check exclude each other.", func(c *eval.Call) (value.Value, error) {
				if list, ok := c.Args[0].(*value.Array); ok {
					return list, validChecks(c, list)
				}
				return value.Undef{}, validChecks(c, c.Args[0])
			}),
		}},
		{"puppet/grafana", []*eval.Function{
			function("grafana::get_sub_paths", "String $path", "Returns the directories above a path, without the root.", func(c *eval.Call) (value.Value, error) {
				var dirs []string
				parts := strings.FieldsFunc(str(c, 0), func(r rune) bool { return r == '/' })
				if !strings.HasPrefix(str(c, 0), "/") && len(parts) > 0 {
					parts = parts[1:]
				}
				for i := 1; i < len(parts); i++ {
					dirs = append(dirs, "/"+strings.Join(parts[:i], "/"))
				}
				return stringsOf(dirs), nil
			}),
		}},
	}
}

// implode adds the values of a hash, with long keys first.
func implode(c *eval.Call, b *value.HashBuilder, h *value.Hash, prefix string) error {
	type pair struct {
		key  string
		long int
		v    value.Value
	}
	var list []pair
	for k, v := range h.All() {
		key, ok := k.(value.String)
		if !ok {
			return invalid(c, "takes strings as keys, got %s", value.DescribeValue(k))
		}
		list = append(list, pair{string(key), len([]rune(string(key))), v})
	}
	slices.SortStableFunc(list, func(a, b pair) int { return a.long - b.long })
	slices.Reverse(list)
	for _, p := range list {
		key := value.String(prefix + p.key)
		if err := c.Size(len(key)); err != nil {
			return err
		}
		if below, ok := p.v.(*value.Hash); ok {
			if err := implode(c, b, below, string(key)+"."); err != nil {
				return err
			}
			continue
		}
		was, has := b.Get(key)
		more, isList := p.v.(*value.Array)
		first, wasList := was.(*value.Array)
		switch {
		case isList && wasList:
			b.Put(key, value.NewArray(slices.Concat(first.Elems(), more.Elems())...))
		case !has || !value.Truthy(was):
			b.Put(key, p.v)
		}
	}
	return nil
}

func concatMerge(c *eval.Call, args []value.Value) (value.Value, error) {
	var b value.HashBuilder
	for _, v := range args {
		if v == value.String("") {
			continue
		}
		h, ok := v.(*value.Hash)
		if !ok {
			return nil, invalid(c, "takes hashes, got %s", value.DescribeValue(v))
		}
		for k, v := range h.All() {
			was, _ := b.Get(k)
			first, wasList := was.(*value.Array)
			if more, ok := v.(*value.Array); ok && wasList {
				v = value.NewArray(slices.Concat(first.Elems(), more.Elems())...)
			}
			b.Put(k, v)
		}
	}
	return b.Build(), nil
}

func arraySuffix(c *eval.Call, args []value.Value) (value.Value, error) {
	list, ok := args[0].(*value.Array)
	if !ok {
		return nil, invalid(c, "takes an array, got %s", value.DescribeValue(args[0]))
	}
	var suffix value.String
	if len(args) > 1 && given(args[1]) {
		if suffix, ok = args[1].(value.String); !ok {
			return nil, invalid(c, "takes a string as suffix, got %s", value.DescribeValue(args[1]))
		}
	}
	out := make([]value.Value, list.Len())
	for i, v := range list.Elems() {
		s, err := builtin.Text(c, v)
		if err != nil {
			return nil, err
		}
		out[i] = value.String(s) + suffix
	}
	return value.NewArray(out...), nil
}

// pluginName returns the second part of a name like owner/elasticsearch-name/1.0
// or group:name.
func pluginName(s string) string {
	for _, between := range []string{"/", ":"} {
		parts := strings.Split(strings.TrimRight(s, between), between)
		if len(parts) > 1 {
			return strings.ReplaceAll(strings.ReplaceAll(parts[1], "elasticsearch-", ""), "es-", "")
		}
	}
	return s
}

var (
	wholeNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)$`)
	// stringsBelow are the keys below which strings stay strings.
	stringsBelow = []string{"node_meta", "meta", "tags", "args"}
)

// A jsonWriter writes JSON as the module consul does.
type jsonWriter struct {
	c      *eval.Call
	out    strings.Builder
	pretty bool
	indent string
}

func sortedJSON(c *eval.Call) (value.Value, error) {
	data := value.Value(value.NewHash())
	if len(c.Args) > 0 {
		data = c.Args[0]
	}
	w := &jsonWriter{c: c, pretty: given(c.Arg(1)), indent: "    "}
	if n, ok := c.Arg(2).(value.Int); ok {
		if n < 0 {
			return nil, invalid(c, "the indentation is negative")
		}
		if err := c.Size(int(min(n, 1<<30))); err != nil {
			return nil, err
		}
		w.indent = strings.Repeat(" ", int(n))
	}
	if err := w.value(data, 0, false); err != nil {
		return nil, err
	}
	if w.pretty {
		w.out.WriteByte('\n')
	}
	return value.String(w.out.String()), nil
}

// line begins a line at a depth.
func (w *jsonWriter) line(depth int) error {
	if !w.pretty {
		return nil
	}
	w.out.WriteByte('\n')
	if err := w.c.Size(w.out.Len() + depth*len(w.indent)); err != nil {
		return err
	}
	w.out.WriteString(strings.Repeat(w.indent, depth))
	return nil
}

func (w *jsonWriter) value(v value.Value, depth int, quoted bool) error {
	switch v := v.(type) {
	case *value.Array:
		return w.list(v, depth, quoted)
	case *value.Hash:
		return w.hash(v, depth, quoted)
	case value.String:
		if !quoted && wholeNumber().MatchString(string(v)) {
			w.out.WriteString(string(v))
			return nil
		}
		return w.scalar(v)
	case value.Int, value.Float, value.Bool:
		if !quoted {
			return w.scalar(v)
		}
		s, err := builtin.Text(w.c, v)
		if err != nil {
			return err
		}
		return w.scalar(value.String(s))
	}
	if value.IsUndef(v) {
		return w.scalar(v)
	}
	return invalid(w.c, "takes data, got %s", value.DescribeValue(v))
}

func (w *jsonWriter) scalar(v value.Value) error {
	text, err := value.MarshalData(v)
	w.out.Write(text)
	return err
}

func (w *jsonWriter) list(a *value.Array, depth int, quoted bool) error {
	w.out.WriteByte('[')
	if a.Len() == 0 && w.pretty {
		if err := w.line(depth + 1); err != nil {
			return err
		}
	}
	for i, v := range a.Elems() {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.line(depth + 1); err != nil {
			return err
		}
		if err := w.value(v, depth+1, quoted); err != nil {
			return err
		}
	}
	if err := w.line(depth); err != nil {
		return err
	}
	w.out.WriteByte(']')
	return nil
}

func (w *jsonWriter) hash(h *value.Hash, depth int, quoted bool) error {
	keys := make([]string, 0, h.Len())
	for k := range h.All() {
		key, ok := k.(value.String)
		if !ok {
			return invalid(w.c, "takes strings as keys, got %s", value.DescribeValue(k))
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	w.out.WriteByte('{')
	if len(keys) == 0 && w.pretty {
		w.out.WriteByte('\n')
	}
	for i, k := range keys {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.line(depth + 1); err != nil {
			return err
		}
		if err := w.scalar(value.String(k)); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if w.pretty {
			w.out.WriteByte(' ')
		}
		if err := w.value(entry(h, k), depth+1, quoted || slices.Contains(stringsBelow, k)); err != nil {
			return err
		}
	}
	if err := w.line(depth); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// validChecks returns an error if parts of a check of Consul exclude each other.
func validChecks(c *eval.Call, v value.Value) error {
	if list, ok := v.(*value.Array); ok {
		for _, v := range list.Elems() {
			if err := validChecks(c, v); err != nil {
				return err
			}
		}
		return nil
	}
	h, ok := v.(*value.Hash)
	if !ok {
		return invalid(c, "takes hashes and arrays, got %s", value.DescribeValue(v))
	}
	kinds := []string{"ttl", "http", "grpc", "tcp", "args", "script", "alias_service"}
	has := map[string]bool{}
	first := ""
	for _, k := range append(kinds, "interval") {
		if _, has[k] = h.GetString(k); has[k] && first == "" && k != "interval" {
			first = k
		}
	}
	script := has["args"] || has["script"]
	active := has["http"] || script || has["tcp"] || has["grpc"]
	switch {
	case active && !has["interval"]:
		return invalid(c, "checks with tcp, http, grpc, args or script need an interval")
	case first == "":
		return invalid(c, "a check needs ttl, script, tcp, grpc or http")
	case first == "ttl" && (active || has["interval"]),
		first == "http" && (script || has["tcp"] || has["grpc"]),
		first == "grpc" && (script || has["tcp"]),
		first == "tcp" && script,
		first == "alias_service" && has["interval"]:
		return invalid(c, "a check with %s has further parts that exclude it", first)
	}
	return nil
}
