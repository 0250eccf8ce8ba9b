package compile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/environment"
	"bolt/modules"
	"bolt/puppet/syntax"
)

// internal/puppettest compares the recorded catalogs of the corpus. The tests here cover cases that
// the corpus does not have.

func compiled(t testing.TB, text string, o compile.Options) (*catalog.Catalog, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("site.pp", text), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := environment.New(environment.Options{Modules: modules.NewPath(modules.Module{})}).Evaluation(environment.Node{})
	made, err := compile.Compile(context.Background(), x, []*syntax.Program{p}, o)
	if err != nil {
		return nil, err
	}
	return made.Catalog, nil
}

// applied returns the resources of a type that are not virtual, by their titles.
func applied(c *catalog.Catalog, typ string) (titles []string) {
	for _, r := range c.Resources() {
		if r.Type == typ && !r.Virtual {
			titles = append(titles, r.Title)
		}
	}
	return titles
}

// TestCollectors checks that a collector finds the resources that match its query, in every form of
// a query.
func TestCollectors(t *testing.T) {
	const resources = `
@notify { 'a': tag => 'X' }
@notify { 'b': tag => ['y', 'm::z'] }
@notify { 'c': message => 'say' }
class k { @notify { 'd': } }
include k
`
	for query, want := range map[string]string{
		`Notify <| |>`:                                           "a b c d",
		`Notify <| tag == 'x' |>`:                                "a",
		`Notify <| tag == 'M::Z' |>`:                             "b",
		`Notify <| tag == 'z' |>`:                                "b",
		`Notify <| tag == 'k' |>`:                                "d",
		`Notify <| tag == 'notify' and title == 'c' |>`:          "c",
		`Notify <| title == 'C' |>`:                              "c",
		`Notify <| message == 'say' and tag == 'c' |>`:           "c",
		`Notify <| message == 'say' and tag == 'a' |>`:           "",
		`Notify <| tag == 'x' or title == 'd' |>`:                "a d",
		`Notify <| tag != 'x' |>`:                                "b c d",
		`Notify <| (tag == 'x' or tag == 'y') and tag == 'b' |>`: "b",
		// An override makes a resource match another collector, which may come first.
		`Notify <| message == 'new' |> { withpath => true } Notify <| tag == 'x' |> { message => 'new' }`: "a",
	} {
		c, err := compiled(t, resources+query, compile.Options{})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := strings.Join(applied(c, "Notify"), " "); got != want {
			t.Errorf("%s found %q, want %q", query, got, want)
		}
		if a := c.Find(catalog.Ref{Type: "Notify", Title: "a"}); strings.Contains(query, "withpath") && a.Params.Value("withpath") != true {
			t.Errorf("%s: the second change is missing: %v", query, a.Params)
		}
	}
}

