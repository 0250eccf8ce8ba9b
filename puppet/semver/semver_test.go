package semver

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, s := range []string{"0.0.0", "1.2.3-rc.1+build.5", "9223372036854775806.0.0"} {
		v, err := Parse(s)
		if err != nil || v.String() != s {
			t.Errorf("%s: %v, %v", s, v, err)
		}
	}
	for s, want := range map[string]Reason{"1.2": Malformed, "01.2.3": Malformed, "1.2.3-01": Malformed, "9223372036854775807.0.0": TooLarge} {
		_, err := Parse(s)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != want {
			t.Errorf("%s: %v", s, err)
		}
	}
	ascending := strings.Fields("0.0.1-a 0.0.1-a.1 0.0.1-a.b 0.0.1 0.1.0 1.0.0-rc.2 1.0.0-rc.10 1.0.0")
	for i, a := range ascending {
		for j, b := range ascending {
			v, _ := Parse(a)
			w, _ := Parse(b)
			if c := v.Compare(w); c < 0 != (i < j) || c > 0 != (i > j) {
				t.Errorf("%s and %s: %d", a, b, c)
			}
		}
	}
}

func TestParseRange(t *testing.T) {
	for _, tt := range []struct{ text, canonical, in, out string }{
		{">=1.2.0 <2.0.0", ">=1.2.0 <2.0.0", "1.2.0 1.9.9", "2.0.0 1.1.9 1.3.0-rc1"},
		{"~1.2", ">=1.2.0 <1.3.0", "1.2.5", "1.3.0"},
		{"^1.2.3-rc1", ">=1.2.3-rc1 <2.0.0", "1.2.3-rc2", "1.2.3-a 2.0.0"},
		{"1.x || 3.0.0", ">=1.0.0 <2.0.0 || 3.0.0", "1.0.0 3.0.0", "2.0.0"},
		{"1.0.0 - 2.0.0", ">=1.0.0 <=2.0.0", "2.0.0", "2.0.1"},
		{"", "*", "0.0.0 9.9.9-a", ""},
	} {
		r, err := ParseRange(tt.text)
		if err != nil || r.Canonical() != tt.canonical {
			t.Errorf("%s: %v, %v", tt.text, r, err)
			continue
		}
		for want, list := range map[bool]string{true: tt.in, false: tt.out} {
			for _, s := range strings.Fields(list) {
				if v, err := Parse(s); err != nil || r.Includes(v) != want {
					t.Errorf("%s in %s: %v, %v", s, tt.text, !want, err)
				}
			}
		}
	}
	for s, want := range map[string]Reason{">=x1": Malformed, "1.2.3.4": Malformed, strings.Repeat("1", 5000): TooLong, "99999999999999999999": TooLarge} {
		_, err := ParseRange(s)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != want {
			t.Errorf("%.20s: %v", s, err)
		}
	}
}
