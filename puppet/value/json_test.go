package value

import (
	"errors"
	"strings"
	"testing"
)

func TestFromRubyJSON(t *testing.T) {
	for in, want := range map[string]string{
		`[1] // end` + "\n":             `[1]`,
		"/* a */ {/**/\"a\" /*:*/ : 1}": `{'a' => 1}`,
		`["/* no */", "// no"]`:         `['/* no */', '// no']`,
		`["\a\.\é\/"]`:                  `['a.é/']`,
		`["\ud83d\ude00"]`:              `['😀']`,
		`{"a": 1, "b": 2, "a": 3}`:      `{'a' => 3, 'b' => 2}`,
	} {
		v, err := FromRubyJSON([]byte(in))
		if err != nil || Inspect(v) != want {
			t.Errorf("%s: %v, %v, want %s", in, v, err, want)
		}
	}
	if _, err := FromJSON([]byte("[1] /**/")); err == nil {
		t.Error("comments are JSON")
	}
	if _, err := FromJSON([]byte(`"\."`)); err == nil {
		t.Error("needless backslashes are JSON")
	}
}

func TestJSONErrors(t *testing.T) {
	for in, want := range map[string]string{
		"[1,\n " + strings.Repeat("9", 10001) + "]": "json: line 2, column 2: " + strings.Repeat("9", 80) + "… has more than 10000 digits",
		"1e400":                   "json: line 1, column 1: 1e400 does not fit a float of 64 bits",
		"{\n\"a\": 1\n":           "json: line 3, column 1: no comma and no end in an object",
		"[1] // no end":           "json: line 1, column 5: text behind the value",
		"[1] /* no end":           "json: line 1, column 5: text behind the value",
		`["\ud83d"]`:              `json: line 1, column 9: half of a pair of surrogates, such as \ud83d, without the other half`,
		"[\"\\\n\"]":              "json: line 2, column 1: an unknown escape in a string",
		strings.Repeat("[", 2000): "json: line 1, column 1002: arrays and objects stand more than 1000 deep in each other",
	} {
		_, err := FromRubyJSON([]byte(in))
		if _, ok := errors.AsType[*JSONError](err); !ok || err.Error() != want {
			t.Errorf("%.30q: %v, want %s", in, err, want)
		}
	}
}
