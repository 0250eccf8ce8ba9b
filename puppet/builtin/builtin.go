// Package builtin has the functions of the Puppet language that have no effect
// beyond their result: those of Puppet's core, but for the ones that need data
// (package hiera). Files are read through Files below, catalogs are changed
// through the eval.Builder, which has to be an eval.Cataloger for that.
//
// Sources: the function reference of Puppet 8, and what Puppet 8 answers.
package builtin

import (
	"slices"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Options are what functions need of the world.
type Options struct {
	Files Files            // that templates and file() read; nil: there are none
	Now   func() time.Time // the present, for Timestamp(); never nil
	// Template parses the text of a template and finds what is wrong with it;
	// tasks are the rules of plans. nil: it is parsed, and nothing more.
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

// Sized refuses what a function returns if it is too large a string.
func Sized(run func(c *eval.Call) (value.Value, error)) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		v, err := run(c)
		if s, ok := v.(value.String); ok && err == nil {
			err = c.Size(len(s))
		}
		return v, err
	}
}

// Text returns a value as Ruby's to_s writes it, if it is not too large a
// string.
func Text(c *eval.Call, v value.Value) (string, error) {
	s, err := value.RubyText(v, c.Size)
	if err != nil {
		return "", err
	}
	return s, c.Step(len(s) / bytesPerStep)
}

// refused are functions that Puppet has and that cannot be here.
func refused() []*eval.Function {
	never := func(name, why string) *eval.Function {
		return &eval.Function{Name: name, Doc: "Is refused: " + why + ".", Signatures: []eval.Signature{{
			Params: "Any *$args", Block: "Optional[Callable]", Run: func(*eval.Call) (value.Value, error) {
				return nil, eval.Errorf("not-available", "%s() is not possible here: %s", name, why)
			},
		}}}
	}
	return []*eval.Function{
		never("generate", "it runs a program on the machine that evaluates, and evaluation runs none; find the value out before, and give it as data"),
		never("import", "Puppet has no import any more, and refuses it too; classes and functions are found by their names in modules"),
		never("annotate", "annotations are objects of Ruby that are put beside others, and there is no Ruby here"),
	}
}

// one is the only signature of a function.
func one(params string, run func(c *eval.Call) (value.Value, error)) []eval.Signature {
	return []eval.Signature{{Params: params, Run: run}}
}

// old are the signatures of a function of Puppet's oldest kind: it takes any
// values, as many as params says, passes over a block, and gets plain data with
// "" for undef.
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

// oldText is an argument that has to be a string.
func oldText(c *eval.Call, args []value.Value, i int) (string, error) {
	s, ok := args[i].(value.String)
	if !ok {
		return "", eval.Errorf("type-mismatch", "argument %d is %s: %s() takes a string there", i+1, value.DescribeValue(args[i]), c.Name)
	}
	return string(s), nil
}

// maxShown is how many bytes of a value messages show.
const maxShown = 200

func inspect(v value.Value) string { return value.InspectShort(v, maxShown) }

// Plain returns arguments as functions of the oldest kind get them, which know
// only plain data: an argument that is undef is the empty string; expressions,
// versions, times and bytes are texts, at any depth. An iterator is an error.
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
		return nil, eval.Errorf("type-mismatch", "an iterator is of no use here: make an array of it with Array()")
	case *value.Regexp:
		return value.String(value.Inspect(v)), nil
	case *value.SemVer, *value.SemVerRange, *value.Binary, value.Timespan, value.Timestamp:
		s, err := value.RubyText(v, nil)
		return value.String(s), err
	}
	return v, nil
}
