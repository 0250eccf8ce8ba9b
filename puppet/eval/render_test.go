package eval_test

import (
	"context"
	"errors"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ src, want, kind string }{
		{"<%- | $x = 1 | -%>\nx <%= $x + $facts['n'] %>", "'x 3'", ""},
		{"<%- | $x | -%>\n<%= $x %>", "", "parameter"},
		{"<%= Sensitive('s') %>", "#<Sensitive [value redacted]>", ""},
		{"<%= nothing() %>", "", "unknown-function"},
	} {
		p, err := syntax.ParseTemplate(syntax.NewFile("t.epp", c.src), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		env := newEnv()
		env.Facts = value.NewHash(value.Entry{Key: value.String("n"), Value: value.Int(2)})
		v, err := eval.New(env).Render(context.Background(), p, nil)
		e, _ := errors.AsType[*eval.Error](err)
		switch {
		case c.kind != "":
			if e == nil || e.Kind != c.kind {
				t.Errorf("%q is %v, %v (%T), want an error %s", c.src, v, err, err, c.kind)
			}
		case err != nil || value.Inspect(v) != c.want:
			t.Errorf("%q is %s, %v, want %s", c.src, value.Inspect(v), err, c.want)
		}
	}
	p, err := syntax.Parse(syntax.NewFile("p.pp", "1"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := eval.New(newEnv()).Render(context.Background(), p, nil); err == nil {
		t.Errorf("a program that is no template is %v", v)
	}
}

// TestErrorsNameUnknownNames checks that an error contains the unknown name, so
// that callers can suggest similar names.
func TestErrorsNameUnknownNames(t *testing.T) {
	for src, want := range map[string]string{"1 + nope(1)": "nope", "1.nope": "nope", "1 =~ Nope::X": "Nope::X", "Nope[1]": "Nope"} {
		_, err := run(t, newEnv(), src)
		if e, _ := errors.AsType[*eval.Error](err); e == nil || e.Name != want {
			t.Errorf("%s: %+v, want the name %s", src, err, want)
		}
	}
}
