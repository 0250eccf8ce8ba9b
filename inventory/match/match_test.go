package match_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory/match"
)

// subject is a target of tests; a name that it has not is unknown.
type subject map[string]any

func (s subject) Value(_ context.Context, name string) (any, bool, error) {
	if err, ok := s[name].(error); ok {
		return nil, false, err
	}
	v, known := s[name]
	return v, known, nil
}

func web1() subject {
	huge, _ := new(big.Int).SetString("100000000000000000000", 10)
	return subject{
		"name": "web1", "uri": nil, "host": "web1.example.com", "transport": "ssh",
		"groups": []any{"web", "eu", "all"}, "features": []any{}, "alias": []any{"www"},
		"facts": ordered.Of(
			"os", ordered.Of("family", "Debian", "release", ordered.Of("full", "9.10", "major", "9")),
			"processors", ordered.Of("count", int64(8), "models", []any{"a", "b"}),
			"load", 0.5, "virtual", true, "text_true", "true", "text_false", "false", "nothing", nil, "huge", huge,
			"dotted.name", ordered.Of("x", int64(1)), "with-dash", "yes", "rolling", "sid",
			"nan", math.NaN(), "inf", math.Inf(1),
			"mountpoints", ordered.Of("/", ordered.Of("size", int64(5))),
		),
		"vars": &ordered.Map{},
	}
}

func TestMatchesExpressions(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want match.Answer
	}{
		{`facts.os.family == "Debian"`, match.Yes},
		{`facts.os.family == 'Debian' and not (facts.role in ["db"])`, match.Yes},
		{`facts.os.family == "debian"`, match.No},
		{`facts.os.family =~ "(?i)^deb"`, match.Yes},
		{`facts.os.family !~ "an$"`, match.No},
		{`facts.os.family =~ "\w+\x6e"`, match.Yes},
		{`facts["os"].release["full"] == "9.10"`, match.Yes},
		{`facts."dotted.name".x == 1`, match.Yes},
		{`facts.mountpoints["/"].size > 4`, match.Yes},
		{`facts.with-dash == "yes"`, match.Yes},
		{`"/" in facts.mountpoints`, match.Yes},
		{`"/tmp" in facts.mountpoints`, match.No},

		// texts and numbers
		{`facts.os.release.major == 9`, match.Yes},
		{`facts.os.release.major == "9"`, match.Yes},
		{`facts.os.release.major != 9`, match.No},
		{`facts.os.release.full == 9.10`, match.Yes},
		{`facts.os.release.full == 9.1`, match.No},
		{`facts.os.release.full > "9.9"`, match.Yes},
		{`facts.os.release.full > 9.9`, match.Yes},
		{`facts.os.release.full >= 9.10`, match.Yes},
		{`facts.os.release.full < 10`, match.Yes},
		{`facts.os.release.full >= "9"`, match.Yes},
		{`facts.processors.count == 8`, match.Yes},
		{`facts.processors.count == 8.0`, match.Yes},
		{`facts.processors.count == "8"`, match.Yes},
		{`facts.processors.count > 10`, match.No},
		{`facts.processors.count < 7.9`, match.No},
		{`facts.load == 0.50`, match.Yes},
		{`facts.load < 0.6`, match.Yes},
		{`facts.huge > 1`, match.Yes},
		{`facts.huge > 1.5`, match.Yes},
		{`facts.huge == "100000000000000000000"`, match.Yes},
		{`facts.rolling > 9`, match.Yes},
		{`facts.nan == 1 or facts.nan == facts.nan and facts.inf > facts.huge`, match.Yes},
		{`-1 < 0`, match.Yes},
		{`"a10" > "a9"`, match.Yes},
		{`"a010" >= "a10" and "a010" <= "a10" and "a010" != "a10"`, match.Yes},
		{`"1.2" < "1.2.1"`, match.Yes},
		{`"1.2-rc" < "1.2"`, match.No},

		// truth
		{`facts.virtual`, match.Yes},
		{`facts.virtual == true`, match.Yes},
		{`facts.text_true`, match.Yes},
		{`facts.text_true == true`, match.Yes},
		{`not facts.text_false`, match.Yes},
		{`facts.missing`, match.No},
		{`true`, match.Yes},
		{`not not false`, match.No},

		// nothing
		{`facts.nothing == null`, match.Yes},
		{`facts.no.such.thing == null`, match.Yes},
		{`facts.os.family.more == null`, match.Yes},
		{`facts.os != null`, match.Yes},
		{`facts.missing != "x"`, match.Yes},
		{`facts.missing < 1 or facts.missing >= 1 or 1 < facts.missing`, match.No},
		{`facts.missing =~ ""`, match.No},
		{`facts.missing !~ ""`, match.Yes},
		{`facts.missing in ["x", null]`, match.No},
		{`facts.missing not in ["x"]`, match.Yes},
		{`"x" in facts.missing`, match.No},
		{`uri == null`, match.Yes},

		// lists
		{`"web" in groups`, match.Yes},
		{`"db" not in groups`, match.Yes},
		{`not "db" in groups`, match.Yes},
		{`name in ["web1", "web2"]`, match.Yes},
		{`facts.os.release.major in [8, 9]`, match.Yes},
		{`name in []`, match.No},
		{`"www" in alias`, match.Yes},
		{`facts.processors.models[1] == "b"`, match.Yes},
		{`facts.processors.models[2] == null`, match.Yes},
		{`facts.processors.models.x == null`, match.Yes},
		{`facts.processors[0] == null`, match.Yes},
		{`features == []`, match.Yes},
		{`facts.processors.models == ["a", "b"]`, match.Yes},
		{`facts.processors.models == ["a"]`, match.No},
		{`facts.os == facts.os and facts.os != facts.processors and facts.os != vars`, match.Yes},
		{`facts.processors != facts.processors.models`, match.Yes},
		{`groups != null and null != facts.os`, match.Yes},
		{`groups != facts.missing`, match.Yes},
		{`uri != ["a"]`, match.Yes},

		// how parts bind
		{`true or false and false`, match.Yes},
		{`(true or false) and false`, match.No},
		{`not true or true`, match.Yes},
		{`not (true or true)`, match.No},
		{"name == \"web1\"\n  and\ttransport == 'ssh'", match.Yes},
		{`"it's" == 'it\'s' and "\"" == '"' and "\\" == '\\' and "\d" == '\\d'`, match.Yes},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			x, err := match.Parse(tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Match(context.Background(), web1())
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
			again, err := match.Parse(x.String())
			if err != nil || again.String() != x.String() {
				t.Fatalf("printed as %s, read again as %v, %v", x, again, err)
			}
			if also, _ := again.Match(context.Background(), web1()); also != got {
				t.Errorf("%s: %v, and as it is printed, %s: %v", tt.expr, got, x, also)
			}
		})
	}
}

