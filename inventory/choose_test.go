package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/inventory"
	"bolt/inventory/match"
	"bolt/transport/all"
)

const fleet = `
targets: [lone]
groups:
  - name: web
    targets: [web1, web2, web3]
  - name: db
    targets: [db1, {name: db2, alias: [primary]}, web3]
  - name: eu
    groups:
      - {name: berlin, targets: [web1, db1]}
      - {name: paris, targets: [web2]}
  - name: empty
  - name: "!odd"
    targets: ["&odd"]
  - name: racks
    targets: ["rack[01-03]-n[8-10/2]", web01, web02, web03]
`

func TestSetOperatorsSelectTargets(t *testing.T) {
	inv := mustLoad(t, fleet, inventory.Options{Transports: all.Tables(all.List())})
	for _, tt := range []struct{ words, want string }{
		{"web,!db", "web1 web2"},
		{"!db,web", "web1 web2"},
		{"!db web", "web1 web2"},
		{"web,&eu", "web1 web2"},
		{"&eu,web,db", "web1 web2 db1"},
		{"web,db,!web1,&berlin", "db1"},
		{"web,db,&eu,&berlin", "web1 db1"},
		{"&berlin", "web1 db1"},
		{"!racks,!web,!db", "lone &odd"},
		{"web,!primary", "web1 web2 web3"},
		{"web,db,!primary", "web1 web2 web3 db1"},
		{"web,!web?", ""},
		{"web,!{web1,web2}", "web3"},
		{"web,!web[1-2]", "web3"},
		{"web,&web[2-9]", "web2 web3"},
		{"web,&empty", ""},
		{"web,!empty", "web1 web2 web3"},
		{"all,&{eu,lone}", "lone web1 web2 db1"},
		{"new1,new2,!new1", "new2"},
		{"new3,new4,!new*", ""},
		{"new5,new6,!new[5-7]", ""},
		{"new7,&new*", "new7"},
		// what is called so is found
		{"!odd", "&odd"},
		{"!!odd,&web", "web1 web2 web3"},
		{"&odd", "&odd"},
	} {
		got, err := inv.Targets(t.Context(), []string{tt.words})
		if err != nil || strings.Join(names(got), " ") != tt.want {
			t.Errorf("%s: got %v, %v, want %s", tt.words, names(got), err, tt.want)
		}
	}
	// Several lists are one.
	got, err := inv.Targets(t.Context(), []string{"!web1", "web", "&eu"})
	if err != nil || !slices.Equal(names(got), []string{"web2"}) {
		t.Errorf("got %v, %v", names(got), err)
	}
	for words, want := range map[string]string{
		"web,!wbe":         "'!wbe' matches no target: a target, group or alias with that name does not exist",
		"web,&wbe":         "'&wbe' matches no target: a target, group or alias with that name does not exist",
		"web,!wbe*":        "Found 0 targets matching wildcard pattern wbe*",
		"web,!old[01-20]":  "'!old[01-20]' matches no target: a target, group or alias with that name does not exist",
		"web,!":            "A name must follow '!' at once, as in '!db'",
		"& eu":             "A name must follow '&' at once, as in '&db'",
		"web,!a:secret@:x": "'!a@:x' matches no target: a target, group or alias with that name does not exist",
	} {
		if _, err := inv.Targets(t.Context(), []string{words}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", words, err, want)
		}
	}
	// Plans have operators of their own.
	if got, err := inv.Lookup(t.Context(), []string{"!web"}); err != nil || len(got) != 1 || got[0].Name != "!web" {
		t.Errorf("get_targets: got %v, %v", names(got), err)
	}
}

