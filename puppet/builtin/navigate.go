package builtin

import (
	"errors"
	"strconv"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// navigation are the functions that find values in values.
func navigation() []*eval.Function {
	return []*eval.Function{
		{Name: "dig", Doc: "Returns what is found in nested collections by one key or place after another, or undef where there is nothing.",
			Signatures: one("Optional[Collection] $data, Any *$keys", func(c *eval.Call) (value.Value, error) {
				return dig(c.Args[0], c.Args[1:])
			}),
			Path: func(args []value.Value) []value.Value { return args[1:] }},
		{Name: "get", Doc: "Returns what is found in nested collections by keys and places with dots between them, or a default. The block gets the error of a path that leads into something else than a collection.",
			Signatures: []eval.Signature{{Params: "Any $data, String $path, Any $default = undef", Block: "Optional[Callable[1, 1]]", Run: func(c *eval.Call) (value.Value, error) {
				return get(c, c.Args[0], string(c.Args[1].(value.String)))
			}}},
			Path: func(args []value.Value) []value.Value {
				if len(args) < 2 {
					return nil
				}
				path, _ := args[1].(value.String)
				keys, _ := splitPath(string(path))
				return keys
			}},
		{Name: "getvar", Doc: "Returns the value of a variable, or what is found in it by keys and places with dots between them, or a default.",
			Signatures: []eval.Signature{{Params: `Pattern[/\A(?:::)?(?:[a-z]\w*::)*[a-z_]\w*(?:\.|\Z)/] $path, Any $default = undef`, Block: "Optional[Callable[1, 1]]", Run: getvar}}},
	}
}

// errPath is the error of a path that leads nowhere, as the block of get gets
// it.
type errPath struct {
	code, msg string
	details   *value.Hash
}

func (e *errPath) Error() string { return e.msg }

// Unwrap gives the error its kind.
func (e *errPath) Unwrap() error { return eval.Errorf("bad-index", "%s", e.msg) }

func dig(data value.Value, keys []value.Value) (value.Value, error) {
	for i, k := range keys {
		if value.IsUndef(data) || value.IsUndef(k) {
			return value.Undef{}, nil
		}
		walked := func(n int) value.Value { return value.NewArray(keys[:n]...) }
		switch d := data.(type) {
		case *value.Array:
			n, ok := k.(value.Int)
			if !ok {
				t := value.Infer(k)
				return nil, &errPath{"EXPECTED_INTEGER_INDEX", "an array at " + inspect(walked(i+1)) + " is asked by " + value.TypeString(t) + ", and not by a whole number",
					value.NewHash(value.Entry{Key: value.String("walked_path"), Value: walked(i + 1)}, value.Entry{Key: value.String("index_type"), Value: value.String(value.TypeString(t))})}
			}
			if n < 0 {
				n += value.Int(d.Len())
			}
			data = value.Undef{}
			if n >= 0 && n < value.Int(d.Len()) {
				data = d.At(int(n))
			}
		case *value.Hash:
			v, ok := d.Get(k)
			if !ok {
				v = value.Undef{}
			}
			data = v
		default:
			t := value.Infer(data)
			return nil, &errPath{"EXPECTED_COLLECTION", "there is no collection at " + inspect(walked(i)) + ", but " + value.TypeString(t),
				value.NewHash(value.Entry{Key: value.String("walked_path"), Value: walked(i)}, value.Entry{Key: value.String("value_type"), Value: value.String(value.TypeString(t))})}
		}
	}
	return data, nil
}

// get follows a path; the default and the block are the call's.
func get(c *eval.Call, data value.Value, path string) (value.Value, error) {
	fallback := c.Arg(2)
	if fallback == nil {
		fallback = value.Undef{}
	}
	switch {
	case value.IsUndef(data):
		return fallback, nil
	case path == "":
		return data, nil
	}
	keys, ok := splitPath(path)
	if !ok {
		return nil, eval.Errorf("invalid-path", "%q is no path: keys with dots between them, in quotes where a key has dots", path)
	}
	switch data.(type) {
	case *value.Array, *value.Hash:
	default:
		return nil, eval.Errorf("type-mismatch", "%s is no collection to find %q in", value.DescribeValue(data), path)
	}
	v, err := dig(data, keys)
	var wrong *errPath
	switch {
	case err == nil && value.IsUndef(v):
		return fallback, nil
	case err == nil:
		return v, nil
	case c.Block == nil || !errors.As(err, &wrong):
		return nil, err
	}
	e, err := c.Call("new", nil, value.ErrorType(), value.String(wrong.msg), value.String("SLICE_ERROR"), wrong.details, value.String(wrong.code))
	if err != nil {
		return nil, err
	}
	return c.Yield(e)
}

func getvar(c *eval.Call) (value.Value, error) {
	name, path, _ := strings.Cut(string(c.Args[0].(value.String)), ".")
	for i, r := range name {
		if r != ':' && r != '_' && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			return nil, eval.Errorf("invalid-path", "%q: a dot has to follow the variable's name, and not %q", c.Args[0], name[i:])
		}
	}
	keys, _ := splitPath(path)
	v, ok := c.Scope.LookupPath(name, keys...)
	if !ok {
		if v = c.Arg(1); v == nil {
			v = value.Undef{}
		}
		return v, nil
	}
	in := *c
	in.Args = append([]value.Value{v, value.String(path)}, c.Args[1:]...)
	return get(&in, v, path)
}

// splitPath cuts a path at its dots. Parts in quotes may hold dots; parts of
// digits are numbers.
func splitPath(path string) (keys []value.Value, ok bool) {
	for {
		part, rest := "", ""
		trimmed := strings.TrimLeft(path, " \t\n\r\v\f")
		if trimmed != "" && (trimmed[0] == '"' || trimmed[0] == '\'') {
			end := strings.IndexByte(trimmed[1:], trimmed[0])
			if end < 1 {
				return nil, false
			}
			keys = append(keys, value.String(trimmed[1:end+1]))
			rest = strings.TrimLeft(trimmed[end+2:], " \t\n\r\v\f")
		} else {
			end := strings.IndexAny(path, `'".`)
			if end < 0 {
				end = len(path)
			}
			part, rest = path[:end], path[end:]
			if part == "" {
				return nil, false
			}
			part = strings.TrimSpace(part)
			if n, err := strconv.ParseInt(part, 10, 64); err == nil {
				keys = append(keys, value.Int(n))
			} else {
				keys = append(keys, value.String(part))
			}
		}
		if rest == "" {
			return keys, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		path = rest[1:]
	}
}
