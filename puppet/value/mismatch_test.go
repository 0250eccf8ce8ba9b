package value

import (
	"testing"
)

func TestMismatch(t *testing.T) {
	w := newWorld(t, map[string]string{
		"Port":     "Integer[1, 65535]",
		"Endpoint": "Struct[{ host => String[1], port => Port, Optional[tls] => Boolean }]",
		"Tree":     "Variant[Integer, Array[Tree]]",
	})
	for _, c := range []struct{ typ, v, want string }{
		{"Integer", "'a'", "it expects an Integer value, got String"},
		{"Integer[1, 65535]", "70000", "it expects an Integer[1, 65535] value, got 70000"},
		{"String[1]", "''", "it expects a String[1] value, got ''"},
		{"Port", "0", "it expects Port, an Integer[1, 65535] value, got 0"},
		{"Port", "undef", "it expects Port, an Integer[1, 65535] value, got undef"},
		{"Optional[Integer]", "'a'", "it expects an Integer value or undef, got String"},
		{"NotUndef", "undef", "it expects a NotUndef value, got undef"},
		{"Enum['a', 'b', 'c']", "'d'", "it expects 'a', 'b' or 'c', got 'd'"},
		{"Pattern[/^a/]", "'d'", "it expects a match for Pattern[/^a/], got 'd'"},
		{"Variant[Integer, Boolean]", "'d'", "it expects a value of type Integer or Boolean, got String"},
		{"Array[Integer]", "[1, 'a', 2, 'b']", "it index 1 expects an Integer value, got String; it index 3 expects an Integer value, got String"},
		{"Array[Integer, 2]", "[1]", "it expects at least 2 elements, got 1"},
		{"Tuple[Integer, String]", "[1]", "it expects 2 elements, got 1"},
		{"Tuple[Integer, String, 1, 3]", "[]", "it expects 1 to 3 elements, got 0"},
		{"Tuple[Integer, String]", "['a', 'b']", "it index 0 expects an Integer value, got String"},
		{"Hash[String, Integer]", "{ 'a' => 'b' }", "it entry 'a' expects an Integer value, got String"},
		{"Hash[Integer, Integer, 0, 1]", "{ 1 => 1, 2 => 2 }", "it expects at most 1 entry, got 2"},
		{"Hash[Integer, Integer]", "{ 'a' => 2 }", "it key of entry 'a' expects an Integer value, got String"},
		{"Endpoint", "{ 'host' => 'h' }", "it expects a value for key 'port'"},
		{"Endpoint", "{ 'host' => 'h', 'port' => 'x' }", "it entry 'port' expects Port, an Integer[1, 65535] value, got String"},
		{"Endpoint", "{ 'host' => 'h', 'port' => 1, 'tsl' => true }", "it has no use for the key 'tsl' (is it 'tls'?)"},
		{"Endpoint", "[1]", "it expects Endpoint, a Struct[{'host' => String[1], 'port' => Port, Optional['tls'] => Boolean}] value, got Array[Integer]"},
		{"Array[Variant[Integer, Endpoint]]", "[{ 'host' => '', 'port' => 1 }]", "it index 0 entry 'host' expects a String[1] value, got ''"},
		{"Tree", "[1, [2, ['a']]]", "it index 1 index 1 index 0 expects Tree, a value of type Integer or Array[Tree], got String"},
		{"Data", "{ 'a' => [1, default] }", "it expects a Data value, got Default within"},
		{"Type[Integer]", "String", "it expects a type that is an Integer, got the type String"},
		{"Sensitive[String]", "'secret'", "it expects a Sensitive[String] value, got String"},
		{"Sensitive[Integer]", "Sensitive('secret')", "it expects a Sensitive[Integer] value, got Sensitive[String]"},
		{"Array[Integer]", "['1', '2', '3', '4', '5', '6']", "it index 0 expects an Integer value, got String; it index 1 expects an Integer value, got String; " +
			"it index 2 expects an Integer value, got String; it index 3 expects an Integer value, got String; and there is more"},
		{"Integer", "1", ""},
	} {
		typ, err := parseTypeWith(c.typ, w.lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := Mismatch("it", typ, w.value(t, c.v)); got != c.want {
			t.Errorf("%s =~ %s:\n got %s\nwant %s", c.v, c.typ, got, c.want)
		}
	}
}