// TestOtherSeparatorsAreErrors checks that words that are joined by other
// characters than commas are not hosts.
func TestOtherSeparatorsAreErrors(t *testing.T) {
	inv := mustLoad(t, fleet+"  - {name: odd, targets: ['a!b', {name: c, alias: ['d^e']}]}\n", inventory.Options{Transports: all.Tables(all.List())})
	for _, tt := range []struct{ word, want string }{
		{"web:!db", "bolt/parse-error Could not parse target URI 'web:!db': the port is not a number from 0 to 65535"},
		{"web:&eu", "bolt/parse-error Could not parse target URI 'web:&eu': the port is not a number from 0 to 65535"},
		{"web:db", "bolt/parse-error Could not parse target URI 'web:db': the port is not a number from 0 to 65535"},
		{"web:db:!eu", "bolt/parse-error Could not parse target URI 'web:db:!eu': the host name has a colon, and is not an IPv6 address"},
		{"web01!web02", "bolt/parse-error Could not parse target URI 'web01!web02': the host name has one of !&^"},
		{"web&db", "bolt/parse-error Could not parse target URI 'web&db': the host name has one of !&^"},
		{"web^db", "bolt/parse-error Could not parse target URI 'web^db': the host name has one of !&^"},
		{"^db", "bolt/parse-error Could not parse target URI '^db': the host name has one of !&^"},
		{"ssh://me:secret@web!db:22", "bolt/parse-error Could not parse target URI 'ssh://me@web!db:22': the host name has one of !&^"},
		{"new[1-2]!db", "bolt/parse-error Could not parse target URI 'new1!db': the host name has one of !&^"},
		{"web*:!db", "bolt.inventory/wildcard-error Found 0 targets matching wildcard pattern web*:!db"},
		{"{web,db}&eu", "bolt.inventory/wildcard-error Found 0 targets matching wildcard pattern {web,db}&eu"},
	} {
		_, err := inv.Targets(t.Context(), []string{tt.word})
		checkFails(t, err, tt.want)
		if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.HasPrefix(f.Hint, "Separate targets with commas: 'web,db'") {
			t.Errorf("%s: %#v", tt.word, err)
		}
	}
	for _, word := range []string{"web:99999", "new[!x]", "new[^x]*", "<x>"} {
		_, err := inv.Targets(t.Context(), []string{word})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Hint != "" {
			t.Errorf("%s: %#v", word, err)
		}
	}
	got, err := inv.Targets(t.Context(), []string{"a!b", "d^e", "ssh://me:p!&^w@host:22", "local://"})
	if err != nil || !slices.Equal(names(got), []string{"a!b", "c", "ssh://me:p!&^w@host:22", "local://"}) {
		t.Errorf("got %v, %v", names(got), err)
	}
}

func TestRanges(t *testing.T) {
	inv := mustLoad(t, fleet, inventory.Options{Transports: all.Tables(all.List())})
	for _, tt := range []struct{ words, want string }{
		{"new[08-11].example.com", "new08.example.com new09.example.com new10.example.com new11.example.com"},
		{"r[1-2]n[1,3]", "r1n1 r1n3 r2n1 r2n3"},
		{"ssh://u:p[1-2]@h[1-2]:22", "ssh://u:p[1-2]@h1:22 ssh://u:p[1-2]@h2:22"},
		{"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3"},
		{"racks", "rack01-n8 rack01-n10 rack02-n8 rack02-n10 rack03-n8 rack03-n10 web01 web02 web03"},

		// a pattern that finds something is one
		{"web[1-9]", "web1 web2 web3"},
		{"web[1,3]", "web1 web3"},
		{"w[e]b[1-2]", "web1 web2"},
		{"WEB[1-2]", "web1 web2"},
		// … but web1 and web2 are not what is meant here
		{"web[01-02]", "web01 web02"},
		{"web[02-04]", "web02 web03 web04"},
		// … where no range finds anything it may be
		{"db[01-12]", "db2 db1"},
		{"web0[1-3]", "web01 web02 web03"},
	} {
		got, err := inv.Targets(t.Context(), []string{tt.words})
		if err != nil || strings.Join(names(got), " ") != tt.want {
			t.Errorf("%s: got %v, %v, want %s", tt.words, names(got), err, tt.want)
		}
	}
	for words, want := range map[string]string{
		"n[9-1]":           "'n[9-1]': the range 9-1 ends before it begins",
		"n[1-200000]":      "'n[1-200000]': its ranges stand for more than 100000 names",
		"n[a-c]":           "Found 0 targets matching wildcard pattern n[a-c]",
		"n[1-3]*":          "Found 0 targets matching wildcard pattern n[1-3]*",
		"n[1-2]:99999":     "Could not parse target URI 'n1:99999': the port is not a number from 0 to 65535",
		"ssh://n[1-]:2222": "'ssh://n[1-]:2222': the range 1- is not a number, or two with a dash between",
	} {
		if _, err := inv.Targets(t.Context(), []string{words}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", words, err, want)
		}
	}
	_, err := load("groups: [{name: a, targets: ['n[9-1]']}]", inventory.Options{Transports: all.Tables(all.List())})
	checkFails(t, err, "bolt.inventory/validation-error Invalid target n[9-1]: the range 9-1 ends before it begins (group a in all, iv.yaml)")

	// A plan's get_targets is Bolt's.
	if _, err := inv.Lookup(t.Context(), []string{"new[1-3]"}); kindOf(err) != "bolt.inventory/wildcard-error" {
		t.Errorf("get_targets: %v", err)
	}
	for words, want := range map[string]bool{
		"web,db1": false, "web*": false, "web,!db": true, "web[1-3]": false, "web[01-02]": true, "db[01-12]": false, "new[1-3]": true, "n[3-1]": true, "!odd": false, "web[a-c]": false, "@x": false, "ssh://[::1]:22": false, "&eu": true,
	} {
		if got := inv.Extended([]string{"lone", words}); got != want {
			t.Errorf("%s: Extended is %v", words, got)
		}
	}
}

