package cli

import "testing"

func TestParseTimeout(t *testing.T) {
	for in, want := range map[string]string{"30": "30s", "0.5": "500ms", "2m": "2m0s", "0": "", "-1": "", "x": ""} {
		d, err := ParseTimeout(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: no error, got %v", in, d)
		case want != "" && (err != nil || d.String() != want):
			t.Errorf("%q: %v %v, want %s", in, d, err, want)
		}
	}
}
