// Package builtin has the functions of the Puppet language that have no effect
// beyond their result. These are the functions of Puppet's core, except for
// those that need data (package hiera). Files are read through Files. Catalogs
// are changed through the eval.Builder, which must be an eval.Cataloger for
// that.
//
// Sources: the function reference of Puppet 8, and the results of Puppet 8.
package builtin

import (
	"slices"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options are the external resources of functions.
type Options struct {
	Files Files            // that templates and file() read; nil: there are no files
	Now   func() time.Time // the current time, for Timestamp(); must not be nil
	// Template parses and checks the text of a template. tasks are the rules of
	// plans. nil: templates are parsed but not checked.
	Template func(name, text string, tasks bool) (*syntax.Program, error)
}

// Functions returns all functions.
func Functions(o Options) []*eval.Function {
	list := slices.Concat(iteration(), collections(), ordering(), texts(), patterns(), numbers(), types(o.Now), control(), digests(), times(o.Now), navigation(), trees(), scans(), fromFiles(o), ruby(o), cataloging(), members(), refused())
	for _, f := range list {
		for i, s := range f.Signatures {
			f.Signatures[i].Run = Sized(s.Run)
		}
	}
	return list
}

// Sized returns a function that returns an error if the result of run is a
// string that is too large.
func Sized(run func(c *eval.Call) (value.Value, error)) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		v, err := run(c)
		if s, ok := v.(value.String); ok && err == nil {
			err = c.Size(len(s))
		}
		return v, err
	}
}

// Text returns a value as Ruby's to_s writes it. If the string is too large, it
// returns an error.
func Text(c *eval.Call, v value.Value) (string, error) {
	s, err := value.RubyText(v, c.Size)
	if err != nil {
		return "", err
	}
	return s, c.Step(len(s) / bytesPerStep)
}

// refused are functions of Puppet that are not available here.
func refused() []*eval.Function {
	never := func(name, why string) *eval.Function {
		return &eval.Function{Name: name, Doc: "Returns an error: " + why + ".", Signatures: []eval.Signature{{
			Params: "Any *$args", Block: "Optional[Callable]", Run: func(*eval.Call) (value.Value, error) {
				return nil, eval.Errorf("not-available", "%s() is not possible here: %s", name, why)
			},
		}}}
	}
	return []*eval.Function{
		never("generate", "it runs a program on the machine that evaluates, which is not allowed; determine the value before, and pass it as data"),
		never("import", "Puppet does not support import any more; classes and functions are found by their names in modules"),
		never("annotate", "annotations are objects of Ruby, which is not available here"),
	}
}

// one returns the only signature of a function.
func one(params string, run func(c *eval.Call) (value.Value, error)) []eval.Signature {
	return []eval.Signature{{Params: params, Run: run}}
}

// old returns the signatures of a function of Puppet's oldest kind. It accepts
// any values, as many as params allows, and ignores a block. Its arguments are
// plain data, with "" for undef.
func old(params string, run func(c *eval.Call, args []value.Value) (value.Value, error)) []eval.Signature {
	return []eval.Signature{{
		Params: params,
		Block:  "Optional[Callable]",
		Run: func(c *eval.Call) (value.Value, error) {
			args, err := Plain(c.Args)
			if err != nil {
				return nil, err
			}
			return run(c, args)
		},
	}}
}

// oldText returns argument i, which must be a string.
func oldText(c *eval.Call, args []value.Value, i int) (string, error) {
	s, ok := args[i].(value.String)
	if !ok {
		return "", eval.Errorf("type-mismatch", "argument %d is %s: %s() takes a string there", i+1, value.DescribeValue(args[i]), c.Name)
	}
	return string(s), nil
}

// maxShown is the number of bytes to which messages shorten a value.
const maxShown = 200

func inspect(v value.Value) string { return value.InspectShort(v, maxShown) }

// Plain converts arguments for functions of the oldest kind, which support only
// plain data. An argument that is undef becomes the empty string. Regular
// expressions, versions, times and bytes become strings, at any depth. An
// iterator is an error.
func Plain(args []value.Value) ([]value.Value, error) {
	out, err := plainList(args)
	for i, v := range out {
		if value.IsUndef(v) {
			out[i] = value.String("")
		}
	}
	return out, err
}

func plainList(list []value.Value) ([]value.Value, error) {
	out := make([]value.Value, len(list))
	for i, v := range list {
		var err error
		if out[i], err = plain(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plain(v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case *value.Array:
		out, err := plainList(v.Elems())
		return value.NewArray(out...), err
	case *value.Hash:
		var out value.HashBuilder
		for k, e := range v.All() {
			k, err := plain(k)
			if err != nil {
				return nil, err
			}
			if e, err = plain(e); err != nil {
				return nil, err
			}
			out.Put(k, e)
		}
		return out.Build(), nil
	case *value.Iterator:
		return nil, eval.Errorf("type-mismatch", "an iterator cannot be used here: convert it to an array with Array()")
	case *value.Regexp:
		return value.String(value.Inspect(v)), nil
	case *value.SemVer, *value.SemVerRange, *value.Binary, value.Timespan, value.Timestamp:
		s, err := value.RubyText(v, nil)
		return value.String(s), err
	}
	return v, nil
}
