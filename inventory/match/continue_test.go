package match

import (
	"slices"
	"testing"
)

func TestContinuations(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string][]string{
		"":                         {"name", "uri", "host", "alias", "transport", "groups", "features", "facts.", "vars."},
		"f":                        {"features", "facts."},
		"not (f":                   {"not (features", "not (facts."},
		`name == `:                 nil,
		`name == "a`:               nil,
		`name == "a" `:             {`name == "a" and`, `name == "a" or`, `name == "a" in`},
		`name == "a" and v`:        {`name == "a" and vars.`},
		`"web" in `:                {`"web" in groups`, `"web" in features`, `"web" in alias`},
		"facts.o":                  nil,
		`facts.is_virtual o`:       {`facts.is_virtual or`},
		`name in ["a", `:           nil,
		`name == "say \"f" and ho`: {`name == "say \"f" and host`},
	} {
		if got := Continuations(prefix); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}
