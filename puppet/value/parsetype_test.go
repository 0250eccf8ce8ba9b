package value

import (
	"strings"
	"testing"
)

func TestParseType(t *testing.T) {
	for src, want := range map[string]string{
		"Integer":                                "Integer",
		" integer ":                              "",
		"::Integer":                              "Integer",
		"Scalardata":                             "ScalarData",
		"Integer[1,2,]":                          "Integer[1, 2]",
		"Integer[ 0x10 , 020 ]":                  "Integer[16, 16]",
		"Integer[-5, +5]":                        "Integer[-5, 5]",
		"Float[-1.5, 1.5e3]":                     "Float[-1.5, 1500.0]",
		"Enum[a, 'b c', \"d\\n\\u{e9}\\u00e9\"]": "Enum['a', 'b c', \"d\\néé\"]",
		`Enum['it\'s', 'a\b']`:                   `Enum['a\b', 'it\'s']`,
		"TypeReference['A::B']":                  "TypeReference['A::B']",
		"Struct[{a=>Integer, 'b' => String,}]":   "Struct[{'a' => Integer, 'b' => String}]",
		`Pattern[/a\/b\d/]`:                      `Pattern[/a\/b\d/]`,
		"Array[Integer # comment\n, 1]":          "Array[Integer, 1]",
		"Foo::Bar":                               "TypeReference['Foo::Bar']",
		"Foo[1, Integer]":                        "TypeReference['Foo[1, Integer]']",
		"Class[a]":                               "Class[a]",
		"Resource[file, '/x']":                   "File['/x']",
		"Type[Resource['a::b']]":                 "Type[A::B]",
		"Optional[undef]":                        "",
		"Boolean[true]":                          "Boolean[true]",
		"Tuple[Integer, default, 3]":             "Tuple[Integer, 0, 3]",
		"Integer[1":                              "",
		"Integer 1":                              "",
		"Integer[1 2]":                           "",
		"Integer[$x]":                            "",
		"Enum['a]":                               "",
		"Enum[\"a$b\"]":                          "",
		"Pattern[/a]":                            "",
		"Pattern[/(/]":                           "",
		"Foo:Bar":                                "",
		"Foo::":                                  "",
		"Integer[1.2.3]":                         "",
		"Integer[1e]":                            "",
		"":                                       "",
		"1":                                      "",
		"[Integer]":                              "",
	} {
		typ, err := ParseType(src)
		got := ""
		if err == nil {
			got = Describe(typ)
		} else if e, ok := err.(*TypeError); !ok || e.Kind == "" {
			t.Errorf("%s: %#v", src, err)
		}
		if got != want {
			t.Errorf("%s: got %s, %v, want %s", src, got, err, want)
		}
	}
}

// FuzzParseType checks that parsing the printed form of a type returns the
// type.
func FuzzParseType(f *testing.F) {
	for _, src := range []string{"Integer[1, 2]", "Struct[{'a' => Optional[String[1]], Optional['b'] => Any}]", "Callable[[Integer, 1, default, Callable], String]",
		"Variant[Enum['a', 'b', true], Pattern[/a\\/b/], Regexp[/x/]]", "Object[{name => 'A', attributes => {'a' => Integer}}]",
		"Timespan['0-00:00:01.5', '0-00:00:02.5']", "Timestamp['2020-01-01T00:00:00.000000000 UTC']", "SemVer['1.x']", "URI[{'scheme' => 'http'}]", "Init[Integer, 8]",
		"Hash[String, Data, 1, 2]", "Tuple[Integer, String, 2]", "Foo::Bar['x']", "Float[1.0e10]", "Runtime['go', 'x']", "Class[a::b]"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		typ, err := ParseType(src)
		if err != nil {
			return
		}
		// The printed form of some types cannot be parsed: names of a runtime
		// as words, and a key '' in Optional.
		printed := Describe(typ)
		for _, word := range []string{"Unit", "Runtime", "Object[", "TypeSet[", "= TypeReference", "NaN", "default", "''"} {
			if strings.Contains(printed, word) {
				return
			}
		}
		again, err := ParseType(printed)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", src, printed, err)
		}
		if Describe(again) != printed {
			t.Fatalf("%q prints as %q and then as %q", src, printed, Describe(again))
		}
		if !Equal(typ, typ) {
			t.Fatalf("%q differs from itself", printed)
		}
		Assignable(typ, again)
		common(typ, Generalize(again))
		normalize(Generalize(typ))
	})
}
