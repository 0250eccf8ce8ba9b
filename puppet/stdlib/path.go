package stdlib

import (
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// paths returns the functions for file names.
func paths() []*eval.Function {
	return []*eval.Function{
		old("basename", "Any $path, Any $suffix = ''", "Returns the last part of a path, without a suffix; '.*' is any suffix.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				for _, v := range args {
					if _, ok := v.(value.String); !ok {
						return nil, wrong(c, v, "strings")
					}
				}
				suffix := value.String("")
				if len(args) > 1 {
					suffix = args[1].(value.String)
				}
				return value.String(basename(string(args[0].(value.String)), string(suffix))), nil
			}),
		old("dirname", "Any $path", "Returns a path without its last part.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				s, ok := args[0].(value.String)
				if !ok || s == "" {
					return nil, wrong(c, args[0], "a string that is not empty")
				}
				return value.String(dirname(string(s))), nil
			}),
		{Name: "stdlib::extname", Doc: "Returns the extension of a file name, including the point, or ''.",
			Signatures: one("String $path", func(c *eval.Call) (value.Value, error) {
				return value.String(extname(string(c.Args[0].(value.String)))), nil
			})},
	}
}

// basename implements Ruby's File.basename.
func basename(path, suffix string) string {
	trimmed := strings.TrimRight(path, "/")
	if trimmed == "" {
		return path[:min(1, len(path))]
	}
	name := trimmed[strings.LastIndexByte(trimmed, '/')+1:]
	if suffix == ".*" {
		return strings.TrimSuffix(name, extname(name))
	}
	if t, ok := strings.CutSuffix(name, suffix); ok && t != "" {
		return t
	}
	return name
}

// dirname implements Ruby's File.dirname.
func dirname(path string) string {
	rest := strings.TrimRight(path, "/")
	i := strings.LastIndexByte(rest, '/')
	if rest == "" {
		return "/"
	}
	if i < 0 {
		return "."
	}
	root := ""
	if path[0] == '/' {
		root = "/"
	}
	return root + strings.TrimLeft(strings.TrimRight(rest[:i], "/"), "/")
}

// extname implements Ruby's File.extname.
func extname(path string) string {
	name := basename(path, "")
	rest := strings.TrimLeft(name, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return rest[i:]
	}
	return ""
}
