package run

import "testing"

func TestParseAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Amount{"1": {1, false}, "25%": {25, true}, "100%": {100, true}, "7 %": {7, true}} {
		if got, err := ParseAmount(text, 1); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "0", "0%", "-1", "101%", "1.5", "x", "5%%", "99999999999"} {
		if got, err := ParseAmount(text, 1); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		most     *Amount
		failures int
		want     bool
	}{{nil, 0, false}, {nil, 1, true}, {&Amount{N: 2}, 2, false}, {&Amount{N: 2}, 3, true}, {&Amount{10, true}, 1, false}, {&Amount{10, true}, 2, true}} {
		r := Rolling{Serial: []Amount{{N: 1}}, MaxFailures: k.most}
		if r.tooMany(k.failures, 19) != k.want {
			t.Errorf("%v, %d failures: want %v", k.most, k.failures, k.want)
		}
	}
	if (&Rolling{}).tooMany(5, 5) {
		t.Error("one batch has nothing to stop")
	}
}
