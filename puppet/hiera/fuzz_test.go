package hiera

import (
	"context"
	"strings"
	"testing"

	"bolt/puppet/value"
)

// vars is a Caller with only variables.
type vars map[string]value.Value

func (v vars) Variable(name string, _ ...value.Value) (value.Value, bool) {
	x, ok := v[strings.TrimPrefix(name, "::")]
	return x, ok
}

func (vars) Call(context.Context, string, ...value.Value) (value.Value, error) {
	return nil, errNoFunction
}

func (vars) ParseType(string) (value.Type, error) { return nil, errNoFunction }

// noFiles has no files.
type noFiles struct{}

func (noFiles) Stat(string) (Stamp, bool)                        { return Stamp{}, false }
func (noFiles) ReadFile(context.Context, string) ([]byte, error) { return nil, errNoFunction }
func (noFiles) Glob(context.Context, string) ([]string, error)   { return nil, nil }

func FuzzInterpolate(f *testing.F) {
	for _, s := range []string{
		"plain", "%{x}", "a %{x.k} b", "%{::x}", "%{lookup('x')}", "%{alias(\"x\")}", "%{literal('%')}{x}", "%{}", "%{''}", "%{x.'a.b'}",
		"%{", "%{x", "%{lookup('x}", "%{scope('loop')}", "%{x}}", "%{ lookup('x') }", "%{lookup(x)}", "%{a..b}", "%{loop}",
	} {
		f.Add(s)
	}
	caller := vars{
		"x":    value.NewHash(value.Entry{Key: value.String("k"), Value: value.String("v")}, value.Entry{Key: value.String("a.b"), Value: value.Int(1)}),
		"loop": value.String("%{loop}"),
	}
	h := New(Options{Files: noFiles{}})
	f.Fuzz(func(t *testing.T, s string) {
		l := h.Session(SessionOptions{}).start(context.Background(), caller, Request{})
		v, err := l.interpolate(value.String(s), true)
		if err != nil {
			return
		}
		if v == nil {
			t.Fatal("no value and no error")
		}
		if got, ok := v.(value.String); ok && !strings.Contains(s, "%{") && string(got) != s {
			t.Errorf("%q without an interpolation became %q", s, got)
		}
		if len(l.names) != 0 || l.depth != 0 {
			t.Errorf("%q leaves names %q and depth %d", s, l.names, l.depth)
		}
	})
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "a.b.0", "a.'b.c'", `"a.b".c`, "m::a.x", "a..b", ".", "'", "''", " a . b ", "a.-1", "a.99999999999999999999", "::", "a.\"b\"c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := parseKey(s)
		if err != nil {
			return
		}
		if len(k.segments) == 0 && !strings.ContainsAny(s, `'".`) && k.root != s {
			t.Errorf("root of %q is %q", s, k.root)
		}
		if v := k.undig(value.Int(1)); v == nil {
			t.Errorf("%q leads nowhere", s)
		}
	})
}
