package builtin

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A plainBuilder records its calls. It does not have classes and tags.
type plainBuilder struct {
	eval.Builder // nil: what is not used here
	events       []string
}

func (b *plainBuilder) say(format string, args ...any) {
	b.events = append(b.events, fmt.Sprintf(format, args...))
}

func (b *plainBuilder) Declare(_ *eval.Site, d *eval.Declaration) ([]value.Value, error) {
	for _, body := range d.Bodies {
		var attrs strings.Builder
		for _, a := range body.Attrs {
			fmt.Fprintf(&attrs, " %s => %s", a.Name, value.Inspect(a.Value))
		}
		b.say("declare %s %q form %d at %d:%d:%s", d.Type, body.Titles, d.Form, body.Pos.Line, body.Pos.Column, attrs.String())
	}
	return nil, nil
}

// A fullBuilder has classes and tags.
type fullBuilder struct{ plainBuilder }

func (b *fullBuilder) Include(_ *eval.Site, how eval.Inclusion, classes []string) error {
	b.say("include %d %q", how, classes)
	if classes[0] == "gone" {
		return eval.Errorf("unknown-class", "there is no class gone")
	}
	return nil
}

func (b *fullBuilder) Realize(_ *eval.Site, refs []eval.Ref) error {
	b.say("realize %v", refs)
	return nil
}

func (b *fullBuilder) Tag(_ *eval.Site, tags []string) error {
	b.say("tag %q", tags)
	return nil
}

func (b *fullBuilder) Tagged(_ *eval.Site, tags []string) (bool, error) {
	b.say("tagged %q", tags)
	return tags[0] == "yes", nil
}

func runWith(t *testing.T, env eval.Env, src string) (value.Value, error) {
	t.Helper()
	env.Library = eval.NewLibrary(nil, Functions(Options{})...)
	p, err := syntax.Parse(syntax.NewFile("", src), syntax.Options{Tasks: env.Tasks})
	if err != nil {
		t.Fatal(err)
	}
	return eval.New(env).Run(t.Context(), p, nil)
}

func TestCatalogFunctions(t *testing.T) {
	for _, c := range []struct{ src, value, events string }{
		{"include('A::b', ['::c', [Class['d']]])", "[Class[a::b], Class[c], Class[d]]", `include 0 ["a::b" "c" "d"]`},
		{"contain a", "[Class[a]]", `include 1 ["a"]`},
		{"require(Resource['class', 'a'])", "[Class[a]]", `include 2 ["a"]`},
		{"realize(User['x'], [File['/a', '/b'], 'Exec[c]'])", "undef", "realize [{user x} {file /a} {file /b} {exec c}]"},
		{"tag('a', ['b', 1])", "undef", `tag ["a" "b" "1"]`},
		{"[tagged('yes'), tagged('no', 'yes')]", "[true, false]", `tagged ["yes"]|tagged ["no" "yes"]`},
		{"create_resources('file', { '/a' => { mode => '1', owner => undef }, ['/b', '/c'] => {} }, { mode => '2', group => 'g' })", "undef",
			`declare file ["/a"] form 0 at 1:1: mode => '1' group => 'g' owner => undef|declare file ["/b"] form 0 at 1:1: mode => '2' group => 'g'|declare file ["/c"] form 0 at 1:1: mode => '2' group => 'g'`},
		{"create_resources('@@User', { 'x' => {} })", "undef", `declare user ["x"] form 2 at 1:1:`},
		{"create_resources('@user', { 1 => {} })", "undef", `declare user ["1"] form 1 at 1:1:`},
		{"create_resources('class', { 'a' => { x => 1 } }) |$x| { 'the block is passed over' }", "undef", `declare class ["a"] form 0 at 1:1: x => 1`},
		{"create_resources('user', {})", "undef", ""},
	} {
		b := &fullBuilder{}
		v, err := runWith(t, eval.Env{Builder: b}, c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := value.Inspect(v); got != c.value {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.value)
		}
		if got := strings.Join(b.events, "|"); got != c.events {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.events)
		}
	}
}

// TestCatalogFunctionErrors checks that errors are at the same positions as in
// Puppet 8.
func TestCatalogFunctionErrors(t *testing.T) {
	for _, c := range []struct {
		src, kind string
		column    int
	}{
		{"include()", "argument-count", 1},
		{"include(undef)", "bad-class-name", 1},
		{"include('')", "bad-class-name", 1},
		{"include(1)", "bad-class-name", 1},
		{"include(Class)", "bad-class-name", 1},
		{"include(File['a'])", "bad-class-name", 1},
		{"[1].each |$x| { include('gone') }", "unknown-class", 17},
		{"realize()", "argument-count", 1},
		{"realize('x')", "bad-reference", 1},
		{"realize(File)", "bad-reference", 1},
		{"create_resources('notify')", "argument-count", 1},
		{"create_resources('notify', 1)", "type-mismatch", 1},
		{"create_resources('notify', {}, 1)", "type-mismatch", 1},
		{"create_resources('notify', {}, {}, {})", "argument-count", 1},
		{"create_resources(Notify, {})", "type-mismatch", 1},
		{"create_resources('@class', {})", "not-virtualizable", 1},
		{"create_resources('notify', { a => 1 })", "type-mismatch", 1},
		{"tag()", "argument-count", 1},
	} {
		_, err := runWith(t, eval.Env{Builder: &fullBuilder{}}, c.src)
		e, is := err.(*eval.Error)
		if !is || e.Kind != c.kind || e.Pos.Column != c.column {
			t.Errorf("%s\n got %v\nwant %s at column %d", c.src, err, c.kind, c.column)
		}
	}
}

