package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport"
	"bolt/transport/nativessh"
)

const changing = `
config: {ssh: {user: root, port: 22}}
vars: {v: all, a: all}
facts: {os: {name: Linux, family: all}}
groups:
- name: web
  vars: {v: web, n: {x: 1}}
  facts: {role: web, os: {name: Web}}
  features: [fweb]
  config: {ssh: {user: webuser, port: 2222, password: pw}}
  targets:
  - {name: w1, uri: 10.0.0.1, alias: one, vars: {v: own, n: {y: 2}}, facts: {os: {name: Own}}, features: [fown], config: {ssh: {port: 3333}}}
  - w2
  groups:
  - {name: inner, vars: {v: inner}, targets: [w3]}
- name: db
  vars: {v: db, d: 1}
  facts: {role: db}
  features: [fdb]
  config: {ssh: {user: dbuser, connect-timeout: 3}}
  targets: [d1]
- {name: empty}
`

// hash parses JSON; it is a map's text in the tests below.
func hash(t *testing.T, text string) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

// aspect writes one part of a target's data.
func aspect(t *testing.T, target *inventory.Target, what string) string {
	t.Helper()
	d, err := target.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var v any
	switch what {
	case "vars":
		v = d.Vars
	case "facts":
		v = d.Facts
	case "features":
		v = append([]string{}, d.Features...)
	case "groups":
		v = d.Groups
	case "uri":
		v = d.URI
	case "alias":
		v = d.Alias
	case "transport":
		v = d.Transport
	case "hooks":
		v = d.PluginHooks
	case "config":
		if v, err = target.Config(t.Context()); err != nil {
			t.Fatal(err)
		}
	case "dest":
		s, err := target.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v = fmt.Sprintf("%s@%s:%d %v", s.User, s.Host, s.Dest.Port, s.Dest.ConnectTimeout)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestChangesOfTargets checks the data of a target after changes, by the names
// of aspect.
func TestChangesOfTargets(t *testing.T) {
	type T = *inventory.Target
	type I = *inventory.Inventory
	type step = func(*testing.T, I, T) error
	setVar := func(name string, v any) step {
		return func(t *testing.T, _ I, target T) error { return target.SetVar(t.Context(), name, v) }
	}
	facts := func(text string) step {
		return func(t *testing.T, _ I, target T) error { return target.AddFacts(t.Context(), hash(t, text)) }
	}
	feature := func(name string, on bool) step {
		return func(t *testing.T, _ I, target T) error { return target.SetFeature(t.Context(), name, on) }
	}
	config := func(path string, v any) step {
		return func(t *testing.T, _ I, target T) error {
			return target.SetConfig(t.Context(), strings.Fields(path), v)
		}
	}
	join := func(group string) step {
		return func(_ *testing.T, inv I, target T) error { return inv.AddToGroup([]T{target}, group) }
	}
	leave := func(group string) step {
		return func(_ *testing.T, inv I, target T) error { return inv.RemoveFromGroup(target, group) }
	}
	anew := func(text string) step {
		return func(t *testing.T, inv I, target T) error {
			same, err := inv.NewTarget(t.Context(), hash(t, text))
			if err == nil && same != target {
				err = fmt.Errorf("%s is another target than before", target)
			}
			return err
		}
	}
	for _, tt := range []struct {
		name, target string
		changes      []step
		want         [][2]string
	}{
		{"variable beats all", "w1", []step{setVar("v", "set"), setVar("new", int64(5))},
			[][2]string{{"vars", `{"v":"set","a":"all","n":{"y":2},"new":5}`}}},
		{"variable beats the group", "w3", []step{setVar("v", "set"), setVar("n", hash(t, `{"z":3}`))},
			[][2]string{{"vars", `{"v":"set","a":"all","n":{"z":3}}`}}},
		{"facts merge deeply", "w1", []step{facts(`{"os":{"release":{"major":12}}}`), facts(`{"os":{"release":{"minor":1}},"list":[1]}`), facts(`{"list":[2]}`)},
			[][2]string{{"facts", `{"os":{"name":"Own","family":"all","release":{"major":12,"minor":1}},"role":"web","list":[2]}`}}},
		{"facts one after the other", "d1", []step{facts(`{"os":5}`), facts(`{"os":{"b":1}}`)},
			[][2]string{{"facts", `{"os":{"name":"Linux","family":"all","b":1},"role":"db"}`}}},
		{"facts are no references", "d1", []step{facts(`{"evil":{"_plugin":"prompt","message":"x"}}`)},
			[][2]string{{"facts", `{"os":{"name":"Linux","family":"all"},"role":"db","evil":{"_plugin":"prompt","message":"x"}}`}}},
		{"features", "w1", []step{feature("x", true), feature("y", true), feature("x", false), feature("y", true)},
			[][2]string{{"features", `["fweb","fown","y"]`}}},
		{"feature of the target goes, that of the group stays", "w1", []step{feature("fown", false), feature("fweb", false)},
			[][2]string{{"features", `["fweb"]`}}},
		{"local targets have an agent", "localhost", nil,
			[][2]string{{"features", `["puppet-agent"]`}, {"transport", `"local"`}, {"config", `{"ssh":{"user":"root","port":22},"transport":"local"}`}}},
		{"unless a plan says otherwise", "localhost", []step{feature("puppet-agent", false)}, [][2]string{{"features", `[]`}}},
		{"and again", "localhost", []step{feature("puppet-agent", false), feature("puppet-agent", true)},
			[][2]string{{"features", `["puppet-agent"]`}}},
		{"option", "w1", []step{config("ssh port", int64(4444)), config("ssh user", "me")},
			[][2]string{{"dest", `"me@10.0.0.1:4444 10s"`}, {"config", `{"ssh":{"user":"me","port":4444,"password":"[redacted]"}}`}}},
		{"options of a transport", "w1", []step{config("ssh", hash(t, `{"user":"me"}`))},
			[][2]string{{"dest", `"me@10.0.0.1:2222 10s"`}}},
		{"all configuration", "w1", []step{config("", hash(t, `{"transport":"docker"}`))},
			[][2]string{{"transport", `"docker"`}, {"config", `{"ssh":{"user":"webuser","port":2222,"password":"[redacted]"},"transport":"docker"}`}}},
		{"no option", "w2", []step{config("ssh port", nil)}, [][2]string{{"dest", `"webuser@w2:0 10s"`}}},
		{"deep option", "w2", []step{config("ssh interpreters .rb", "/usr/bin/ruby"), config("ssh interpreters .py", "/usr/bin/python3")},
			[][2]string{{"config", `{"ssh":{"user":"webuser","port":2222,"password":"[redacted]","interpreters":{".rb":"/usr/bin/ruby",".py":"/usr/bin/python3"}}}`}}},
		{"reference", "w2", []step{config("ssh user", hash(t, `{"_plugin":"const","value":"resolved"}`))},
			[][2]string{{"dest", `"resolved@w2:2222 10s"`}}},
		{"later sibling", "w2", []step{join("db")},
			[][2]string{{"vars", `{"v":"web","a":"all","d":1,"n":{"x":1}}`}, {"facts", `{"os":{"name":"Web","family":"all"},"role":"web"}`},
				{"features", `["fdb","fweb"]`}, {"groups", `["web","db","all"]`}, {"dest", `"webuser@w2:2222 3s"`}}},
		{"earlier sibling", "d1", []step{join("web")},
			[][2]string{{"vars", `{"v":"web","a":"all","d":1,"n":{"x":1}}`}, {"groups", `["web","db","all"]`}, {"dest", `"webuser@d1:2222 3s"`}}},
		{"child", "d1", []step{join("inner")},
			[][2]string{{"vars", `{"v":"inner","a":"all","d":1,"n":{"x":1}}`}, {"groups", `["inner","web","db","all"]`}}},
		{"parent of a group", "w3", []step{join("web"), join("all")},
			[][2]string{{"vars", `{"v":"inner","a":"all","n":{"x":1}}`}, {"groups", `["inner","web","all"]`}}},
		{"own data beats a joined group's", "w1", []step{join("inner"), setVar("v", "set")},
			[][2]string{{"vars", `{"v":"set","a":"all","n":{"y":2}}`}}},
		{"left", "w1", []step{leave("web")},
			[][2]string{{"vars", `{"v":"own","a":"all","n":{"y":2}}`}, {"groups", `["all"]`}, {"features", `["fown"]`}, {"dest", `"root@10.0.0.1:3333 10s"`}}},
		{"left with the children", "w3", []step{leave("web")}, [][2]string{{"groups", `["all"]`}}},
		{"left the child", "w3", []step{join("db"), leave("inner")}, [][2]string{{"groups", `["db","all"]`}}},
		{"left what it was not in", "w3", []step{leave("db")}, [][2]string{{"groups", `["inner","web","all"]`}}},
		{"left and back", "w1", []step{leave("web"), join("web"), leave("web"), join("web")},
			[][2]string{{"groups", `["web","all"]`}, {"dest", `"webuser@10.0.0.1:3333 10s"`}}},
		{"joined and left", "d1", []step{join("web"), leave("web")}, [][2]string{{"groups", `["db","all"]`}}},
		{"said anew", "w1", []step{setVar("x", "y"), feature("z", true), anew(`{"uri":"w1","vars":{"v":"new"},"features":["f"],"facts":{"os":{"name":"New"}}}`)},
			[][2]string{{"uri", `"w1"`}, {"vars", `{"v":"new","a":"all","n":{"x":1}}`}, {"features", `["fweb","f"]`}, {"alias", `null`},
				{"facts", `{"os":{"name":"New","family":"all"},"role":"web"}`}, {"dest", `"webuser@w1:2222 10s"`}, {"groups", `["web","all"]`}}},
		{"anew with a name", "w1", []step{join("db"), anew(`{"name":"w1","target_alias":"uno","config":{"ssh":{"host":"h","user":null}}}`)},
			[][2]string{{"uri", `""`}, {"alias", `["uno"]`}, {"dest", `"@h:2222 3s"`}, {"groups", `["web","db","all"]`}}},
		{"changed after that", "w1", []step{anew(`{"name":"w1"}`), anew(`{"name":"w1","uri":"ssh://u@h:7","plugin_hooks":{"x":{"plugin":"p"}}}`), setVar("v", "late")},
			[][2]string{{"uri", `"ssh://u@h:7"`}, {"vars", `{"v":"late","a":"all","n":{"x":1}}`}, {"dest", `"u@h:7 10s"`},
				{"hooks", `{"puppet_library":{"plugin":"openvox_bootstrap","stop_service":true},"x":{"plugin":"p"}}`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv := mustLoad(t, changing, inventory.Options{Resolve: constant})
			target := one(t, inv, tt.target)
			other := one(t, inv, "w2")
			if other == target {
				other = one(t, inv, "w1")
			}
			before, err := other.Data(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, change := range tt.changes {
				if i%2 == 0 { // whether it was merged before is all the same
					if _, err := target.Settings(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := change(t, inv, target); err != nil {
					t.Fatal(err)
				}
			}
			for _, w := range tt.want {
				if got := aspect(t, target, w[0]); got != w[1] {
					t.Errorf("%s\ngot  %s\nwant %s", w[0], got, w[1])
				}
			}
			if after, _ := other.Data(t.Context()); after != before {
				t.Error("the data of another target is merged again")
			}
		})
	}
}

// constant is a plugin that has its value in itself.
func constant(_ context.Context, _ string, ref *ordered.Map) (any, error) {
	return ref.Value("value"), nil
}

// TestChangesKeepOldData checks that data that was read before a change stays
// the same, and that a change without effect returns the same value.
func TestChangesKeepOldData(t *testing.T) {
	inv := mustLoad(t, changing, inventory.Options{})
	w1 := one(t, inv, "w1")
	facts := hash(t, `{"os":{"x":1}}`)
	if err := w1.AddFacts(t.Context(), facts); err != nil {
		t.Fatal(err)
	}
	old, err := w1.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(old.Facts)
	if err := w1.AddFacts(t.Context(), hash(t, `{"os":{"x":2},"y":3}`)); err != nil {
		t.Fatal(err)
	}
	if err := w1.SetVar(t.Context(), "v", "later"); err != nil {
		t.Fatal(err)
	}
	if now, _ := json.Marshal(old.Facts); string(now) != string(text) || old.Vars.Value("v") != "own" {
		t.Errorf("old data has changed to %s", now)
	}
	if given, _ := json.Marshal(facts); string(given) != `{"os":{"x":1}}` {
		t.Errorf("the caller's facts have changed to %s", given)
	}
	a, _ := w1.Data(t.Context())
	if b, _ := w1.Data(t.Context()); a != b || a == old {
		t.Error("data is not computed once for each change")
	}
	conf, err := w1.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conf.Value("ssh").(*ordered.Map).Set("user", "changed by the caller")
	if got := aspect(t, w1, "dest"); got != `"webuser@10.0.0.1:3333 10s"` {
		t.Errorf("got %s", got)
	}
}

// TestChangeDoesNotResolveAgain checks that a change does not call a plugin
// again.
func TestChangeDoesNotResolveAgain(t *testing.T) {
	asked := 0
	inv := mustLoad(t, "vars: {g: {_plugin: p}}\ntargets: [{name: a, uri: a, vars: {v: {_plugin: p}}}]", inventory.Options{
		Resolve: func(context.Context, string, *ordered.Map) (any, error) { asked++; return int64(asked), nil },
	})
	a := one(t, inv, "a")
	for i := range 3 {
		if err := a.SetVar(t.Context(), fmt.Sprint("x", i), true); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Data(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := aspect(t, a, "vars"); got != `{"g":2,"v":1,"x0":true,"x1":true,"x2":true}` || asked != 2 {
		t.Errorf("got %s, asked %d times", got, asked)
	}
	// What the file says does not count for it, so nobody is asked.
	inv = mustLoad(t, "targets: [{name: a, uri: a, vars: {v: {_plugin: p}}}]", inventory.Options{})
	if _, err := inv.NewTarget(t.Context(), ordered.Of("name", "a", "vars", ordered.Of("w", ordered.Of("_plugin", "p")))); err != nil {
		t.Fatal(err)
	}
	a = one(t, inv, "a")
	if err := a.SetVar(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if got := aspect(t, a, "vars"); got != `{"w":{"_plugin":"p"},"x":null}` {
		t.Errorf("got %s", got)
	}
}

func TestMembersOfChangedGroups(t *testing.T) {
	inv := mustLoad(t, changing, inventory.Options{})
	lookup := func(words ...string) string {
		t.Helper()
		list, err := inv.Lookup(t.Context(), words)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names(list), " ")
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	target := func(name string) *inventory.Target { return one(t, inv, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want(lookup("all"), "w1 w2 w3 d1")
	must(inv.AddToGroup([]*inventory.Target{target("d1"), target("w3"), target("d1"), target("w1")}, "web"))
	want(lookup("web"), "w1 w2 d1 w3")
	want(lookup("inner, db"), "w3 d1")
	must(inv.RemoveFromGroup(target("w1"), "web"))
	want(lookup("web"), "w2 d1 w3")
	want(lookup("all"), "w1 w2 d1 w3")
	must(inv.RemoveFromGroup(target("w3"), "web"))
	want(lookup("web inner"), "w2 d1")
	want(lookup("all"), "w1 w3 w2 d1")
	must(inv.AddToGroup([]*inventory.Target{target("w1")}, "web"))
	want(lookup("web"), "w2 d1 w1")
	want(lookup("[ew]*"), "w2 d1 w1 w3")

	want(lookup("one new.example w1"), "w1 new.example")
	want(lookup("all"), "w1 w3 new.example w2 d1")
	want(lookup("NEW*"), "new.example")
	want(strings.Join(names(inv.AllTargets()), " "), "w1 w2 w3 d1")
	made, err := inv.NewTarget(t.Context(), hash(t, `{"name":"made","uri":"m.example","alias":["m1","m2"]}`))
	must(err)
	if made != target("made") || made != target("m2") || !made.Adhoc || made.URI != "m.example" {
		t.Errorf("got %+v", made)
	}
	want(lookup("m?"), "made")
	must(inv.AddToGroup([]*inventory.Target{made, target("new.example")}, "empty"))
	want(lookup("empty"), "made new.example")
	want(lookup("all"), "w1 w3 new.example made w2 d1")
	want(aspect(t, made, "groups"), `["empty","all"]`)
	again, err := inv.NewTarget(t.Context(), hash(t, `{"name":"made"}`))
	must(err)
	if again != made || aspect(t, made, "groups") != `["empty","all"]` || aspect(t, made, "uri") != `""` {
		t.Errorf("got %+v", again)
	}
	// An alias that is no longer claimed is free.
	if _, err := inv.NewTarget(t.Context(), hash(t, `{"uri":"taker","alias":"m1"}`)); err != nil || target("m1").Name != "taker" || target("m2") != made {
		t.Errorf("got %v", err)
	}
	// A bad ad-hoc target is none of all.
	if _, err := inv.Lookup(t.Context(), []string{"bogus://x"}); kindOf(err) != "bolt/unknown-transport" {
		t.Errorf("got %v", err)
	}
	if _, err := inv.NewTarget(t.Context(), hash(t, `{"uri":"bogus://y"}`)); kindOf(err) != "bolt/unknown-transport" {
		t.Errorf("got %v", err)
	}
	want(lookup("all"), "w1 w3 new.example made taker w2 d1")
}

func TestLookup(t *testing.T) {
	inv := mustLoad(t, changing, inventory.Options{})
	for _, tt := range []struct {
		words       []string
		want, fails string // the kind and a part of the text
	}{
		{[]string{"w1,db w1", "", " one\tweb"}, "w1 d1 w2 w3", ""},
		{[]string{"w[12]"}, "w1 w2", ""},
		{[]string{"w{1,2}"}, "", "bolt.inventory/wildcard-error Found 0 targets matching wildcard pattern w{1"},
		{[]string{"nothing*"}, "", "bolt.inventory/wildcard-error nothing*"},
		{[]string{"empty"}, "", ""},
		{[]string{"ssh://u@h:22,[::1]:22"}, "ssh://u@h:22 [::1]:22", ""},
		{[]string{"a:b:c"}, "", "bolt/parse-error a:b:c"},
	} {
		list, err := inv.Lookup(t.Context(), tt.words)
		if got := strings.Join(names(list), " "); got != tt.want || (err != nil) != (tt.fails != "") {
			t.Errorf("%q: got %q, %v", tt.words, got, err)
		}
		checkFails(t, err, tt.fails)
	}
	if w1, err := inv.Target(t.Context(), "one"); err != nil || w1 != one(t, inv, "w1") {
		t.Errorf("got %v, %v", w1, err)
	}
	_, err := inv.Target(t.Context(), "web")
	checkFails(t, err, "bolt.inventory/validation-error 'web' refers to 3 targets")
	_, err = inv.Target(t.Context(), "empty")
	checkFails(t, err, "bolt.inventory/validation-error 'empty' refers to 0 targets")
}

func checkFails(t *testing.T, err error, want string) {
	t.Helper()
	kind, text, _ := strings.Cut(want, " ")
	if kindOf(err) != kind || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("got %s: %v, want %s", kindOf(err), err, want)
	}
}

// TestChangeErrors: what is refused, and that nothing has changed then.
func TestChangeErrors(t *testing.T) {
	const (
		invalid = "bolt/validation-error "
		names   = "bolt.inventory/validation-error "
	)
	type T = *inventory.Target
	config := func(v any, path ...string) func(context.Context, *inventory.Inventory, T) error {
		return func(ctx context.Context, _ *inventory.Inventory, w1 T) error { return w1.SetConfig(ctx, path, v) }
	}
	anew := func(text string) func(context.Context, *inventory.Inventory, T) error {
		return func(ctx context.Context, inv *inventory.Inventory, _ T) error {
			_, err := inv.NewTarget(ctx, hash(t, text))
			return err
		}
	}
	for _, tt := range []struct {
		name, want string
		change     func(context.Context, *inventory.Inventory, T) error
	}{
		{"type", invalid + "Value at 'ssh.port' must be of type Integer", config("22", "ssh", "port")},
		{"transport", invalid + "Value at 'transport' must be one of", config("bogus", "transport")},
		{"option in an option", invalid + "Value at 'ssh.port' must be of type Integer", config("x", "ssh", "port", "deep")},
		{"whole", invalid + "The config of target w1 must be a Hash, not String", config("x")},
		{"reference", "bolt/unknown-plugin Unknown plugin: 'p'", config(ordered.Of("_plugin", "p"), "ssh", "user")},
		{"join", names + "Group nope does not exist in inventory", func(_ context.Context, inv *inventory.Inventory, w1 T) error {
			return inv.AddToGroup([]T{w1}, "nope")
		}},
		{"leave", names + "Group nope does not exist in inventory", func(_ context.Context, inv *inventory.Inventory, w1 T) error { return inv.RemoveFromGroup(w1, "nope") }},
		{"leave all", names + "Cannot remove Target from Group 'all'", func(_ context.Context, inv *inventory.Inventory, w1 T) error { return inv.RemoveFromGroup(w1, "all") }},
		{"no name", names + "No name or uri for the target with the key(s) vars", anew(`{"vars":{}, "uri":null}`)},
		{"group's name", names + "Target name web conflicts with group of the same name", anew(`{"uri":"web"}`)},
		{"blank", names + "Illegal character ' '", anew(`{"name":"a b"}`)},
		{"no ASCII", names + "must be ASCII", anew(`{"name":"é"}`)},
		{"URI", "bolt/parse-error Could not parse target URI", anew(`{"name":"n","uri":"a:b:c"}`)},
		{"alias is a group", names + "Alias db conflicts with group of the same name", anew(`{"name":"n","alias":["db"]}`)},
		{"alias is a target", names + "Alias w1 conflicts with target of the same name", anew(`{"name":"n","alias":"w1"}`)},
		{"alias is taken", names + "Alias one refers to multiple targets: w1 and n", anew(`{"name":"n","alias":"one"}`)},
		{"alias", names + "Illegal character ',' in alias", anew(`{"name":"n","alias":"a,b"}`)},
		{"wrong type", invalid + "Invalid configuration at the new target w1:\n  Value at 'vars' must be of type Hash", anew(`{"name":"w1","vars":[]}`)},
		{"name's type", names + "No name or uri", anew(`{"name":5}`)},
		{"uri's type", invalid + "Value at 'uri' must be of type String", anew(`{"name":"w1","uri":5}`)},
		{"wrong option", invalid + "Value at 'config.ssh.port' must be of type Integer", anew(`{"name":"w1","config":{"ssh":{"port":"x"}}}`)},
		{"options that clash", invalid + "native-ssh cannot be used", anew(`{"name":"w1","config":{"ssh":{"native-ssh":true,"load-config":false}}}`)},
		{"reference for a name", invalid + "Value at 'uri' is a plugin reference", anew(`{"name":"w1","uri":{"_plugin":"p"}}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv := mustLoad(t, changing, inventory.Options{})
			w1 := one(t, inv, "w1")
			before, all := detail(t, w1), len(inv.Names())
			checkFails(t, tt.change(t.Context(), inv, w1), tt.want)
			if after := detail(t, w1); after != before {
				t.Errorf("it has changed\nfrom %s\nto   %s", before, after)
			}
			if list, err := inv.Lookup(t.Context(), []string{"all"}); err != nil || len(list) != 4 || len(inv.Names()) != all {
				t.Errorf("got %v, %v, %v", list, inv.Names(), err)
			}
		})
	}
	inv := mustLoad(t, changing, inventory.Options{})
	w2 := one(t, inv, "w2")
	set := func(v any, path ...string) error { return w2.SetConfig(t.Context(), path, v) }
	key := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := set(key, "ssh", "private-key"); err != nil {
		t.Fatal(err)
	}
	checkFails(t, set("PEM", "ssh", "private-key", "key-data"), invalid+"The value at 'private-key' in the config of target w2 is not a Hash but String")
	// Options that need each other are set one after the other.
	for option, v := range ordered.Of("batch-mode", false, "native-ssh", true).All() {
		if err := set(v, "ssh", option); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w2.Data(t.Context())
	checkFails(t, err, invalid+"ssh-command must be set")
	if err := set("ssh", "ssh", "ssh-command"); err != nil {
		t.Fatal(err)
	}
	if s, err := w2.Settings(t.Context()); err != nil || s.Dest.Protocol != nativessh.Protocol {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestChangeWarnings(t *testing.T) {
	var w warnings
	inv := mustLoad(t, changing, inventory.Options{Warn: w.add})
	w1 := one(t, inv, "w1")
	if err := w1.SetConfig(t.Context(), []string{"ssh", "colour"}, "red"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.b", "c.d"} {
		if err := w1.AddFacts(t.Context(), ordered.Of(name, int64(1))); err != nil {
			t.Fatal(err)
		}
		aspect(t, w1, "facts")
	}
	if _, err := inv.NewTarget(t.Context(), hash(t, `{"uri":"n","size":1}`)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"'colour' at 'ssh' at config of target w1", "'a.b'", "'size' at the new target n"} {
		if len(w.lines) != 3 || !strings.Contains(w.lines[i], want) {
			t.Errorf("got %q, want %s", w.lines, want)
		}
	}
}

// TestChangedSecrets: what a plan sets is as secret as what the file says.
func TestChangedSecrets(t *testing.T) {
	inv := mustLoad(t, changing, inventory.Options{})
	w1 := one(t, inv, "w1")
	if err := w1.SetConfig(t.Context(), []string{"ssh", "private-key", "key-data"}, "PEM"); err != nil {
		t.Fatal(err)
	}
	config, err := w1.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ssh := config.Value("ssh").(*ordered.Map)
	key := ssh.Value("private-key").(*ordered.Map)
	for _, v := range []any{ssh.Value("password"), key.Value("key-data")} {
		if s, ok := v.(transport.Secret); !ok || !s.IsSet() {
			t.Errorf("got %T", v)
		}
	}
	if s, err := w1.Settings(t.Context()); err != nil || s.Dest.KeyData.Reveal() != "PEM" {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestConcurrentChanges is for the race detector, and that no change gets lost.
func TestConcurrentChanges(t *testing.T) {
	const rounds = 40
	inv := mustLoad(t, changing, inventory.Options{Resolve: constant})
	w1 := one(t, inv, "w1")
	var wg sync.WaitGroup
	try := func(f func(i int) error) {
		wg.Go(func() {
			for i := range rounds {
				if err := f(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c"} {
		try(func(i int) error { return w1.SetVar(ctx, fmt.Sprint(name, i), int64(i)) })
		try(func(i int) error { return w1.AddFacts(ctx, ordered.Of("f", ordered.Of(fmt.Sprint(name, i), int64(i)))) })
		try(func(i int) error { return w1.SetFeature(ctx, fmt.Sprint(name, i), true) })
		try(func(i int) error {
			return w1.SetConfig(ctx, []string{"ssh", "interpreters", fmt.Sprint(".", name, i)}, ordered.Of("_plugin", "p", "value", "/bin/x"))
		})
		try(func(i int) error {
			_, err := inv.NewTarget(ctx, ordered.Of("uri", fmt.Sprint("host", i), "alias", fmt.Sprint("alias", i), "vars", ordered.Of("by", name)))
			return err
		})
	}
	for _, group := range []string{"db", "inner"} {
		try(func(int) error {
			return inv.AddToGroup([]*inventory.Target{w1, one(t, inv, "w2")}, group)
		})
		try(func(int) error { return inv.RemoveFromGroup(w1, group) })
	}
	for range 2 {
		try(func(int) error {
			list, err := inv.Lookup(ctx, []string{"all", "w*", "adhoc"})
			for _, target := range list {
				if _, err := target.Settings(ctx); err != nil {
					return err
				}
			}
			return err
		})
		try(func(int) error { _, err := w1.Config(ctx); inv.Names(); w1.Aliases(); return err })
	}
	wg.Wait()
	d, err := w1.Data(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w1.Settings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{d.Vars.Len() - 3, d.Facts.Value("f").(*ordered.Map).Len(), len(s.Interpreters)} {
		if n < 3*rounds {
			t.Errorf("%d changes are left of %d", n, 3*rounds)
		}
	}
	list, err := inv.Lookup(ctx, []string{"all"})
	if err != nil || len(list) != 4+1+rounds {
		t.Errorf("got %v, %v", names(list), err)
	}
	if !slices.Contains(list, one(t, inv, "alias7")) {
		t.Error("an alias leads elsewhere")
	}
}
