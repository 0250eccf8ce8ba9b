package yaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bolt/format/yaml"
)

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		"a: x\nb:\n  - c: d\n   e: f\ng: h\n":  "4:4", // the library has line 2
		"a: x\nb: [\n":                         "2:4",
		"a: x\n  b: c\nd: e\n":                 "2:4",
		"a: x\nb: \"c\nd: e\n":                 "2:4",
		"- a\nb: c\n":                          "2:2",
		"a:\n\tb: c\n":                         "2:1",
		"a: {b: c}}\n":                         "1:10",
		"a: b\nc: \xff\n":                      "2:4",
		"@a":                                   "1:1",
		strings.Repeat("a: b\n", 5000) + "}\n": "5001:1",
	} {
		_, err := yaml.DecodeNodes([]byte(text), "f")
		e, is := errors.AsType[*yaml.Error](err)
		if !is {
			t.Errorf("%.20q: %v", text, err)
			continue
		}
		line, column := yaml.Place([]byte(text), e.Problem)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("%.20q: got %s, want %s (%s)", text, got, want, e.Problem)
		}
	}
	if line, column := yaml.Place([]byte("a: b\n"), "a problem that it does not have"); line != 0 || column != 0 {
		t.Errorf("got %d:%d", line, column)
	}
}