// TestCatalogFunctionsRefused calls the functions without a catalog, in plans,
// and with a Builder without classes.
func TestCatalogFunctionsRefused(t *testing.T) {
	for _, src := range []string{"include('a')", "contain('a')", "require('a')", "realize(File['a'])", "tag('a')", "tagged('a')"} {
		for name, env := range map[string]eval.Env{
			"no catalog": {}, "plan": {Builder: &fullBuilder{}, Tasks: true}, "plain": {Builder: &plainBuilder{}},
		} {
			_, err := runWith(t, env, src)
			if e, is := err.(*eval.Error); !is || e.Kind != "catalog-operation" || e.Pos.Column != 1 {
				t.Errorf("%s: %s: got %v", name, src, err)
			}
		}
	}
	b := &plainBuilder{}
	if _, err := runWith(t, eval.Env{Builder: b}, "create_resources('user', { 'x' => {} })"); err != nil || !reflect.DeepEqual(b.events, []string{`declare user ["x"] form 0 at 1:1:`}) {
		t.Errorf("got %v, %v", b.events, err)
	}
}

// TestUnavailableFunctions checks that functions of Puppet that are not
// available explain the reason.
func TestUnavailableFunctions(t *testing.T) {
	for src, want := range map[string]string{
		"generate('/bin/date', '-u')": "runs a program", "import('x.pp')": "import any more", "annotate(Integer, 1)": "objects of Ruby",
	} {
		_, err := runWith(t, eval.Env{}, src)
		if e, is := err.(*eval.Error); !is || e.Kind != "not-available" || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: got %v", src, err)
		}
	}
}

// TestProgression checks that skipped elements of a range are not counted one
// by one.
func TestProgression(t *testing.T) {
	for src, want := range map[string]string{
		"Integer[1, 9223372036854775807].step(9223372036854775806).map |$x| { $x }":                                 "[1, 9223372036854775807]",
		"Integer[-9223372036854775807, 9223372036854775807].step(9223372036854775807).map |$x| { $x }":              "[-9223372036854775807, 0, 9223372036854775807]",
		"Integer[-9223372036854775807, 9223372036854775807].step(9223372036854775807).step(2).map |$x| { $x }":      "[-9223372036854775807, 9223372036854775807]",
		"Integer[-9223372036854775807, 9223372036854775807].reverse_each.step(9223372036854775807).map |$x| { $x }": "[9223372036854775807, 0, -9223372036854775807]",
		"Integer[0, 99999999999].step(99999999998).reverse_each.map |$x| { $x }":                                    "[99999999998, 0]",
		"Integer[1, 10].step(4).reverse_each.step(2).map |$x| { $x }":                                               "[9, 1]",
		"99999999999.step(99999999998).map |$x| { $x }":                                                             "[0, 99999999998]",
		"0.step(2).map |$x| { $x }": "[]",
		"Integer[3, 3].step(9223372036854775807).reverse_each.map |$x| { $x }": "[3]",
		"[1, 2, 3, 4, 5].step(2).map |$x| { $x }":                              "[1, 3, 5]",
		"[1, 2, 3, 4].step(9223372036854775807).map |$x| { $x }":               "[1]",
		"[].step(2).map |$x| { $x }":                                           "[]",
		"{a => 1, b => 2, c => 3}.step(2).map |$x| { $x }":                     "[['a', 1], ['c', 3]]",
		"[1, 2, 3, 4].reverse_each.step(3).map |$x| { $x }":                    "[4, 1]",
		"Integer[0, 99999999999].step(50000000000).map |$i, $x| { [$i, $x] }":  "[[0, 0], [1, 50000000000]]",
	} {
		v, err := runWith(t, eval.Env{Limits: eval.Limits{Steps: 100_000}}, src)
		if err != nil || value.Inspect(v) != want {
			t.Errorf("%s is %v, %v, want %s", src, v, err, want)
		}
	}
}

// TestHugeInputsEnd checks that functions that collect values end with an error
// before memory is exhausted, and that functions that only iterate end with
// their context.
func TestHugeInputsEnd(t *testing.T) {
	deep := "$a = [[], []] $b = [$a, $a, $a, $a, $a, $a, $a, $a] $c = [$b, $b, $b, $b, $b, $b, $b, $b] $d = [$c, $c, $c, $c, $c, $c, $c, $c] $e = [$d, $d, $d, $d, $d, $d, $d, $d]\n"
	for _, src := range []string{
		"Integer[0, 9999999999].map |$x| { $x }",
		"Integer[0, 9999999999].filter |$x| { true }",
		"Integer[0, 9999999999].slice(2)",
		"Integer[0, 9999999999].unique",
		"sort(sprintf('%70000d', 1))",
		"split(sprintf('%70000d', 1), '')",
		"split(sprintf('%70000d', 1), ' ')",
		deep + "flatten($e)",
		deep + "join($e)",
		deep + "upcase($e)",
		deep + "$e.tree_each |$v| { }",
		deep + "$e.tree_each({order => breadth_first}) |$v| { }",
	} {
		_, err := runWith(t, eval.Env{Limits: eval.Limits{Size: 1 << 16}}, src)
		if e, is := err.(*eval.Error); !is || e.Kind != "too-large" {
			t.Errorf("%s: got %v", src, err)
		}
	}
	for _, src := range []string{"Integer[0, 9999999999].index('x')", "Integer[0, 9999999999].each |$x| { }"} {
		_, err := runWith(t, eval.Env{Limits: eval.Limits{Steps: 10000}}, src)
		if e, is := err.(*eval.Error); !is || e.Kind != "too-long" {
			t.Errorf("%s: got %v", src, err)
		}
	}
}