// TestPrintedNames: names as they are printed mean the targets that they are
// printed for, be they all known, or none of them.
func TestPrintedNames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	formats := []string{"web%d", "web%02d", "web%03d.example.com", "r%[2]d-n%[1]d", "x%02d-%02[2]d", "ssh://u%d@n%[2]d"}
	for range 60 {
		// Names of two shapes that a pattern could confuse are among them.
		data := &ordered.Map{}
		var list []any
		chosen := map[string]bool{}
		for range 1 + r.IntN(150) {
			name, _, _ := strings.Cut(fmt.Sprintf(formats[r.IntN(len(formats))], r.IntN(120), r.IntN(3)), "%!")
			list = append(list, name)
			if r.IntN(2) == 0 {
				chosen[name] = true
			}
		}
		data.Set("targets", list)
		full, err := inventory.New(t.Context(), data, inventory.Options{Transports: all.Tables(all.List())})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, target := range full.AllTargets() {
			if chosen[target.Name] {
				want = append(want, target.Name)
			}
		}
		if want == nil {
			continue
		}
		none := mustLoad(t, "{}", inventory.Options{Transports: all.Tables(all.List())})
		for _, inv := range []*inventory.Inventory{full, none} {
			got, err := inv.Targets(t.Context(), []string{nodeset.Fold(want)})
			if err != nil {
				t.Fatal(err)
			}
			back := names(got)
			slices.Sort(back)
			if slices.Sort(want); !slices.Equal(back, want) {
				t.Fatalf("%s means %q", nodeset.Fold(want), back)
			}
		}
	}
}

// FuzzTargets: whatever people write, who is taken away is not there, and whoever
// is left was there before.
func FuzzTargets(f *testing.F) {
	for _, s := range []string{"web,!db,&eu", "web[1-3]", "new[01-12]", "ssh://u:p@h[1-2]:22", "!web*", "{web,db}[1-2]", "& !", "rack0[1-2]-n[8-10]", "[::1]:22"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, words string) {
		inv := mustLoad(t, fleet, inventory.Options{Transports: all.Tables(all.List())})
		found, err := inv.Targets(t.Context(), []string{words})
		if err != nil {
			if kindOf(err) == "" {
				t.Fatalf("%q: %v has no kind", words, err)
			}
			return
		}
		if len(found) > 10_000 {
			return
		}
		for i, target := range found {
			if slices.Contains(found[:i], target) {
				t.Fatalf("%q: %s twice", words, target)
			}
		}
		for _, without := range found[:min(len(found), 3)] {
			if strings.ContainsAny(without.Name, "[]{}*?!&\\") {
				continue // a pattern again, or with a sign
			}
			left, err := inv.Targets(t.Context(), []string{words, "!" + without.Name})
			if err != nil || slices.Contains(left, without) || len(left) != len(found)-1 {
				t.Fatalf("%q without %s: %v of %v, %v", words, without, names(left), names(found), err)
			}
		}
	})
}

