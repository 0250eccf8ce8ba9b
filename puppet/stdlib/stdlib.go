// Package stdlib has the functions and type aliases of the module
// puppetlabs-stdlib 9, which manifests in the wild cannot do without, natively:
// in the original most of them are Ruby.
//
// [Functions] are given to a Library like those of package builtin; [Loader]
// adds the types Stdlib::*. Where a module stdlib is on the module path, its
// types go before the types here. Whether its functions in the Puppet language
// go before the functions here is for who puts these in a Library (where they
// go before all that a Loader finds) or behind a Loader.
//
// Files, decoders, clocks and randomness come through [Options]; a function
// whose part of them is missing says so when it is called.
//
// Sources: the reference of puppetlabs-stdlib 9.7, and what it answers on
// Puppet 8.
package stdlib

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Decoder reads a text as data.
type Decoder func(text []byte) (value.Value, error)

// Options are what functions need of the world. Functions for which something
// is nil are refused.
type Options struct {
	Now  func() time.Time // the present, for time()
	Rand io.Reader        // randomness, for shuffle() and str2saltedsha512(); read by many goroutines

	YAML  Decoder // for parseyaml() and loadyaml()
	HOCON Decoder // for parsehocon()

	// ReadFile returns the bytes of a file, for loadyaml(), loadjson() and
	// load_module_metadata(); the error is fs.ErrNotExist if there is none. It
	// ends with ctx.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Glob returns the files and directories that a pattern as of Ruby's
	// Dir.glob is for. It ends with ctx.
	Glob func(ctx context.Context, pattern string) ([]string, error)
	// Module returns the folder of a module.
	Module func(name string) (dir string, ok bool)
}

// Functions returns all functions.
func Functions(o Options) []*eval.Function {
	list := slices.Concat(
		texts(), paths(), shells(), conversions(), lists(), sets(), hashes(), ranges(), choices(), patterns(),
		addresses(), facts(), rotations(), random(o.Rand), digests(), passwords(o.Rand), certificates(),
		data(o), modules(o), clocks(o.Now), encoders(), secrets(), typing(), resources(), deprecations())
	list = append(list, formerNames()...)
	for _, f := range list {
		for i, s := range f.Signatures {
			f.Signatures[i].Run = builtin.Sized(measured(s.Run))
		}
	}
	return list
}

// measured runs a function unless its arguments are too large. Functions walk
// through all of them, and what is in them in many places counts each time.
func measured(run func(c *eval.Call) (value.Value, error)) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		all := 0
		for _, v := range c.Args {
			_, nodes := value.Measure(v)
			all += nodes
		}
		if err := c.Elements(all); err != nil {
			return nil, err
		}
		if err := c.Step(all / 2); err != nil {
			return nil, err
		}
		return run(c)
	}
}

// one is the only signature of a function.
func one(params string, run func(c *eval.Call) (value.Value, error)) []eval.Signature {
	return []eval.Signature{{Params: params, Run: run}}
}

// A runOld runs a function of the oldest kind with its arguments.
type runOld func(c *eval.Call, args []value.Value) (value.Value, error)

// old is a function of the oldest kind: a block is passed over, and its
// arguments are as of [builtin.Plain].
func old(name, params, doc string, run runOld) *eval.Function {
	return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{Params: params, Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
		args, err := builtin.Plain(c.Args)
		if err != nil {
			return nil, err
		}
		return run(c, args)
	}}}}
}

// arg returns the i-th argument, or nil when it was left out.
func arg(args []value.Value, i int) value.Value {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// wrong is the error of an argument of a type that the function does not take.
func wrong(c *eval.Call, v value.Value, takes string) error {
	return eval.Errorf("type-mismatch", "%s() takes %s, got %s", bare(c), takes, value.DescribeValue(v))
}

// invalid is the error of an argument that the function can do nothing with.
func invalid(c *eval.Call, format string, args ...any) error {
	return eval.Errorf("invalid-argument", "%s(): %s", bare(c), fmt.Sprintf(format, args...))
}

func bare(c *eval.Call) string { return strings.TrimPrefix(c.Name, "::") }

// maxShown is how much of a value messages show.
const maxShown = 200

// inspect is a value as messages show it.
func inspect(v value.Value) string { return value.InspectShort(v, maxShown) }

// rubyInspect is a value as Ruby's inspect writes it.
func rubyInspect(v value.Value, fits func(bytes int) error) (string, error) {
	return value.Sprintf("%p", []value.Value{v}, fits)
}

// missing is the error of a function whose Options lack something.
func missing(c *eval.Call, what string) error {
	return eval.Errorf("not-available", "%s(): there is %s here", bare(c), what)
}

// rubyEqual is Ruby's ==: numbers by what they are, texts with case.
func rubyEqual(a, b value.Value) bool {
	switch x := a.(type) {
	case value.Int, *value.BigInt, value.Float:
		switch b.(type) {
		case value.Int, *value.BigInt, value.Float:
			return value.Equal(a, b)
		}
		return false
	case *value.Array:
		y, ok := b.(*value.Array)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i, e := range x.All() {
			if !rubyEqual(e, y.At(i)) {
				return false
			}
		}
		return true
	case *value.Hash:
		y, ok := b.(*value.Hash)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for k, e := range x.All() {
			if f, ok := y.Get(k); !ok || !rubyEqual(e, f) {
				return false
			}
		}
		return true
	}
	return value.Same(a, b)
}

// characters are the characters of a text, which may not be too many.
func characters(c *eval.Call, s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if err := c.Elements(utf8.RuneCountInString(s)); err != nil {
		return nil, err
	}
	return strings.Split(s, ""), nil
}

// A made adds up the texts that a function makes, so that many large ones are
// refused as one is.
type made struct {
	c     *eval.Call
	bytes int
}

func (m *made) text(s string) (value.Value, error) {
	m.bytes += len(s)
	return value.String(s), m.c.Size(m.bytes)
}

// stringsOf returns texts as an array.
func stringsOf(list []string) *value.Array {
	out := make([]value.Value, len(list))
	for i, s := range list {
		out[i] = value.String(s)
	}
	return value.NewArray(out...)
}