// TestAnswerIsUnknownOnlyIfItDepends checks that the answer is unknown only if
// it depends on unknown data.
func TestAnswerIsUnknownOnlyIfItDepends(t *testing.T) {
	s := subject{"name": "new"}
	for expr, want := range map[string]match.Answer{
		`facts.x == 1`:                     match.Unknown,
		`facts.x != 1`:                     match.Unknown,
		`1 < facts.x`:                      match.Unknown,
		`facts.x`:                          match.Unknown,
		`not facts.x`:                      match.Unknown,
		`not facts.x in [1]`:               match.Unknown,
		`facts.x == null`:                  match.Unknown,
		`facts.x == 1 or name == "new"`:    match.Yes,
		`name == "new" or facts.x == 1`:    match.Yes,
		`facts.x == 1 or name == "old"`:    match.Unknown,
		`facts.x == 1 and name == "old"`:   match.No,
		`name == "old" and facts.x == 1`:   match.No,
		`name == "new" and facts.x == 1`:   match.Unknown,
		`not (facts.x and name == "old")`:  match.Yes,
		`facts.x == 1 and not facts.x`:     match.Unknown,
		`facts.x =~ "a" or facts.x !~ "a"`: match.Unknown,
	} {
		x, err := match.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Match(context.Background(), s); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", expr, got, err, want)
		}
	}
}

