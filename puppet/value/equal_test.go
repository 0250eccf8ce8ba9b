package value

import (
	"math"
	"testing"
	"time"
)

func TestEqual(t *testing.T) {
	w := testTypes(t)
	for _, c := range []struct {
		a, b        string
		equal, same bool
	}{
		{"1", "1.0", true, false},
		{"9007199254740993", "9007199254740992.0", false, false},
		{"9223372036854775807", "9223372036854775808.0", false, false},
		{"0.0", "-0.0", true, true},
		{"'a'", "'A'", true, false},
		{`"é"`, `"É"`, false, false},
		{"'a'", "'ab'", false, false},
		{"'1'", "1", false, false},
		{"undef", "''", false, false},
		{"default", "default", true, true},
		{"[1, 'a']", "[1.0, 'A']", true, false},
		{"[1]", "[1, 2]", false, false},
		{"{ 'a' => 1 }", "{ 'A' => 1 }", false, false},
		{"{ 'a' => 1 }", "{ 'a' => 1.0 }", true, false},
		{"{ 'a' => undef }", "{ 'b' => undef }", true, false},
		{"{ 'a' => 1, 'b' => 2 }", "{ 'b' => 2, 'a' => 1 }", true, true},
		{"Timespan(60)", "60", true, false},
		{"60", "Timespan(60)", true, false},
		{"Timespan(60)", "60.0", true, false},
		{"Timespan(1)", "Timestamp(1)", false, false},
		{"Timestamp('2020-01-01')", "1577836800", true, false},
		{"SemVer('1.2.3+a')", "SemVer('1.2.3+b')", false, false},
		{"SemVerRange('>=1.0.0')", "SemVerRange('>= 1.0.0')", true, true},
		{"URI('http://h')", "URI('HTTP://H')", true, false},
		{"Sensitive('a')", "Sensitive('A')", false, false},
		{"Sensitive(1)", "Sensitive(1)", true, true},
		{"Variant[Integer, String]", "Variant[String, Integer]", true, false},
		{"Pattern[/a/, /b/]", "Pattern[/b/, /a/]", true, false},
		{"Integer", "Integer[default, default]", true, true},
		{"M::Point(1)", "M::Point(1, 0)", true, true},
		{"M::Point(1)", "M::Point(2)", false, false},
		{"/a/", "/a/", true, true},
	} {
		a, b := w.value(t, c.a), w.value(t, c.b)
		if Equal(a, b) != c.equal || Equal(b, a) != c.equal {
			t.Errorf("%s == %s is %v, backwards %v", c.a, c.b, Equal(a, b), Equal(b, a))
		}
		if Same(a, b) != c.same || Same(b, a) != c.same {
			t.Errorf("%s and %s are the same key: %v, backwards %v", c.a, c.b, Same(a, b), Same(b, a))
		}
		if c.same && hashKey(a) != hashKey(b) {
			t.Errorf("%s and %s have different hashes", c.a, c.b)
		}
	}
	nan := Float(math.NaN())
	if Equal(nan, nan) || Same(nan, nan) || Equal(nan, Int(0)) {
		t.Error("NaN is equal to something")
	}
}

func TestCompare(t *testing.T) {
	w := testTypes(t)
	const none = 9
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1", "2", -1}, {"1", "1.0", 0}, {"2.5", "2", 1}, {"9007199254740993", "9007199254740992.0", 1}, {"-1", "-1.5", 1},
		{"9223372036854775807", "1e300", -1}, {"-1e300", "-9223372036854775807", -1},
		{"'a'", "'B'", -1}, {"'a'", "'A'", 0}, {"'_'", "'a'", -1}, {"'a'", "'ab'", -1}, {"'Z'", "'a'", 1},
		{"1", "Timespan(2)", -1}, {"Timespan(2)", "1.5", 1}, {"Timespan(-1)", "Timespan(1)", -1}, {"Timestamp(2)", "Timestamp(1)", 1}, {"Timestamp(2)", "1", 1},
		{"Timespan(2)", "Timestamp(1)", none}, {"SemVer('1.0.0')", "SemVer('1.0.1')", -1}, {"SemVer('1.0.0')", "'1.0.1'", none},
		{"'a'", "1", none}, {"undef", "undef", none}, {"true", "false", none}, {"[1]", "[2]", none}, {"/a/", "/b/", none}, {"default", "default", 0},
	} {
		got, err := Compare(w.value(t, c.a), w.value(t, c.b))
		if err != nil {
			got = none
		}
		if got != c.want {
			t.Errorf("%s and %s: %d, %v, want %d", c.a, c.b, got, err, c.want)
		}
	}
}

func TestTruthy(t *testing.T) {
	w := testTypes(t)
	for _, src := range []string{"true", "0", "''", "[]", "{}", "default", "Integer"} {
		if !Truthy(w.value(t, src)) {
			t.Errorf("%s counts as false", src)
		}
	}
	if Truthy(Undef{}) || Truthy(Bool(false)) {
		t.Error("undef or false counts as true")
	}
}

func TestMatches(t *testing.T) {
	w := testTypes(t)
	for _, c := range []struct {
		v, pattern string
		want       bool
	}{
		{"'ABC'", "'abc'", true}, {"'abc'", "/b/", true}, {"1", "/1/", false}, {"1", "Integer", true}, {"1", "default", true},
		{"'1.2.3'", "SemVer('1.2.3')", true}, {"'1.2.3'", "SemVerRange('1.x')", true}, {"'x'", "SemVerRange('1.x')", false},
		{"[1, 'a']", "[Integer, /a/]", true}, {"[1]", "[1, 2]", false}, {"{ 'a' => 1, 'b' => 2 }", "{ 'a' => Integer }", true},
		{"{ 'b' => 2 }", "{ 'a' => undef }", true}, {"{ 'b' => 2 }", "{ 'a' => 1 }", false},
	} {
		if got := matches(w.value(t, c.v), w.value(t, c.pattern)); got != c.want {
			t.Errorf("%s matches %s: %v", c.v, c.pattern, got)
		}
	}
}

// TestEqualSeconds checks that an integer is equal to a time with the same
// number of whole seconds.
func TestEqualSeconds(t *testing.T) {
	span, moment := Timespan(-1_500_000_000), NewTimestamp(time.Unix(1, 500_000_000))
	for _, c := range []struct {
		a, b Value
		want bool
	}{
		{Int(-2), span, true}, {span, Int(-2), true}, {Int(-1), span, false}, {Float(-1.5), span, true}, {Float(-2), span, false},
		{Int(1), moment, true}, {moment, Int(1), true}, {moment, Int(2), false}, {moment, Float(1), false},
		{NewArray(Int(1)), NewArray(moment), true}, {span, moment, false},
	} {
		if got := Equal(c.a, c.b); got != c.want {
			t.Errorf("%s == %s is %v", Inspect(c.a), Inspect(c.b), got)
		}
	}
}
