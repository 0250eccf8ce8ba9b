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
	"bolt/puppet/value"
)

// Options are what functions need of the world.
type Options struct {
	Files Files            // that templates and file() read; nil: there are none
	Now   func() time.Time // the present, for Timestamp(); never nil
}

// Functions returns all functions.
func Functions(o Options) []*eval.Function {
	return slices.Concat(iteration(), collections(), ordering(), texts(), patterns(), numbers(), types(o.Now), control(), digests(), times(o.Now), navigation(), trees(), scans(), fromFiles(o.Files), cataloging(), refused())
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
			for i, v := range args {
				if isUndef(v) {
					args[i] = value.String("")
				}
			}
			return run(c, args)
		},
	}}
}

// oldText is an argument that has to be a string.
func oldText(c *eval.Call, args []value.Value, i int) (string, error) {
	s, ok := args[i].(value.String)
	if !ok {
		return "", eval.Errorf("type-mismatch", "argument %d is %s: %s() takes a string there", i+1, kindOf(args[i]), c.Name)
	}
	return string(s), nil
}

func isUndef(v value.Value) bool {
	_, ok := v.(value.Undef)
	return ok
}

// Plain returns values as functions of the oldest kind get them, which know
// only plain data: expressions, versions, times and bytes are texts, at any
// depth. An iterator is an error.
func Plain(list []value.Value) ([]value.Value, error) {
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
		out, err := Plain(v.Elems())
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
		return value.String(value.RubyString(v)), nil
	}
	return v, nil
}
