package parameter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bolt/format/valuedata"
	"bolt/puppet/value"
)

func TestRead(t *testing.T) {
	tests := []struct{ typ, text, want string }{
		{"", "12", "12"},
		{"", "abc", `"abc"`},
		{"", "", `""`},
		{"", "null", "nil"},
		{"", `{"a":[1.5]}`, `{"a"=>[1.5]}`},
		{"Any", "true", "true"},
		{"String", "12", `"12"`},
		{"String", `"12"`, `"12"`},
		{"String[1]", `{"a":1}`, `"{\"a\":1}"`},
		{"Integer[1,5]", "3", "3"},
		{"Integer[1,5]", "9", `"9"`},
		{"Optional[Boolean]", "null", "nil"},
		{"Array[String]", `["a"]`, `["a"]`},
		{"Array[String]", `[1]`, `"[1]"`},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.text, func(t *testing.T) {
			var typ value.Type
			if tt.typ != "" {
				var err error
				if typ, err = value.ParseType(tt.typ); err != nil {
					t.Fatal(err)
				}
			}
			if got := valuedata.Shown(Read(typ, tt.text)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAccepts(t *testing.T) {
	huge := Read(nil, "123456789012345678901234567890")
	for typ, want := range map[string]bool{"Integer": true, "Any": true, "Optional[Numeric]": true, "Integer[0]": true, "Integer[default, 0]": false, "String": false} {
		parsed, err := value.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		if got := Accepts(parsed, huge); got != want {
			t.Errorf("%s takes a number of more than 64 bits: %v", typ, got)
		}
	}
}

func TestChoices(t *testing.T) {
	for typ, want := range map[string][]string{
		"Enum[a, b]": {"a", "b"}, "Optional[Enum[a]]": {"a"}, "Boolean": {"true", "false"}, "Optional": nil, "String": nil,
	} {
		parsed, err := value.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Choices(parsed)); diff != "" {
			t.Errorf("%s: %s", typ, diff)
		}
	}
}