const estate = `
config: {ssh: {password: {_plugin: ask, of: password}}}
vars: {tier: base}
groups:
  - name: north
    facts: {site: north}
    targets:
      - {name: a, uri: a.example.com, facts: {os: {family: Debian}, n: 9}, vars: {secret: {_plugin: ask, of: a}}}
      - {name: b, uri: b.example.com, facts: {os: {family: RedHat}}, features: [shell]}
  - name: debian
    match: facts.os.family == "Debian"
    vars: {pkg: apt}
    facts: {site: everywhere, os: {tool: apt}}
    config: {ssh: {user: admin}}
  - name: south
    facts: {site: south}
    targets:
      - {name: c, uri: 'local://c', facts: {os: {family: Debian}}, alias: cc}
      - d
    groups:
      - name: dees
        match: name =~ "^d" or "north" in groups
        targets: [x]
  - {name: bare, targets: [e]}
  - name: untouched
    match: '"debian" in groups or facts.os.tool == "apt" or vars.pkg != null'
`

// asked is a plugin that notes what it is asked.
type asked struct{ of []string }

func (a *asked) resolve(_ context.Context, _ string, ref *ordered.Map) (any, error) {
	a.of = append(a.of, ref.Value("of").(string))
	return "answer", nil
}

func members(t *testing.T, inv *inventory.Inventory, word string) string {
	t.Helper()
	got, err := inv.Targets(t.Context(), []string{word})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names(got), " ")
}

func TestMatchGroups(t *testing.T) {
	var plugin asked
	var warned warnings
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: plugin.resolve, Warn: warned.add})
	for word, want := range map[string]string{
		"debian":           "a c",
		"dees":             "x a b d",
		"south":            "c d x a b",
		"untouched":        "",
		"all":              "a b c d x e",
		"*":                "a b c d x e",
		"deb*":             "a c",
		"debian,&south,!a": "c",
	} {
		if got := members(t, inv, word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	if want := []string{"a"}; !slices.Equal(plugin.of, want) {
		t.Errorf("asked of %q, want %q: an expression about vars needs them, and no password", plugin.of, want)
	}
	if want := "The facts of 1 target are missing or incomplete, so groups with a match do not contain them. Run \"bolt facts collect\" to collect facts. [no_facts]"; len(warned.lines) != 1 || warned.lines[0] != want {
		t.Errorf("warned: %q", warned.lines)
	}
	for name, want := range map[string]string{
		"a": `"vars":{"tier":"base","pkg":"apt","secret":"answer"},"features":[],"facts":{"site":"north","os":{"tool":"apt","family":"Debian"},"n":9},"groups":["north","debian","dees","south","all"]}`,
		"c": `"vars":{"tier":"base","pkg":"apt"},"features":["puppet-agent"],"facts":{"site":"everywhere","os":{"tool":"apt","family":"Debian"}},"groups":["debian","south","all"]}`,
		"d": `"vars":{"tier":"base"},"features":[],"facts":{"site":"south"},"groups":["dees","south","all"]}`,
	} {
		if got := detail(t, one(t, inv, name)); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if got := detail(t, one(t, inv, "a")); !strings.Contains(got, `"user":"admin"`) {
		t.Errorf("a has not the configuration of debian: %s", got)
	}
	if want := []string{"a", "password"}; !slices.Equal(plugin.of, want) {
		t.Errorf("asked of %q, want each once: %q", plugin.of, want)
	}
}

// TestMatchGroupsLazily: one target's data asks for no other's facts.
func TestMatchGroupsLazily(t *testing.T) {
	var of []string
	facts := map[string]*ordered.Map{
		"d": ordered.Of("os", ordered.Of("family", "Debian")),
		"a": ordered.Of("os", ordered.Of("family", "RedHat", "name", "x")),
	}
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: new(asked).resolve, CachedFacts: func(_ context.Context, name string, _ []string) (*ordered.Map, error) {
		of = append(of, name)
		return facts[name], nil
	}})
	if got, want := detail(t, one(t, inv, "d")), `"facts":{"site":"everywhere","os":{"tool":"apt"}},"groups":["debian","dees","south","all"]}`; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want …%s", got, want)
	}
	if want := []string{"d"}; !slices.Equal(of, want) {
		t.Errorf("asked about %q", of)
	}
	// What is written down lies over what was collected.
	if got := members(t, inv, "debian"); got != "a c d" {
		t.Errorf("debian has %s", got)
	}
	if want := []string{"d", "a", "b", "c", "x", "e"}; !slices.Equal(of, want) {
		t.Errorf("asked about %q, want each once: %q", of, want)
	}
	if got := members(t, inv, "debian"); got != "a c d" {
		t.Errorf("debian then has %s", got)
	}
}