// TestPartlyKnownFacts checks that known facts are compared, and that other
// facts are unknown.
func TestPartlyKnownFacts(t *testing.T) {
	for expr, want := range map[string]match.Answer{
		`facts.site == "north"`:                  match.Yes,
		`facts.site != "north"`:                  match.No,
		`facts.list == ["a"]`:                    match.Yes,
		`facts.list[0] == "a"`:                   match.Yes,
		`facts.list[1] == null`:                  match.Unknown,
		`facts.os.tool == "apt"`:                 match.Yes,
		`facts.os.family == "Debian"`:            match.Unknown,
		`facts.os == facts.os`:                   match.Unknown,
		`facts.os != "x"`:                        match.Unknown,
		`"tool" in facts.os`:                     match.Unknown,
		`not facts.is_virtual`:                   match.Unknown,
		`facts.x == 1 or facts.os.tool == "apt"`: match.Yes,
		`facts == null`:                          match.Unknown,
	} {
		x, err := match.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Match(context.Background(), partly{ordered.Of("site", "north", "list", []any{"a"}, "os", ordered.Of("tool", "apt"))}); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", expr, got, err, want)
		}
	}
}

// partly has facts, and may have more.
type partly struct{ facts *ordered.Map }

func (p partly) Value(context.Context, string) (any, bool, error) { return p.facts, false, nil }

func TestTypeErrors(t *testing.T) {
	for expr, want := range map[string]string{
		`facts.os.family`:                    `facts.os.family is a string, which is neither true nor false: compare it with a value or with null`,
		`not facts.processors.count`:         `facts.processors.count is a number, which is neither true nor false: compare it with a value or with null`,
		`facts.processors.models > 1`:        `facts.processors.models is a list, which is neither before nor after anything`,
		`1 > facts.os`:                       `facts.os is a map, which is neither before nor after anything`,
		`facts.nan < 1`:                      `facts.nan is a number, which is neither before nor after anything`,
		`facts.virtual < "x"`:                `facts.virtual is true or false, which is neither before nor after anything`,
		`facts.os =~ "Deb"`:                  `facts.os is a map, and only a string can match a pattern`,
		`groups != "web"`:                    `groups is a list: write "web" in groups, or not ("web" in groups)`,
		`"web" == groups`:                    `groups is a list: write "web" in groups, or not ("web" in groups)`,
		`features == true`:                   `features is a list: write true in features, or not (true in features)`,
		`facts.processors.models != name`:    `facts.processors.models is a list: write name in facts.processors.models, or not (name in facts.processors.models)`,
		`name != ["web1", "web2"]`:           `["web1", "web2"] is a list: write name in ["web1", "web2"], or not (name in ["web1", "web2"])`,
		`facts.os == 1`:                      `facts.os is a map: name a member of it, as in facts.os.MEMBER == 1`,
		`"x" != facts["dotted.name"]`:        `facts["dotted.name"] is a map: name a member of it, as in facts["dotted.name"].MEMBER != "x"`,
		`groups not in ["web"]`:              `groups is a list, which is never in ["web"]: write "x" in groups for each`,
		`facts.os in ["web"]`:                `facts.os is a map, which is never in ["web"]`,
		`groups not in facts.os`:             `groups is a list, which is never in facts.os: write "x" in groups for each`,
		`"D" in facts.os.family`:             `facts.os.family is a string, which has no elements: use == or =~`,
		`facts["dotted.name"] =~ "1"`:        `facts["dotted.name"] is a map, and only a string can match a pattern`,
		`name == "web1" and facts.os.family`: `facts.os.family is a string, which is neither true nor false: compare it with a value or with null`,
	} {
		x, err := match.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Match(context.Background(), web1())
		var te *match.TypeError
		if !errors.As(err, &te) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", expr, err, want)
		}
	}
}

