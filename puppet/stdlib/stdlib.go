// Package stdlib implements the functions and type aliases of the module
// puppetlabs-stdlib 9 in Go. Many manifests need this module, and most of its
// functions are written in Ruby.
//
// [Functions] are added to a Library like those of package builtin; [Loader]
// adds the types Stdlib::*. If a module stdlib is on the module path, its types
// override the types here. For functions, the caller decides. Functions in a
// Library override those that a Loader finds; functions behind a Loader do not.
//
// Files, decoders, clocks and randomness come through [Options]. If an option
// is nil, the functions that need it return an error.
//
// Sources: the reference of puppetlabs-stdlib 9.7, and its results on Puppet 8.
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

// A Decoder decodes text to data.
type Decoder func(text []byte) (value.Value, error)

// Options are the external resources of functions. If one is nil, the functions
// that need it return an error.
type Options struct {
	Now  func() time.Time // the current time, for time()
	Rand io.Reader        // randomness, for shuffle() and str2saltedsha512(); must be safe for concurrent use

	YAML  Decoder // for parseyaml() and loadyaml()
	HOCON Decoder // for parsehocon()

	// ReadFile returns the content of a file, for loadyaml(), loadjson() and
	// load_module_metadata(). If the file does not exist, the error is
	// fs.ErrNotExist. It ends when ctx is done.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Glob returns the files and directories that match a pattern of Ruby's
	// Dir.glob. It ends when ctx is done.
	Glob func(ctx context.Context, pattern string) ([]string, error)
	// Module returns the directory of a module.
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

// measured returns an error if the arguments of a function are too large.
// Functions visit all values in them, and a value that occurs several times
// counts several times.
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

// one returns the only signature of a function.
func one(params string, run func(c *eval.Call) (value.Value, error)) []eval.Signature {
	return []eval.Signature{{Params: params, Run: run}}
}

// A runOld runs a function of the oldest kind with its arguments.
type runOld func(c *eval.Call, args []value.Value) (value.Value, error)

// old returns a function of the oldest kind. It ignores a block, and its
// arguments are converted with [builtin.Plain].
func old(name, params, doc string, run runOld) *eval.Function {
	return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{Params: params, Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
		args, err := builtin.Plain(c.Args)
		if err != nil {
			return nil, err
		}
		return run(c, args)
	}}}}
}

// arg returns argument i, or nil if it was omitted.
func arg(args []value.Value, i int) value.Value {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// wrong returns the error of an argument with a wrong type.
func wrong(c *eval.Call, v value.Value, takes string) error {
	return eval.Errorf("type-mismatch", "%s() takes %s, got %s", bare(c), takes, value.DescribeValue(v))
}

// invalid returns the error of an invalid argument.
func invalid(c *eval.Call, format string, args ...any) error {
	return eval.Errorf("invalid-argument", "%s(): %s", bare(c), fmt.Sprintf(format, args...))
}

func bare(c *eval.Call) string { return strings.TrimPrefix(c.Name, "::") }

// maxShown is the length to which messages shorten a value.
const maxShown = 200

// inspect returns a value for messages.
func inspect(v value.Value) string { return value.InspectShort(v, maxShown) }

// rubyInspect returns a value as Ruby's inspect writes it.
func rubyInspect(v value.Value, fits func(bytes int) error) (string, error) {
	return value.Sprintf("%p", []value.Value{v}, fits)
}

// missing returns the error of a function for which an option is nil.
func missing(c *eval.Call, what string) error {
	return eval.Errorf("not-available", "%s(): there is %s here", bare(c), what)
}

// rubyEqual implements Ruby's ==: numbers by value, strings with case.
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

// characters returns the characters of a string, or an error if there are too
// many.
func characters(c *eval.Call, s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if err := c.Elements(utf8.RuneCountInString(s)); err != nil {
		return nil, err
	}
	return strings.Split(s, ""), nil
}

// A made adds up the sizes of the strings that a function makes, so that many
// strings are limited like one large string.
type made struct {
	c     *eval.Call
	bytes int
}

func (m *made) text(s string) (value.Value, error) {
	m.bytes += len(s)
	return value.String(s), m.c.Size(m.bytes)
}

// stringsOf returns strings as an array.
func stringsOf(list []string) *value.Array {
	out := make([]value.Value, len(list))
	for i, s := range list {
		out[i] = value.String(s)
	}
	return value.NewArray(out...)
}
