// Package published implements functions of public modules in Go, because the
// modules write them in Ruby: mysql::password, docker_run_flags and others.
//
// A function here stands for the Ruby file of its module. [Find] returns it for
// a module, with its owner, and a name. A caller uses it only if that module has
// the function, so a private module with the same short name is not affected.
// Results and errors are those of the modules; functions that start programs or
// connect to servers are not included, except where the result can be computed.
//
// Sources: the documentation of the modules, and their results on Puppet 7. The
// versions are in testdata/README.md.
package published

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Set is the functions of one module.
type Set struct {
	Module    string // OWNER/NAME, as in the module's metadata
	Functions []*eval.Function
}

// Sets returns the functions of all modules, sorted by module. The caller must
// not change them.
func Sets() []Set { return all().sets }

// Find returns the function that stands for a function in Ruby of a module
// (OWNER/NAME), or nil if this package does not have it.
func Find(module, function string) *eval.Function { return all().byName[module+" "+function] }

type table struct {
	sets   []Set
	byName map[string]*eval.Function
}

var all = sync.OnceValue(func() table {
	t := table{byName: make(map[string]*eval.Function)}
	t.sets = slices.Concat(databases(), webServers(), containers(), searches(), machines(), logins(), networks())
	slices.SortFunc(t.sets, func(a, b Set) int { return strings.Compare(a.Module, b.Module) })
	for _, s := range t.sets {
		for _, f := range s.Functions {
			for i, sig := range f.Signatures {
				f.Signatures[i].Run = builtin.Sized(measured(sig.Run))
			}
			t.byName[s.Module+" "+f.Name] = f
		}
	}
	return t
})

// measured counts the work of functions that visit all values in their
// arguments.
func measured(run func(c *eval.Call) (value.Value, error)) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		nodes := 0
		for _, v := range c.Args {
			_, n := value.Measure(v)
			nodes += n
		}
		if err := c.Elements(nodes); err != nil {
			return nil, err
		}
		if err := c.Step(nodes); err != nil {
			return nil, err
		}
		return run(c)
	}
}

// function returns a function with one signature.
func function(name, params, doc string, run func(c *eval.Call) (value.Value, error)) *eval.Function {
	return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{Params: params, Run: run}}}
}

// old returns a function of Puppet's oldest kind: it takes at least as many
// arguments as least, and its arguments are converted with [builtin.Plain].
func old(name string, least int, doc string, run func(c *eval.Call, args []value.Value) (value.Value, error)) *eval.Function {
	return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{
		Params: "Any *$args", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
			if len(c.Args) < least {
				return nil, invalid(c, "takes %d arguments, got %d", least, len(c.Args))
			}
			args, err := builtin.Plain(c.Args)
			if err != nil {
				return nil, err
			}
			return run(c, args)
		},
	}}}
}

// former returns a function that has a newer name.
func former(name, now string) *eval.Function {
	return function(name, "Any *$args", "The former name of "+now+".", func(c *eval.Call) (value.Value, error) {
		if _, err := c.Call("deprecation", nil, value.String(name), value.String(name+"() is deprecated: use "+now+"()")); err != nil {
			return nil, err
		}
		return c.Call(now, nil, c.Args...)
	})
}

// same returns a function that returns its argument.
func same(name, params string) *eval.Function {
	return function(name, params, "Returns its argument.", func(c *eval.Call) (value.Value, error) { return c.Args[0], nil })
}

func invalid(c *eval.Call, format string, args ...any) error {
	return eval.Errorf("invalid-argument", "%s(): %s", strings.TrimPrefix(c.Name, "::"), fmt.Sprintf(format, args...))
}

// str returns argument i, which its signature declares as a string.
func str(c *eval.Call, i int) string { return string(c.Args[i].(value.String)) }

// unwrapped returns argument i without Sensitive.
func unwrapped(c *eval.Call, i int) value.Value {
	if s, ok := c.Args[i].(*value.Sensitive); ok {
		return s.Unwrap()
	}
	return c.Arg(i)
}

// secret returns a string, as Sensitive if argument i is true.
func secret(c *eval.Call, i int, s string) value.Value {
	if v := c.Arg(i); v != nil && value.Truthy(v) {
		return value.NewSensitive(value.String(s))
	}
	return value.String(s)
}

// given reports whether a value is true in Ruby: neither nil nor false.
func given(v value.Value) bool { return v != nil && value.Truthy(v) }

// entry returns the value of a key, or undef.
func entry(h *value.Hash, key string) value.Value {
	if v, ok := h.GetString(key); ok {
		return v
	}
	return value.Undef{}
}

// hash returns a hash with string keys: key, value, key, value.
func hash(pairs ...any) *value.Hash {
	var b value.HashBuilder
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(value.Value)
		if !ok {
			v = value.String(pairs[i+1].(string))
		}
		b.Put(value.String(pairs[i].(string)), v)
	}
	return b.Build()
}

// stringsOf returns strings as an array.
func stringsOf(list []string) *value.Array {
	elems := make([]value.Value, len(list))
	for i, s := range list {
		elems[i] = value.String(s)
	}
	return value.NewArray(elems...)
}

// fact returns the fact at a path, or undef.
func fact(c *eval.Call, path ...string) value.Value {
	keys := make([]value.Value, len(path))
	for i, p := range path {
		keys[i] = value.String(p)
	}
	v, _ := c.Scope.LookupPath("::facts", keys...)
	for _, p := range path {
		h, ok := v.(*value.Hash)
		if !ok {
			return value.Undef{}
		}
		v = entry(h, p)
	}
	return v
}