// TestCollectorsOfInstances checks that resources that an instance of a defined type declares are
// found, too, and that collected instances are evaluated.
func TestCollectorsOfInstances(t *testing.T) {
	c, err := compiled(t, `
define d($n) { @notify { "n${n}": tag => 'x' } if $n > 0 { @d { "d${$n - 1}": n => $n - 1 } } }
D <| |>
Notify <| tag == 'x' |>
@d { 'd3': n => 3 }
`, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := applied(c, "Notify"); !slices.Equal(got, []string{"n3", "n2", "n1", "n0"}) {
		t.Errorf("found %q", got)
	}
}

// TestClasses checks that the classes of the options are evaluated after the node definition.
func TestClasses(t *testing.T) {
	const text = `class a { notify { 'a': } } class b { notify { 'b': } } node default { include b }`
	c, err := compiled(t, text, compile.Options{Node: "n", Classes: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := applied(c, "Notify"); !slices.Equal(got, []string{"b", "a"}) || c.Name != "n" || !slices.Equal(c.Classes, []string{"settings", "default", "b", "a"}) {
		t.Errorf("found %q, classes %q of %s", got, c.Classes, c.Name)
	}
	if _, err := compiled(t, text, compile.Options{Classes: []string{"none"}}); err == nil || !strings.Contains(err.Error(), "class none does not exist") {
		t.Errorf("a missing class: %v", err)
	}
}

// TestSensitive checks that a secret is clear text in the catalog, with its mark.
func TestSensitive(t *testing.T) {
	c, err := compiled(t, `notify { 'a': message => Sensitive('s'), withpath => true } @@notify { 'b': }`, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Find(catalog.Ref{Type: "Notify", Title: "a"}), c.Find(catalog.Ref{Type: "Notify", Title: "b"})
	if a.Params.Value("message") != "s" || !a.Secret("message") || a.Secret("withpath") {
		t.Errorf("Notify[a] is %+v", a)
	}
	if !b.Virtual || !b.Exported || a.Virtual || a.Exported {
		t.Errorf("Notify[b] is %+v", b)
	}
}

// TestEndless checks that a program that declares without an end ends with an error.
func TestEndless(t *testing.T) {
	_, err := compiled(t, `define d { d { "${title}x": } } d { 'a': }`, compile.Options{})
	if err == nil || !strings.HasSuffix(err.Error(), "1:12: instances of d declare others without an end") {
		t.Errorf("the error is %v", err)
	}
}

// TestTooManyResources checks that a program that declares ever more in each round ends with an
// error.
func TestTooManyResources(t *testing.T) {
	_, err := compiled(t, `define d { d { "${title}x": } d { "${title}y": } } d { 'a': }`, compile.Options{})
	if err == nil || !strings.Contains(err.Error(), "more than 250000 resources") {
		t.Errorf("the error is %v", err)
	}
}

// TestCancel checks that a cancelled compilation ends, also between two resources.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p, err := syntax.Parse(syntax.NewFile("site.pp", `define d { d { "${title}x": } d { "${title}y": } } d { 'a': }`), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := environment.New(environment.Options{Modules: modules.NewPath(modules.Module{})}).Evaluation(environment.Node{})
	if _, err := compile.Compile(ctx, x, []*syntax.Program{p}, compile.Options{}); !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "deadline") {
		t.Errorf("the error is %v", err)
	}
}

// TestManyRelations checks that relations between many resources take time in proportion to the
// number of pairs.
func TestManyRelations(t *testing.T) {
	c, err := compiled(t, `Integer[1, 500].each |$i| { notify { "a$i": tag => 'l' } notify { "b$i": tag => 'r' } }
Notify <| tag == 'l' |> -> Notify <| tag == 'r' |>
Notify['b1'] ~> Notify['b2']`, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Find(catalog.Ref{Type: "Notify", Title: "a7"}), c.Find(catalog.Ref{Type: "Notify", Title: "b1"})
	if list, _ := a.Params.Value("before").([]any); len(list) != 500 || list[0] != "Notify[b1]" || list[499] != "Notify[b500]" {
		t.Errorf("a7 is before %d", len(list))
	}
	if list, _ := b.Params.Value("notify").([]any); len(list) != 1 || list[0] != "Notify[b2]" {
		t.Errorf("b1 notifies %v", list)
	}
}

// BenchmarkFiles compiles resources that no collector matches.
func BenchmarkFiles(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := fmt.Sprintf("Integer[1, %d].each |$i| { file { \"/srv/${i}\": ensure => file, mode => '0644', content => \"$i\" } }", n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compiled(b, text, compile.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNested has classes that contain each other, so that a resource has the tags of all classes around
// it.
func BenchmarkNested(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "class c%d { notify { 'n%d': } contain c%d }\n", i, i, i+1)
	}
	text.WriteString("class c2000 {}\ncontain c0\n")
	for b.Loop() {
		if _, err := compiled(b, text.String(), compile.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollectors has 1,000 collectors by tag. The time grows with the number of
// resources, and not with its product with the number of collectors.
func BenchmarkCollectors(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := fmt.Sprintf(`Integer[1, %d].each |$i| { @notify { "n$i": tag => "t${$i %% 1000}" } }`+"\n", n)
			var t strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&t, "Notify <| tag == 't%d' |>\n", i)
			}
			for b.Loop() {
				c, err := compiled(b, text+t.String(), compile.Options{})
				if err != nil || len(applied(c, "Notify")) != n {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestKeys checks that the key of a resource is in the catalog under its own name, and only if it
// is not the title. Two resources with the same key are an error.
func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		`file { 'a': name => '/x' }`:                                                                    "path=/x",
		`file { '/x': path => '/x', mode => '0600' }`:                                                   "mode=0600",
		`file { '/x': name => '/x' }`:                                                                   "",
		`file { 'a': path => '/y', name => '/x' }`:                                                      "path=/x",
		`exec { 'a': command => '/x' }`:                                                                 "command=/x",
		`cron { 'a': name => 'x' } cron { 'b': name => 'x' }`:                                           "! Cron[b] cannot be Cron[x] too",
		`tidy { 'a': path => '/x' } tidy { 'b': path => '/x' }`:                                         "path=/x",
		`package { 'a': name => 'x' } package { 'b': name => 'x' }`:                                     "! Package[b] has the name x, as Package[a] has, which is declared already, at site.pp:1",
		`package { 'a': name => 'x' } package { 'b': name => 'x', provider => p }`:                      "name=x",
		`package { 'x': } package { 'b': name => 'x' }`:                                                 "! Package[b] has the name x, as Package[x] has",
		`sshkey { 'a': name => 'x', type => 'ssh-rsa' } sshkey { 'b': name => 'x', type => 'ssh-rsa' }`: "! Sshkey[b] has the name x, as Sshkey[a] has",
		`sshkey { 'a': name => 'x', type => 'ssh-rsa' } sshkey { 'b': name => 'x', type => 'ssh-dss' }`: "name=x type=ssh-rsa",
		`file { '/x': a => 1, mod => 2 }`:                                                               "! File[/x] has no parameters a, mod (did you mean mode?)",
		`define d($a = 1, $b = undef, $c = 3) { } d { 'x': c => undef, b => 2 }`:                        "c=3 b=2 a=1",
		`create_resources('notify', { 80 => { message => 'm' } })`:                                      "name=80 message=m",
		`create_resources('notify', { '80' => { message => 'm' } })`:                                    "message=m",
		`define d($first) { } d { 'x': first => 1, frist => 1, b => 1 }`:                                "! D[x] has no parameters frist (did you mean first?), b",
	} {
		c, err := compiled(t, text, compile.Options{})
		if err != nil {
			if want, bad := strings.CutPrefix(want, "! "); !bad || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		var got []string
		for name, v := range c.Resources()[3].Params.All() {
			got = append(got, fmt.Sprintf("%s=%v", name, v))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %q", text, got, want)
		}
	}
}

// TestNumberedTitles checks that a title that is not a string does not become a tag, as in Puppet.
func TestNumberedTitles(t *testing.T) {
	c, err := compiled(t, "create_resources('notify', { 80 => {}, ['81', 82] => {} })", compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for title, tagged := range map[string]bool{"80": false, "81": true, "82": false} {
		if r := c.Find(catalog.Ref{Type: "Notify", Title: title}); r == nil || slices.Contains(r.Tags, title) != tagged {
			t.Errorf("%s: %+v", title, r)
		}
	}
}
