package rollouts

import "testing"

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"one":                               "one",
		"refused\n  Check the port.\n":      "refused. Check the port.",
		"two values:\na\n\nb;\nand no more": "two values: a. b; and no more",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
