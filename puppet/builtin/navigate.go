package builtin

import (
	"errors"
	"strconv"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// navigation returns the functions that find values in collections.
func navigation() []*eval.Function {
	return []*eval.Function{
		{Name: "dig", Doc: "Returns the value in nested collections at a list of keys and indexes, or undef if there is none.",
			Signatures: one("Optional[Collection] $data, Any *$keys", func(c *eval.Call) (value.Value, error) {
				return dig(c.Args[0], c.Args[1:])
			}),
			Path: func(args []value.Value) []value.Value { return args[1:] }},
		{Name: "get", Doc: "Returns the value in nested collections at keys and indexes that are separated by dots, or a default. The block gets the error of a path that leads into a value that is not a collection.",
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
		{Name: "getvar", Doc: "Returns the value of a variable, or the value in it at keys and indexes that are separated by dots, or a default.",
			Signatures: []eval.Signature{{Params: `Pattern[/\A(?:::)?(?:[a-z]\w*::)*[a-z_]\w*(?:\.|\Z)/] $path, Any $default = undef`, Block: "Optional[Callable[1, 1]]", Run: getvar}}},
	}
}

// errPath is the error of an invalid path, which the block of get receives.
type errPath struct {
	code, msg string
	details   *value.Hash
}

func (e *errPath) Error() string { return e.msg }

// Unwrap returns an error with the kind.
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
			return nil, &errPath{"EXPECTED_COLLECTION", "expected a collection at " + inspect(walked(i)) + ", got " + value.TypeString(t),
				value.NewHash(value.Entry{Key: value.String("walked_path"), Value: walked(i)}, value.Entry{Key: value.String("value_type"), Value: value.String(value.TypeString(t))})}
		}
	}
	return data, nil
}

// get follows a path. The default and the block are those of the call.
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
		return nil, eval.Errorf("invalid-path", "%q is not a path: keys must be separated by dots, and a key with dots must be in quotes", path)
	}
	switch data.(type) {
	case *value.Array, *value.Hash:
	default:
		return nil, eval.Errorf("type-mismatch", "%s is not a collection, so %q cannot be found in it", value.DescribeValue(data), path)
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

// splitPath splits a path at its dots. Parts in quotes can contain dots. Parts
// of digits are numbers.
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