// TestMatchGroupsChange: plans add targets to groups with a match and take them
// out; what else they change has no effect on them.
func TestMatchGroupsChange(t *testing.T) {
	ctx := t.Context()
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: new(asked).resolve})
	a, b, d := one(t, inv, "a"), one(t, inv, "b"), one(t, inv, "d")
	inGroups := func(target *inventory.Target) string {
		data, err := target.Data(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(data.Groups, " ")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.AddFacts(ctx, ordered.Of("os", ordered.Of("family", "Debian"))))
	if got := inGroups(b); got != "north dees south all" {
		t.Errorf("b is in %s", got)
	}
	must(inv.RemoveFromGroup(a, "debian")) // before anybody knows that it is in there
	must(inv.AddToGroup([]*inventory.Target{b}, "debian"))
	must(inv.RemoveFromGroup(d, "south"))
	if got := inGroups(a); got != "north dees south all" {
		t.Errorf("a is in %s", got)
	}
	if got := inGroups(b); got != "north debian dees south all" {
		t.Errorf("b is in %s", got)
	}
	if got := inGroups(d); got != "all" {
		t.Errorf("d is in %s", got)
	}
	if got := members(t, inv, "debian"); got != "c b" {
		t.Errorf("debian has %s", got)
	}
	if got := members(t, inv, "dees"); got != "x a b" {
		t.Errorf("dees has %s", got)
	}
	must(inv.AddToGroup([]*inventory.Target{a}, "debian"))
	if got := inGroups(a); got != "north debian dees south all" {
		t.Errorf("a is in %s again", got)
	}
	must(inv.RemoveFromGroup(a, "debian"))
	if got := inGroups(a); got != "north dees south all" {
		t.Errorf("a is in %s at last", got)
	}

	// A target that is described anew stays in its groups.
	again, err := inv.NewTarget(ctx, ordered.Of("name", "c", "uri", "c.example.com"))
	must(err)
	if got := inGroups(again); got != "debian south all" {
		t.Errorf("c is in %s", got)
	}
	// Those that the file does not know are in none.
	fresh, err := inv.NewTarget(ctx, ordered.Of("name", "dd", "facts", ordered.Of("os", ordered.Of("family", "Debian"))))
	must(err)
	if got := inGroups(fresh); got != "all" {
		t.Errorf("the new target is in %s", got)
	}
}

// TestWhereSecrets: what a plugin keeps secret is compared as what it is, and no
// error has it.
func TestWhereSecrets(t *testing.T) {
	inv := mustLoad(t, `
vars: {a: {_plugin: hidden}}
facts: {f: {g: {_plugin: hidden}}}
config: {ssh: {host: {_plugin: hidden}}}
targets: [{name: x, vars: {b: [{_plugin: hidden}]}}]
`, inventory.Options{Transports: all.Tables(all.List()), Resolve: func(context.Context, string, *ordered.Map) (any, error) { return inventory.Hide("geheim"), nil }})
	for _, text := range []string{`vars.a == "geheim"`, `vars.a =~ "^geh"`, `"geheim" in vars.b`, `facts.f.g > "geh"`, `host == "geheim"`} {
		if found, _, err := inv.Where(t.Context(), parse(t, text), inv.AllTargets()); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", text, names(found), err)
		}
	}
	_, _, err := inv.Where(t.Context(), parse(t, "vars.a"), inv.AllTargets())
	checkFails(t, err, "bolt/match-error The expression cannot be applied to x: vars.a is a string, which is neither true nor false: compare it with a value or with null")
}

