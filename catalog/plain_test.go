package catalog

import (
	"testing"

	"bolt/format/ordered"
)

func TestPlain(t *testing.T) {
	rich := func(name string, v any) any { return ordered.Of("__ptype", name, "__pvalue", v) }
	for _, c := range []struct {
		in, want any
		err      string
	}{
		{"x", "x", ""},
		{rich("Sensitive", "s"), "s", ""},
		{rich("Sensitive[String]", rich("Regexp", "a+")), "a+", ""},
		{[]any{rich("Sensitive", int64(1)), true}, []any{int64(1), true}, ""},
		{ordered.Of("k", rich("Sensitive", "s")), ordered.Of("k", "s"), ""},
		{rich("Binary", "AP8="), "\x00\xff", ""},
		{rich("Binary", "?"), nil, "has a Binary value that is not base64"},
		{rich("Hash", []any{int64(1), rich("Sensitive", "s")}), ordered.Of("1", "s"), ""},
		{rich("Default", nil), "default", ""},
		{[]any{ordered.Of("__ptype", "Deferred", "name", "f")}, nil, "has a Deferred value, which only a Puppet agent can compute"},
	} {
		got, err := Plain(c.in)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("Plain(%v): error %v, want %s", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !EqualValues(got, c.want) {
			t.Errorf("Plain(%v) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
}