// TestSubjectErrors: what cannot be read is an error wherever it is needed, and
// nowhere else.
func TestSubjectErrors(t *testing.T) {
	broken := errors.New("broken")
	s := subject{"name": "a", "vars": broken}
	for expr, want := range map[string]error{
		`vars.x == 1`: broken, `1 == vars.x`: broken, `vars.x`: broken, `not vars.x`: broken, `name == "b" or vars.x`: broken,
		`name == "a" or vars.x`: nil, `name == "b" and vars.x`: nil, `vars.x and name == "b"`: broken,
	} {
		x, err := match.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Match(context.Background(), s); err != want {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ expr, want string }{
		{``, "column 1: expected a name, a string, a number or a list, found the end\n  \n  ^"},
		{`facts.a == and`, "column 12: expected a name, a string, a number or a list, found 'and'\n  facts.a == and\n             ^"},
		{`facts.os.family == Debian`, "column 20: unknown name 'Debian': put strings in quotes"},
		{`fact.os == "x"`, "column 1: unknown name 'fact': did you mean facts?"},
		{`facts.a = 1`, "column 9: unexpected =: write == for equal\n"},
		{`facts.a && facts.b`, `column 9: unexpected &: write "and"`},
		{`facts.a || facts.b`, `column 9: unexpected |: write "or"`},
		{`!facts.a`, `column 1: unexpected !: write "not"`},
		{`facts.a AND facts.b`, "column 9: expected and, or, or the end, found 'AND': it must be in lower case"},
		{`NOT facts.a`, "column 1: expected a name, a string, a number or a list, found 'NOT': it must be in lower case"},
		{`facts.a =~ /x/`, "column 12: unexpected /: put patterns in quotes"},
		{`$facts.a`, "column 1: unexpected $: write names without $"},
		{`facts.a == {}`, "column 12: unexpected {: map literals are not supported"},
		{`facts.a == “x”`, "column 12: unexpected character '“': put strings in double or single quotes"},
		{`facts.a == "x`, "column 12: the string that begins here is not closed: add a \"\n"},
		{`(facts.a`, "column 9: expected and, or, or the ) that closes column 1, found the end\n"},
		{`facts.a)`, "column 8: expected and, or, or the end, found ')'"},
		{`(facts.a) == 1`, "column 11: an expression in parentheses is true or false and cannot be compared"},
		{`1 < facts.a < 3`, "column 13: the result of a comparison cannot be compared: put \"and\" between two of them"},
		{`facts.a not 1`, "column 13: expected in, found '1'"},
		{`facts.a in "db"`, "column 12: expected a list after in, such as [\"a\", \"b\"], groups or a fact"},
		{`"a" not in name`, "column 12: expected a list after not in"},
		{`facts.a in ["a" "b"]`, "column 17: expected , or ], found a text"},
		{`facts.a in ["a",`, "column 17: expected a string, a number or ], found the end"},
		{`facts.a in [facts.b]`, "column 13: expected a string, a number or ], found 'facts'"},
		{`facts.a =~ facts.b`, "column 12: expected a pattern in quotes, such as \"^web\""},
		{`facts.a =~ "("`, "column 12: the pattern is invalid: missing closing )"},
		{`"web"`, "column 1: a string alone is neither true nor false: compare it with a value"},
		{`5 or name == "a"`, "column 1: the number 5 alone is neither true nor false"},
		{`name`, "column 1: name alone is neither true nor false"},
		{`name.x == 1`, "column 5: name has no parts; only facts and vars have parts"},
		{`groups[0] == "x"`, "column 7: groups has no parts; only facts and vars have parts"},
		{`facts. == 1`, "column 8: expected a member's name, in quotes if it is not a plain word, found '=='"},
		{`facts.a.0 == 1`, "column 9: expected a member's name, found '0': write a position in a list as [0]"},
		{`facts[-1] == 1`, "column 7: a position in a list must be an integer, at least 0"},
		{`facts[a] == 1`, "column 7: expected a string or a number in brackets, found 'a'"},
		{`facts[0 == 1`, "column 9: expected ], found '=='"},
		{`facts.a == 9.4.2`, "column 12: a value that begins with a digit and is not a number must be in quotes: \"9.4.2\""},
		{`facts.a == 9x`, "column 12: a value that begins with a digit"},
		{`facts.a == 12345678901234567890`, "column 12: a number has at most 18 digits"},
		{"facts.a ==\n  or", "line 2, column 3: expected a name, a string, a number or a list, found 'or'\n    or\n    ^"},
		{"name == \"\x1b\"", "column 10: a character that cannot be printed\n  name == \" \"\n"},
		{"name == \"\xff\"", "column 10: a character that cannot be printed"},
		{`"grün" == name grün`, "column 16: expected and, or, or the end, found 'gr'\n  \"grün\" == name grün\n                 ^"},
		{`"東京" == name x`, "column 14: expected and, or, or the end, found 'x'\n  \"東京\" == name x\n  " + strings.Repeat(" ", 15) + "^"},
		{strings.Repeat("not ", 102) + "true", "nested deeper than 100"},
		{strings.Repeat("(", 102) + "true", "nested deeper than 100"},
		{strings.Repeat(" ", 1<<15), "column 1: the expression is longer than 16384 bytes"},
		{strings.Repeat(`name == "x" or `, 20) + "oops", "column 301: unknown name 'oops': put strings in quotes, and write a fact as facts.oops. The names are name, uri, host, alias, transport, groups, features, facts, vars\n  …e == \"x\" or name == \"x\" or name == \"x\" or name == \"x\" or name == \"x\" or oops\n"},
	} {
		t.Run(tt.expr[:min(len(tt.expr), 40)], func(t *testing.T) {
			x, err := match.Parse(tt.expr)
			var e *match.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v", x, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func TestUsesListsDataOfExpression(t *testing.T) {
	x, err := match.Parse(`name == "facts" or "x" in vars.list and vars["b c"].d[0] == vars.list[1] and vars.list.y`)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := x.Members("vars"); !ok || !slices.Equal(got, []string{"list", "b c"}) {
		t.Errorf("members of vars: %q, %v", got, ok)
	}
	if got, ok := x.Members("facts"); !ok || got != nil {
		t.Errorf("members of facts: %q, %v", got, ok)
	}
	if x, err = match.Parse(`"a" in vars and vars.b`); err != nil {
		t.Fatal(err)
	}
	if got, ok := x.Members("vars"); ok {
		t.Errorf("members of all of vars: %q", got)
	}
	if x, err = match.Parse(`name == "facts" or vars.b`); err != nil {
		t.Fatal(err)
	}
	for _, n := range match.Names() {
		if got, want := x.Uses(n), n == "name" || n == "vars"; got != want {
			t.Errorf("%s: got %v", n, got)
		}
	}
}

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		`((name=='a'))and(name=="b"or name!="c")`:                 `name == "a" and (name == "b" or name != "c")`,
		`not(name=="a"and name=="b")or not name in["a",'b',1.50]`: `not (name == "a" and name == "b") or not name in ["a", "b", 1.50]`,
		`name=="a" or (name=="b" or name=="c")`:                   `name == "a" or (name == "b" or name == "c")`,
		`facts . "a" ['b c'] [ 0 ].true == '\d"'`:                 `facts.a["b c"][0].true == "\\d\""`,
	} {
		x, err := match.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// FuzzParse: what is printed of an expression is read as the same one, and asking
// it ends.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`facts.os.family == "Debian" and not (facts.role in ["db"])`, `not not (true or false) and name !~ '\d+'`,
		`facts."a b"['c'][0] >= -9.10 or "x" not in vars.y`, "name == \"\\\\\" or\n\tnull != 007", `facts.a-b-c == 1 or vars._x-1`, `1 == .5`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := match.Parse(s)
		if err != nil {
			if !strings.Contains(err.Error(), "column ") {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		again, err := match.Parse(x.String())
		if err != nil {
			if len(x.String()) > 16<<10 {
				return // blanks and backslashes made it too long
			}
			t.Fatalf("%q is printed as %q: %v", s, x, err)
		}
		if again.String() != x.String() {
			t.Fatalf("%q is printed as %q, then as %q", s, x, again)
		}
		a, aerr := x.Match(context.Background(), web1())
		b, berr := again.Match(context.Background(), web1())
		if a != b || (aerr == nil) != (berr == nil) {
			t.Fatalf("%q: %v, %v; %q: %v, %v", s, a, aerr, x, b, berr)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	x, err := match.Parse(`facts.os.family == "Debian" and facts.os.release.major >= 9 and not (facts.role in ["db"])`)
	if err != nil {
		b.Fatal(err)
	}
	s := web1()
	b.ReportAllocs()
	for b.Loop() {
		if a, err := x.Match(context.Background(), s); err != nil || a != match.Yes {
			b.Fatal(a, err)
		}
	}
}

func TestParseOf(t *testing.T) {
	e, err := match.ParseOf("result.n > 3 and result.list[0] == 'a'", "result")
	if err != nil {
		t.Fatal(err)
	}
	about := subject{"result": ordered.Of("n", int64(4), "list", []any{"a"})}
	if a, err := e.Match(t.Context(), about); a != match.Yes || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := match.ParseOf("name == 'a'", "result"); err == nil || !strings.Contains(err.Error(), "The names are result") {
		t.Error(err)
	}
}