// TestMatchGroupsConcurrently: whoever asks first, everybody is told the same.
func TestMatchGroupsConcurrently(t *testing.T) {
	ctx := t.Context()
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: new(asked).resolve, CachedFacts: func(context.Context, string, []string) (*ordered.Map, error) { return nil, nil }})
	all := inv.AllTargets()
	x := parse(t, `"debian" in groups`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for _, target := range all {
				if _, err := target.Data(ctx); err != nil {
					t.Error(err)
				}
			}
			if i%2 == 0 {
				if err := inv.AddToGroup(all[1:2], "debian"); err != nil {
					t.Error(err)
				}
				if err := inv.RemoveFromGroup(all[1], "debian"); err != nil {
					t.Error(err)
				}
			}
			got, err := inv.Targets(ctx, []string{"debian,!b"})
			if err != nil || strings.Join(names(got), " ") != "a c" {
				t.Errorf("got %v, %v", names(got), err)
			}
			if _, _, err := inv.Where(ctx, x, all); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestMatchGroupErrors(t *testing.T) {
	for text, want := range map[string]string{
		`groups: [{name: g, groups: [{name: h, match: 'facts.a == and'}]}]`: "bolt.inventory/validation-error The match of group h is wrong (group h in g in all, iv.yaml): column 12: expected a name, a string, a number or a list, found 'and'\n  facts.a == and\n             ^",
		`groups: [{name: g, match: 5}]`:                                     "bolt/validation-error Invalid configuration at iv.yaml:\n  Value at 'groups.0.match' must be of type String",
		`groups: [{name: g, match: {_plugin: x}}]`:                          "bolt/validation-error Invalid configuration at iv.yaml:\n  Value at 'groups.0.match' is a plugin reference, which is unsupported at this location",
	} {
		_, err := load(text, inventory.Options{Transports: all.Tables(all.List())})
		checkFails(t, err, want)
	}
	var warned warnings
	mustLoad(t, `{match: "true", targets: [a]}`, inventory.Options{Transports: all.Tables(all.List()), Warn: warned.add})
	if got := strings.Join(warned.lines, "; "); !strings.Contains(got, "Unknown option 'match'") {
		t.Errorf("a match of all: %s", got)
	}

	// From a plugin a group of any form may come.
	_, err := load(`groups: {_plugin: x}`, inventory.Options{Transports: all.Tables(all.List()), Resolve: func(context.Context, string, *ordered.Map) (any, error) {
		return []any{ordered.Of("name", "g", "match", int64(5))}, nil
	}})
	checkFails(t, err, "bolt.inventory/validation-error The match of group g must be a String, not Integer (group g in all, iv.yaml)")

	inv := mustLoad(t, `{targets: [{name: a, facts: {x: []}}], groups: [{name: g, match: facts.x > 1}]}`, inventory.Options{Transports: all.Tables(all.List())})
	_, err = inv.Targets(t.Context(), []string{"g"})
	checkFails(t, err, "bolt/match-error The match of group g cannot be applied to a: facts.x is a list, which is neither before nor after anything")
	if kindOf(err) != "bolt/match-error" {
		t.Errorf("kind %s", kindOf(err))
	}
	_, err = one(t, inv, "a").Data(t.Context())
	checkFails(t, err, "bolt/match-error The match of group g cannot be applied to a: facts.x is a list, which is neither before nor after anything")

	broken := errors.New("broken")
	inv = mustLoad(t, `{targets: [a], groups: [{name: g, match: facts.x}]}`, inventory.Options{Transports: all.Tables(all.List()), CachedFacts: func(context.Context, string, []string) (*ordered.Map, error) { return nil, broken }})
	if _, err = inv.Targets(t.Context(), []string{"g"}); err != broken {
		t.Errorf("got %v", err)
	}
}

func parse(t testing.TB, text string) *match.Expr {
	t.Helper()
	x, err := match.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestWhereSelectsByData(t *testing.T) {
	var plugin asked
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: plugin.resolve, Transport: "ssh"})
	if _, err := inv.Targets(t.Context(), []string{"adhoc.example"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ expr, found, unknown string }{
		{`true`, "a b c d x e adhoc.example", ""},
		{`facts.os.family == "Debian"`, "a c", "e adhoc.example"},
		{`"debian" in groups`, "a c", ""},
		{`facts.site == "everywhere"`, "c", "e adhoc.example"},
		{`facts.site == "north"`, "a b", "e adhoc.example"},
		{`transport == "local"`, "c", ""},
		{`host == "a.example.com" or host == "d"`, "a d", ""},
		{`uri == "local://c" or uri == null`, "c", ""},
		{`"cc" in alias`, "c", ""},
		{`"shell" in features`, "b", ""},
		{`vars.tier == "base" and vars.pkg == "apt"`, "a c", ""},
		{`name == "adhoc.example" and groups == ["all"]`, "adhoc.example", ""},
		{`facts.n > 8 or name == "x"`, "a x", "e adhoc.example"},
	} {
		targets := append(inv.AllTargets(), one(t, inv, "adhoc.example"))
		found, unknown, err := inv.Where(t.Context(), parse(t, tt.expr), targets)
		if err != nil || strings.Join(names(found), " ") != tt.found || strings.Join(names(unknown), " ") != tt.unknown {
			t.Errorf("%s: got %v, unknown %v, %v", tt.expr, names(found), names(unknown), err)
		}
	}
	if slices.Contains(plugin.of, "password") {
		t.Error("a password was asked for")
	}
	_, _, err := inv.Where(t.Context(), parse(t, `facts.os`), inv.AllTargets())
	checkFails(t, err, "bolt/match-error The expression cannot be applied to a: facts.os is a map, which is neither true nor false: compare it with a value or with null")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := inv.Where(ctx, parse(t, `true`), inv.AllTargets()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	// What plans have changed counts.
	if err := one(t, inv, "d").AddFacts(t.Context(), ordered.Of("n", int64(99))); err != nil {
		t.Fatal(err)
	}
	found, _, err := inv.Where(t.Context(), parse(t, `facts.n == 99`), inv.AllTargets())
	if err != nil || strings.Join(names(found), " ") != "d" {
		t.Errorf("got %v, %v", names(found), err)
	}
}

// TestWhereCollected: of whom nothing was collected no more is known than what is
// written down; of the others what was collected is all.
func TestWhereCollected(t *testing.T) {
	var of []string
	inv := mustLoad(t, estate, inventory.Options{Transports: all.Tables(all.List()), Resolve: new(asked).resolve, CachedFacts: func(_ context.Context, name string, facts []string) (*ordered.Map, error) {
		of = append(of, name+" "+strings.Join(facts, "+"))
		if name == "c" || name == "e" {
			return ordered.Of("role", "db", "site", "collected"), nil
		}
		return nil, nil
	}})
	for _, tt := range []struct{ expr, found, unknown string }{
		{`facts.role != "db"`, "", "a b d x"},
		{`facts.role == "db"`, "c e", "a b d x"},
		{`facts.n == null`, "c e", "b d x"},
		{`facts.site == "collected"`, "e", ""},
		{`facts.site == "north" and not facts.is_virtual`, "", "a b"},
		{`facts.os.family == "Debian"`, "a c", "d x"},
	} {
		found, unknown, err := inv.Where(t.Context(), parse(t, tt.expr), inv.AllTargets())
		if err != nil || strings.Join(names(found), " ") != tt.found || strings.Join(names(unknown), " ") != tt.unknown {
			t.Errorf("%s: got %v, unknown %v, %v", tt.expr, names(found), names(unknown), err)
		}
	}
	for _, want := range []string{"a os", "a role", "b site+is_virtual"} {
		if !slices.Contains(of, want) {
			t.Errorf("nobody asked for %s, but %q", want, of)
		}
	}
}

func TestWhereHost(t *testing.T) {
	inv := mustLoad(t, `
config: {ssh: {host: {_plugin: ask, of: host}, password: {_plugin: ask, of: password}}, local: {_plugin: ask, of: local}}
targets: [{name: a}, {name: b, config: {ssh: {host: own}}}, {name: c, uri: uri}]
`, inventory.Options{Transports: all.Tables(all.List()), Resolve: func(_ context.Context, _ string, ref *ordered.Map) (any, error) {
		switch ref.Value("of") {
		case "host":
			return "shared", nil
		case "local":
			return &ordered.Map{}, nil
		}
		return nil, errors.New("asked too much")
	}})
	for expr, want := range map[string]string{`host == "shared"`: "a", `host == "own"`: "b", `host == "uri"`: "c"} {
		found, _, err := inv.Where(t.Context(), parse(t, expr), inv.AllTargets())
		if err != nil || strings.Join(names(found), " ") != want {
			t.Errorf("%s: got %v, %v", expr, names(found), err)
		}
	}
}
