package inventory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/transport"
	"bolt/transport/all"
	"bolt/transport/nativessh"
	"bolt/transport/winrm"
)

// warnings collects what an inventory warns of.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (w *warnings) add(id, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, text+" ["+id+"]")
}

func load(text string, o inventory.Options) (*inventory.Inventory, error) {
	data, err := yaml.DecodeMap([]byte(text), "iv.yaml", "inventory")
	if err != nil {
		return nil, err
	}
	if o.File == "" {
		o.File = "iv.yaml"
	}
	o.Transports = all.Tables(all.List())
	return inventory.New(context.Background(), data, o)
}

func mustLoad(t *testing.T, text string, o inventory.Options) *inventory.Inventory {
	t.Helper()
	inv, err := load(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// kindOf is the kind of an error, "" if it has none.
func kindOf(err error) string {
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil {
		return ""
	}
	return f.Kind
}

func names(targets []*inventory.Target) []string {
	list := []string{}
	for _, t := range targets {
		list = append(list, t.Name)
	}
	return list
}

func one(t *testing.T, inv *inventory.Inventory, name string) *inventory.Target {
	t.Helper()
	list, err := inv.Targets(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%s: %v, want one target", name, names(list))
	}
	return list[0]
}

// detail writes a target's data as inventory show does.
func detail(t *testing.T, target *inventory.Target) string {
	t.Helper()
	d, err := target.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var uri any
	if d.URI != "" {
		uri = d.URI
	}
	list := func(s []string) []string { return append([]string{}, s...) }
	b, err := json.Marshal(ordered.Of("name", d.Name, "uri", uri, "alias", list(d.Alias),
		"config", ordered.Of("transport", d.Transport, d.Transport, d.Config),
		"vars", d.Vars, "features", list(d.Features), "facts", d.Facts, "groups", list(d.Groups)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The expectations of the next tests are recorded from Puppet Bolt; only
// passwords are shown otherwise.

const depot = `
version: 2
config:
  transport: ssh
  ssh: {user: root, port: 2210, host-key-check: false, private-key: /keys/id_ed25519, connect-timeout: 5}
vars: {tier: base, fromall: yes_all}
facts: {operatingsystem: FromAll}
groups:
  - name: web
    vars: {tier: web, role: web, nested: {a: 1, b: {c: web, d: web}}}
    facts: {role: web, deep: {x: web, y: web}}
    features: [puppet-agent, webfeat]
    targets:
      - {uri: 127.0.1.1, name: web1, alias: [w1, first], vars: {tier: web1}}
      - {uri: 127.0.1.2, name: web2}
      - {name: shared, uri: 127.0.1.3, vars: {own: yes_own}}
  - name: db
    config: {ssh: {user: cargo, connect-timeout: 7}}
    vars: {tier: db, role: db, nested: {b: {c: db}, e: db}, dbonly: true}
    facts: {role: db, deep: {x: db, z: db}}
    features: [dbfeat]
    targets: [{name: db1, uri: 127.0.1.11}, {name: db2, uri: 127.0.1.12}, shared]
  - name: linux
    vars: {tier: linux, parent: linux}
    groups:
      - name: app
        vars: {tier: app}
        targets: [{name: app1, uri: 127.0.1.21}, {name: app2, uri: 'ssh://cargo@127.0.1.22:2210'}]
      - name: empty
        targets: []
    targets: [web1]
  - name: bad
    targets: [{name: badkey, uri: 'ssh://root@127.0.1.41', config: {ssh: {private-key: /keys/id_wrong}}}]
  - name: localgrp
    config: {transport: local}
    targets: [{name: loc1}, {name: loc2, config: {local: {tmpdir: /scratch}}}]
  - name: remotes
    config: {transport: remote, remote: {run-on: web1, device: switch}}
    targets: [{name: switch1, uri: 'fake://switch1.example/path?q=1'}]
`

const merged = `
vars: {a: top, list: [1], deep: {k: top, t: 1}}
features: [f0]
facts: {os: {name: top, arch: x}}
config:
  transport: ssh
  ssh: {user: topuser, port: 22, tty: false}
  winrm: {ssl: false}
targets: [{name: solo, uri: 127.0.1.9}]
groups:
  - name: outer
    vars: {a: outer, deep: {k: outer}}
    features: [f1]
    config: {ssh: {user: outeruser}}
    groups:
      - name: inner
        vars: {list: [2]}
        facts: {os: {name: inner}}
        config: {ssh: {port: 2222}}
        targets:
          - {name: deep1, uri: 127.0.1.8, features: [f2], config: {ssh: {tty: true}}, facts: {extra: yes}}
    targets: [{name: win1, uri: 'winrm://win.example'}, solo]
  - name: other
    vars: {a: other, only: other}
    features: [f9]
    config: {ssh: {user: otheruser, connect-timeout: 3}}
    targets: [solo, deep1]
`

const precedence = `
groups:
  - name: g1
    targets: [{name: t, uri: g1.example.com, config: {ssh: {user: tg1}}, vars: {v: {a: 1}}, facts: {f: {a: 1}}, features: [x]}]
    config: {ssh: {user: g1, port: 1}}
    vars: {v: {b: 2}, w: 1}
    groups:
      - name: g1a
        targets: [t]
        config: {ssh: {user: g1a, port: 11}}
        vars: {w: child}
  - name: g2
    targets: [{name: t, uri: g2.example.com, config: {ssh: {user: tg2, password: p}}, vars: {v: {c: 3}}, facts: {f: {b: 2}}, alias: tt, features: [y]}]
    config: {ssh: {user: g2, port: 2}, transport: ssh}
    vars: {w: g2, z: 9}
config: {ssh: {connect-timeout: 3, user: all}}
`

func TestDataOfTargets(t *testing.T) {
	const sshDefaults = `"batch-mode":true,"cleanup":true,"connect-timeout":10,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false`
	tests := []struct {
		name, inventory, target, want string
	}{
		{"two groups", depot, "shared", `{"name":"shared","uri":"127.0.1.3","alias":[],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":7,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false,"host-key-check":false,"port":2210,"private-key":"/keys/id_ed25519","user":"cargo"}},"vars":{"tier":"web","fromall":"yes_all","role":"web","nested":{"a":1,"b":{"c":"web","d":"web"}},"dbonly":true,"own":"yes_own"},"features":["dbfeat","puppet-agent","webfeat"],"facts":{"operatingsystem":"FromAll","role":"web","deep":{"x":"web","z":"db","y":"web"}},"groups":["web","db","all"]}`},
		{"the URI's user does not show", depot, "app2", `{"name":"app2","uri":"ssh://cargo@127.0.1.22:2210","alias":[],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":5,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false,"host-key-check":false,"port":2210,"private-key":"/keys/id_ed25519","user":"root"}},"vars":{"tier":"app","fromall":"yes_all","parent":"linux"},"features":[],"facts":{"operatingsystem":"FromAll"},"groups":["app","linux","all"]}`},
		{"ad hoc winrm", depot, "winrm://x.example", `{"name":"winrm://x.example","uri":"winrm://x.example","alias":[],"config":{"transport":"winrm","winrm":{"basic-auth-only":false,"cleanup":true,"connect-timeout":10,"ssl":true,"ssl-verify":true,"file-protocol":"winrm"}},"vars":{"tier":"base","fromall":"yes_all"},"features":[],"facts":{"operatingsystem":"FromAll"},"groups":["all"]}`},
		{"remote", depot, "switch1", `{"name":"switch1","uri":"fake://switch1.example/path?q=1","alias":[],"config":{"transport":"remote","remote":{"run-on":"web1","device":"switch"}},"vars":{"tier":"base","fromall":"yes_all"},"features":[],"facts":{"operatingsystem":"FromAll"},"groups":["remotes","all"]}`},
		{"local", depot, "loc2", `{"name":"loc2","uri":null,"alias":[],"config":{"transport":"local","local":{"bundled-ruby":true,"cleanup":true,"tmpdir":"/scratch"}},"vars":{"tier":"base","fromall":"yes_all"},"features":["puppet-agent"],"facts":{"operatingsystem":"FromAll"},"groups":["localgrp","all"]}`},
		{"aliases and a parent's target", depot, "first", `{"name":"web1","uri":"127.0.1.1","alias":["w1","first"],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":5,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false,"host-key-check":false,"port":2210,"private-key":"/keys/id_ed25519","user":"root"}},"vars":{"tier":"web1","fromall":"yes_all","parent":"linux","role":"web","nested":{"a":1,"b":{"c":"web","d":"web"}}},"features":["puppet-agent","webfeat"],"facts":{"operatingsystem":"FromAll","role":"web","deep":{"x":"web","y":"web"}},"groups":["web","linux","all"]}`},
		{"siblings", merged, "solo", `{"name":"solo","uri":"127.0.1.9","alias":[],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":3,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false,"port":22,"user":"outeruser"}},"vars":{"a":"outer","list":[1],"deep":{"k":"outer"},"only":"other"},"features":["f0","f9","f1"],"facts":{"os":{"name":"top","arch":"x"}},"groups":["outer","other","all"]}`},
		{"nested and sibling", merged, "deep1", `{"name":"deep1","uri":"127.0.1.8","alias":[],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":3,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":true,"port":2222,"user":"outeruser"}},"vars":{"a":"outer","list":[2],"deep":{"k":"outer"},"only":"other"},"features":["f0","f9","f1","f2"],"facts":{"os":{"name":"inner","arch":"x"},"extra":true},"groups":["inner","outer","other","all"]}`},
		{"another transport", merged, "win1", `{"name":"win1","uri":"winrm://win.example","alias":[],"config":{"transport":"winrm","winrm":{"basic-auth-only":false,"cleanup":true,"connect-timeout":10,"ssl":false,"ssl-verify":true,"file-protocol":"winrm"}},"vars":{"a":"outer","list":[1],"deep":{"k":"outer"}},"features":["f0","f1"],"facts":{"os":{"name":"top","arch":"x"}},"groups":["outer","all"]}`},
		{"two definitions", precedence, "t", `{"name":"t","uri":"g2.example.com","alias":["tt"],"config":{"transport":"ssh","ssh":{"batch-mode":true,"cleanup":true,"connect-timeout":3,"disconnect-timeout":5,"load-config":true,"login-shell":"bash","tty":false,"password":"[redacted]","port":11,"user":"tg1"}},"vars":{"w":"child","z":9,"v":{"a":1}},"features":["y","x"],"facts":{"f":{"b":2,"a":1}},"groups":["g1a","g1","g2","all"]}`},
		{"empty inventory", "", "ssh://u%40x:p%23@[::1]:2222", `{"name":"ssh://u%40x:p%23@[::1]:2222","uri":"ssh://u%40x:p%23@[::1]:2222","alias":[],"config":{"transport":"ssh","ssh":{` + sshDefaults + `}},"vars":{},"features":[],"facts":{},"groups":["all"]}`},
		{"docker", "", "docker://abc", `{"name":"docker://abc","uri":"docker://abc","alias":[],"config":{"transport":"docker","docker":{"cleanup":true}},"vars":{},"features":[],"facts":{},"groups":["all"]}`},
		{"localhost", "config: {transport: ssh}", "localhost", `{"name":"localhost","uri":"localhost","alias":[],"config":{"transport":"local","local":{"bundled-ruby":true,"cleanup":true}},"vars":{},"features":["puppet-agent"],"facts":{},"groups":["all"]}`},
		{"localhost that says ssh", "targets: [{name: localhost, config: {transport: ssh}}]", "localhost", `{"name":"localhost","uri":null,"alias":[],"config":{"transport":"ssh","ssh":{` + sshDefaults + `}},"vars":{},"features":[],"facts":{},"groups":["all"]}`},
		{"interpreters get dots", "config: {ssh: {interpreters: {py: /usr/bin/python3, .sh: [/bin/bash, -e]}}}", "h", `{"name":"h","uri":"h","alias":[],"config":{"transport":"ssh","ssh":{` + sshDefaults + `,"interpreters":{".py":"/usr/bin/python3",".sh":["/bin/bash","-e"]}}},"vars":{},"features":[],"facts":{},"groups":["all"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv := mustLoad(t, tt.inventory, inventory.Options{})
			if got := detail(t, one(t, inv, tt.target)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestDataBelowTheInventory(t *testing.T) {
	o := inventory.Options{
		Transport:   "local",
		Config:      map[string]*ordered.Map{"ssh": ordered.Of("user", "flag", "run-as", "root", "nonsense", int64(1)), "local": ordered.Of("tmpdir", "/var/tmp")},
		PluginHooks: ordered.Of("puppet_library", ordered.Of("plugin", "task")),
	}
	inv := mustLoad(t, "config: {ssh: {user: inv}}", o)
	d, err := one(t, inv, "h").Data(t.Context())
	if err != nil || d.Transport != "local" || d.Config.Value("tmpdir") != "/var/tmp" {
		t.Errorf("got %+v, %v", d, err)
	}
	if got, _ := json.Marshal(d.PluginHooks); string(got) != `{"puppet_library":{"plugin":"task"}}` {
		t.Errorf("plugin hooks %s", got)
	}
	d, err = one(t, inv, "ssh://h2").Data(t.Context())
	if err != nil || d.Config.Value("user") != "inv" || d.Config.Value("run-as") != "root" || d.Config.Value("nonsense") != nil {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestTargets(t *testing.T) {
	all := []string{"web1", "web2", "shared", "db1", "db2", "app1", "app2", "badkey", "loc1", "loc2", "switch1"}
	tests := []struct {
		name     string
		patterns []string
		want     []string
	}{
		{"all", []string{"all"}, all},
		{"glob over a group's name", []string{"web*"}, []string{"web1", "web2", "shared"}},
		{"glob inside", []string{"*b*"}, []string{"web1", "web2", "shared", "db1", "db2", "badkey"}},
		{"glob in capitals", []string{"APP?"}, []string{"app1", "app2"}},
		{"class", []string{"app[2-9]"}, []string{"app2"}},
		{"braces", []string{"{web1,db1}"}, []string{"web1", "db1"}},
		{"nested braces", []string{"{web{1,2},db1},loc1"}, []string{"web1", "web2", "db1", "loc1"}},
		{"glob of an alias", []string{"w[1]"}, []string{"web1"}},
		{"parent group", []string{"linux"}, []string{"web1", "app1", "app2"}},
		{"list", []string{"web1, db1 app1"}, []string{"web1", "db1", "app1"}},
		{"lines", []string{"web1\ndb2\n"}, []string{"web1", "db2"}},
		{"several", []string{"web1", "db1"}, []string{"web1", "db1"}},
		{"each once", []string{"web1,web,w1,first"}, []string{"web1", "web2", "shared"}},
		{"empty group", []string{"empty"}, []string{}},
		{"nothing", []string{""}, []string{}},
		{"unclosed brace", []string{"web1,{"}, nil},
		{"ad hoc", []string{"new.example,ssh://bob@h:22 ssh://[::1]:2222", "new.example"}, []string{"new.example", "ssh://bob@h:22", "ssh://[::1]:2222"}},
		{"address in brackets", []string{"[::1]:2222,[::1]"}, []string{"[::1]:2222", "[::1]"}},
	}
	inv := mustLoad(t, depot, inventory.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := inv.Targets(t.Context(), tt.patterns)
			if tt.want == nil {
				if kindOf(err) != "bolt.inventory/wildcard-error" {
					t.Errorf("got %v, %v", names(list), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := names(list); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("nothing matches", func(t *testing.T) {
		_, err := inv.Targets(t.Context(), []string{"zzz*"})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != "bolt.inventory/wildcard-error" || f.Msg != "Found 0 targets matching wildcard pattern zzz*" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too many braces", func(t *testing.T) {
		_, err := inv.Targets(t.Context(), []string{strings.Repeat("{a,b}", 20)})
		if kindOf(err) != "bolt.inventory/wildcard-error" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("bad port", func(t *testing.T) {
		_, err := inv.Targets(t.Context(), []string{"user:secretword@h:99999"})
		if kindOf(err) != "bolt/parse-error" || strings.Contains(err.Error(), "secretword") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("password in a pattern", func(t *testing.T) {
		for _, word := range []string{
			"bob:secretword*@h", "bob:{secretword@h", "ssh://bob:secretword*@h:x", "bob:secretword/x@h", "ssh://bob:x/secretword@h", "bob:secretword://x@h",
			"bob:x?secretword@h", "bob:x#secretword@h", "bob:secretword%zz@h", "bob:%secretword@h", "x:y:secretword@h/{", strings.Repeat("{a,b}", 20) + "x:secretword@h",
			"1s://bob:secretword@h",
		} {
			_, err := inv.Targets(t.Context(), []string{word})
			if err == nil || strings.Contains(err.Error(), "secretword") || err.Error() == "" {
				t.Errorf("%s: got %v", word, err)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "secretword") {
					t.Errorf("%s: the cause is %v", word, err)
				}
			}
		}
	})
	t.Run("identity", func(t *testing.T) {
		a, b := one(t, inv, "w1"), one(t, inv, "web1")
		c, d := one(t, inv, "x.example"), one(t, inv, "x.example")
		if a != b || c != d || a.Adhoc || !c.Adhoc {
			t.Errorf("targets are not one per name")
		}
	})
	if got, want := inv.Groups(), []string{"all", "app", "bad", "db", "empty", "linux", "localgrp", "remotes", "web"}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	if got := names(inv.AllTargets()); !slices.Equal(got, all) {
		t.Errorf("all targets %v, want %v", got, all)
	}
	if got := inv.Names(); !slices.Contains(got, "w1") || !slices.Contains(got, "web") || !slices.Contains(got, "web1") || slices.Contains(got, "x.example") {
		t.Errorf("names %v", got)
	}
}

func TestStringTargets(t *testing.T) {
	inv := mustLoad(t, `
targets: [one.example, three, ssh://bob@two.example:2022, vier, one.example, {name: three, uri: t.example}, {name: three, uri: other.example}, {uri: four.example, alias: vier}]
groups:
  - name: g
    targets: [vier, three, five]
  - name: h
    targets: [{name: five, uri: 5.example}]
`, inventory.Options{})
	// Targets with data of their own come first, as in Puppet Bolt.
	if got, want := names(inv.AllTargets()), []string{"three", "four.example", "one.example", "ssh://bob@two.example:2022", "five"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	list, err := inv.Targets(t.Context(), []string{"g"})
	if got, want := names(list), []string{"four.example", "three", "five"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for name, uri := range map[string]string{"three": "t.example", "five": "5.example", "vier": "four.example"} {
		if got := one(t, inv, name); got.URI != uri {
			t.Errorf("%s has URI %q, want %q", name, got.URI, uri)
		}
	}
}

func TestInventoryErrors(t *testing.T) {
	const nameError = "bolt.inventory/validation-error"
	tests := []struct {
		name, inventory, target string // target "" means New fails
		kind                    string
		path                    []any
		says                    string
	}{
		{"types", `{targets: foo, config: {ssh: {port: "22", user: 5, tty: maybe}}}`, "", "bolt/validation-error", nil,
			"Invalid configuration at iv.yaml:\n  Value at 'targets' must be of type Array\n  Value at 'config.ssh.port' must be of type Integer\n  Value at 'config.ssh.user' must be of type String\n  Value at 'config.ssh.tty' must be of type Boolean"},
		{"transport", "config: {transport: telnet}", "", "bolt/validation-error", nil, "'config.transport' must be one of choria, docker"},
		{"version", "version: 3", "", nameError, []any{}, "Unsupported version 3 specified in inventory"},
		{"group name", `groups: [{name: "Bad Name!"}]`, "", nameError, []any{"Bad Name!"}, "Illegal character ' ' in group name 'Bad Name!'"},
		{"no name", "targets: [{vars: {a: 1}}]", "", nameError, []any{"all"}, "No name or uri"},
		{"two aliases", "targets: [{name: a, alias: x}, {name: b, alias: x}]", "", nameError, []any{"all"}, "Alias x refers to multiple targets: a and b"},
		{"two aliases in two groups", "groups: [{name: g, targets: [{name: a, alias: x}]}, {name: h, groups: [{name: i, targets: [{name: b, alias: x}]}]}]", "", nameError, []any{"i", "h", "all"}, "refers to multiple targets"},
		{"alias", `targets: [{name: a, alias: "bad alias!"}]`, "", nameError, []any{"all"}, "Illegal character ' ' in alias"},
		{"group and target", "groups: [{name: g, targets: [g]}]", "", nameError, []any{"g", "all"}, "Group g conflicts with target of the same name"},
		{"target and later group", "groups: [{name: g, targets: [h]}, {name: h}]", "", nameError, []any{"h", "all"}, "Group h conflicts with target"},
		{"group twice", "groups: [{name: g}, {name: g}]", "", nameError, []any{"g", "all"}, "redefine group g"},
		{"group and alias", "targets: [{name: a, alias: g}]\ngroups: [{name: g}]", "", nameError, []any{"g", "all"}, "Group g conflicts with alias"},
		{"target and alias", "targets: [{name: a, alias: b}, {name: b}]", "", nameError, []any{"all"}, "Target name b conflicts with alias"},
		{"version 1", "nodes: [a]", "", nameError, []any{"all"}, "nodes"},
		{"ascii", "targets: [{name: größe}]", "", nameError, []any{"all"}, "ASCII"},
		{"uri", "targets: [{name: a, uri: 'u:geheim@h:port'}]", "", nameError, []any{"all"}, "Invalid target uri u@h:port"},
		{"uri with a slash in its password", "targets: ['ssh://u:x/geheim@h']", "", nameError, []any{"all"}, "Invalid target uri ssh://u@h"},
		{"uri with everything in its password", "targets: ['u:g?e#h/e@geheim@h']", "", nameError, []any{"all"}, "Invalid target uri u@h"},
		{"ascii uri", "targets: [{uri: 'u:geheim@größe'}]", "", nameError, []any{"all"}, "ASCII characters: u@größe"},
		{"two aliases of uris", "targets: [{uri: 'u:geheim@h', alias: x}, {uri: 'v:geheim@h', alias: x}]", "", nameError, []any{"all"}, "Alias x refers to multiple targets: u@h and v@h"},
		{"two aliases of uris in two groups", "groups: [{name: g, targets: [{uri: 'u:geheim@h', alias: x}]}, {name: i, targets: [{uri: 'v:geheim@h', alias: x}]}]", "", nameError, []any{"i", "all"}, "multiple targets: v@h and u@h"},
		{"group and uri", "groups: [{name: 'u:geheim@h', targets: ['u:geheim@h']}]", "", nameError, nil, "Group u@h conflicts with target"},
		{"group and later uri", "groups: [{name: g, targets: ['u:geheim@h']}, {name: 'u:geheim@h'}]", "", nameError, nil, "Group u@h conflicts with target"},
		{"uri and alias", "targets: [{name: a, alias: 'u:geheim@h'}, {name: 'u:geheim@h'}]", "", nameError, []any{"all"}, "Target name u@h conflicts with alias"},
		{"alias that is a uri", "targets: [{name: a, alias: 'u:geh eim@h'}]", "", nameError, []any{"all"}, "in alias 'u@h'"},
		{"space in a uri", "targets: [{name: 'ssh://u:gehe im@h'}]", "all", nameError, []any{}, "in target name 'ssh://u@h'"},
		{"space in a name", "targets: [{name: 'a b'}]", "all", nameError, []any{}, "Illegal character ' ' in target name 'a b'"},
		{"unknown transport", "", "foo://x:y@h", "bolt/unknown-transport", nil, "Unknown transport foo found for foo://x@h"},
		{"key data and native", "config: {ssh: {native-ssh: true, private-key: {key-data: x}}}", "h", "bolt/validation-error", nil, "ssh configuration of target h:\n  private-key"},
		{"control character in a name", "targets: [{name: \"\\e]0;x\", uri: h}]", "all", "bolt.inventory/validation-error", nil, `Illegal character '\x1b' in target name`},
		{"powershell", "config: {ssh: {login-shell: powershell, tty: true}}", "h", "bolt/validation-error", nil, "tty is not supported"},
		{"native without config", "config: {ssh: {native-ssh: true, load-config: false}}", "h", "bolt/validation-error", nil, "load-config"},
		{"no batch mode", "config: {ssh: {batch-mode: false}}", "h", "bolt/validation-error", nil, "ssh-command must be set"},
		{"smb", "config: {winrm: {file-protocol: smb}}", "winrm://h", "bolt/validation-error", nil, "SMB"},
		{"basic", "config: {winrm: {ssl: false, basic-auth-only: true}}", "winrm://h", "bolt/validation-error", nil, "Basic auth"},
		{"choria", "config: {choria: {ssl-ca: x}}", "choria://h", "bolt/validation-error", nil, "ssl-cert, ssl-key"},
		{"unknown plugin", "targets: [{name: a, vars: {v: {_plugin: nosuch}}}]", "a", "bolt/unknown-plugin", nil, "Unknown plugin: 'nosuch'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := load(tt.inventory, inventory.Options{})
			if tt.target != "" {
				if err != nil {
					t.Fatal(err)
				}
				var list []*inventory.Target
				if list, err = inv.Targets(t.Context(), []string{tt.target}); err == nil {
					err = inv.Prepare(t.Context(), list)
				}
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok {
				t.Fatalf("got %v, want a fault", err)
			}
			if f.Kind != tt.kind || !strings.Contains(f.Msg, tt.says) {
				t.Errorf("got %s: %s", f.Kind, f.Msg)
			}
			if tt.path != nil && !reflect.DeepEqual(f.Details.Value("path"), tt.path) {
				t.Errorf("got path %v, want %v", f.Details.Value("path"), tt.path)
			}
			text := f.Msg + fmt.Sprint(errors.Unwrap(f))
			if strings.Contains(text, "geh") || strings.Contains(text, "eim") {
				t.Errorf("the message has the password: %s", text)
			}
		})
	}
}

func TestInventoryWarnings(t *testing.T) {
	var w warnings
	inv := mustLoad(t, `
name: top
targets: [{name: t, foo: 1, facts: {a.b: 1}}, a]
config: {ssh: {nope: 1}, bogus: {}}
groups: [{name: g, bar: 1}]
`, inventory.Options{Warn: w.add})
	if err := inv.Prepare(t.Context(), inv.AllTargets()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Unknown option 'name' at iv.yaml. [unknown_option]",
		"Unknown option 'foo' at 'targets.0' at iv.yaml. [unknown_option]",
		"Unknown option 'bogus' at 'config' at iv.yaml. [unknown_option]",
		"Unknown option 'nope' at 'config.ssh' at iv.yaml. [unknown_option]",
		"[top_level_group_name]",
		"Found unexpected key(s) bogus in config for group all [unknown_config_keys]",
		"Found unexpected key(s) foo in target t [unknown_target_keys]",
		"Found unexpected key(s) bar in group g [unknown_group_keys]",
		"Found unexpected key(s) bogus in config for group all [unknown_config_keys]",
		"[dotted_fact_name]",
	}
	if len(w.lines) != len(want) {
		t.Fatalf("got\n%s", strings.Join(w.lines, "\n"))
	}
	for i := range want {
		if !strings.HasSuffix(w.lines[i], want[i]) {
			t.Errorf("got %s, want %s", w.lines[i], want[i])
		}
	}
}

func TestSettings(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var w warnings
	inv := mustLoad(t, `
config:
  ssh: {user: root, password: pw, private-key: keys/none, connect-timeout: 3, host-key-check: true, run-as: admin,
        encryption-algorithms: [defaults, aes128-cbc], proxyjump: gate, keepalive: 7, forward-agent: true, gssapi-authentication: true, gssapi-delegate-credentials: false, tmpdir: /var/tmp, script-dir: fixed, cleanup: false,
        interpreters: {rb: /opt/my ruby, .py: [/usr/bin/env, python3]}, run-as-command: [doas, -u]}
targets:
  - {name: plain, uri: h.example}
  - {name: full, uri: "ssh://b%40c:p%23w@[fe80::1]:2222"}
  - {name: keyed, uri: k, config: {ssh: {private-key: {key-data: PEM}, sudo-password: sp, host-key-check: false, port: 22, cleanup: true}}}
  - {name: hosted, config: {ssh: {host: real.example}}}
  - {name: nohost}
  - {name: here, uri: "local://x", config: {local: {run-as: admin, sudo-password: sp}}}
  - {name: sw, uri: "cisco://sw.example", config: {transport: remote}}
  - {name: home, uri: x, config: {ssh: {private-key: ~/id}}}
  - {name: real, uri: y, config: {ssh: {private-key: `+key+`}}}
  - {name: v6, uri: "2001:db8::1"}
  - {name: win, uri: "winrm://w.example", config: {winrm: {user: u, cacert: certs/ca, ssl-verify: false, basic-auth-only: true, realm: R, extensions: [sh, .py]}}}
  - {name: nowhere, config: {transport: winrm}}
`, inventory.Options{Warn: w.add, Project: "/proj", Home: "/home/me"})
	get := func(name string) inventory.Settings {
		t.Helper()
		s, err := one(t, inv, name).Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := get("plain")
	to := s.Dest
	if to.Protocol != "ssh" || to.Host != "h.example" || to.Port != 0 || to.User != "root" || to.Password.Reveal() != "pw" ||
		to.PrivateKey != "/proj/keys/none" || to.ConnectTimeout.Seconds() != 3 || to.DisconnectTimeout.Seconds() != 5 || to.Keepalive.Seconds() != 7 ||
		to.HostKeyCheck != transport.CheckStrict || !to.LoadConfig || to.ProxyJump != "gate" || to.GSSAPI != transport.ChoiceYes || to.GSSAPIDelegate != transport.ChoiceNo || to.ForwardAgent != transport.ChoiceYes || to.Ciphers != "defaults,aes128-cbc" {
		t.Errorf("got %+v", to)
	}
	if s.RunAs.User != "admin" || s.RunAs.Password.Reveal() != "pw" || !slices.Equal(s.RunAs.Command, []string{"doas", "-u"}) {
		t.Errorf("got %+v", s.RunAs)
	}
	if s.TmpDir != "/var/tmp" || s.ScriptDir != "fixed" || s.Cleanup || s.TTY || s.Dest.LoginShell != "bash" || s.Dest.Protocol != "ssh" {
		t.Errorf("got %+v", s)
	}
	if want := (map[string][]string{".rb": {"/opt/my ruby"}, ".py": {"/usr/bin/env", "python3"}}); !reflect.DeepEqual(s.Interpreters, want) {
		t.Errorf("got %v", s.Interpreters)
	}
	if s := get("full"); s.Host != "fe80::1" || s.User != "b@c" || s.Dest.Port != 2222 || s.Dest.Password.Reveal() != "p#w" || s.RunAs.Password.Reveal() != "p#w" {
		t.Errorf("got %+v", s)
	}
	if s := get("keyed"); s.Dest.KeyData.Reveal() != "PEM" || s.Dest.PrivateKey != "" || s.RunAs.Password.Reveal() != "sp" ||
		s.Dest.HostKeyCheck != transport.CheckNone || s.Dest.Port != 22 || !s.Cleanup {
		t.Errorf("got %+v", s)
	}
	if s := get("hosted"); s.Dest.Host != "real.example" {
		t.Errorf("got %+v", s)
	}
	if s := get("here"); s.Dest != (transport.Dest{Protocol: "local"}) || s.Host != "x" || s.RunAs.User != "admin" || s.RunAs.Password.Reveal() != "sp" {
		t.Errorf("got %+v", s)
	}
	if s := get("sw"); s.Dest.Protocol != "remote" || s.Host != "sw.example" {
		t.Errorf("got %+v", s)
	}
	if s := get("home"); s.Dest.PrivateKey != "/home/me/id" {
		t.Errorf("got %+v", s)
	}
	if s := get("win"); s.Dest.Options != (winrm.Access{SSL: true, CACert: "/proj/certs/ca", BasicOnly: true, Realm: "R"}) || !s.PowerShell ||
		s.Dest.ConnectTimeout.Seconds() != 10 || s.Dest.User != "u" || !slices.Equal(s.Extensions, []string{".sh", ".py"}) {
		t.Errorf("got %+v", s)
	}
	if s := get("v6"); s.Dest.Host != "2001:db8::1" || s.Dest.Port != 0 {
		t.Errorf("got %+v", s)
	}
	get("real")
	if _, err := one(t, inv, "nowhere").Settings(t.Context()); kindOf(err) != "bolt/validation-error" || !strings.Contains(err.Error(), "does not have a host") {
		t.Errorf("got %v", err)
	}
	if _, err := one(t, inv, "nohost").Settings(t.Context()); kindOf(err) != "bolt/validation-error" || !strings.Contains(err.Error(), "does not have a host") {
		t.Errorf("got %v", err)
	}
	if len(w.lines) != 2 || !strings.Contains(w.lines[0], "/proj/keys/none") || !strings.Contains(w.lines[1], "/home/me/id") {
		t.Errorf("warnings %v", w.lines)
	}
	for _, name := range []string{"plain", "keyed", "full"} {
		target := one(t, inv, name)
		text := detail(t, target)
		s := get(name)
		text += fmt.Sprintf("%v %+v %#v", s, s, s)
		d, _ := target.Data(t.Context())
		text += string(yaml.Marshal(d.Config)) + fmt.Sprintf("%+v", d.Config)
		if strings.Contains(text, "pw\"") || strings.Contains(text, "PEM") || strings.Contains(text, "sp\"") {
			t.Errorf("%s: a secret shows: %s", name, text)
		}
	}
}

func TestNativeSSH(t *testing.T) {
	var w warnings
	inv := mustLoad(t, `
config: {ssh: {ssh-command: ssh -v, password: pw, tmpdir: /t}}
targets: [{name: a, uri: a}, {name: a2, uri: a2, config: {ssh: {port: 22}}}, {name: b, uri: b, config: {ssh: {native-ssh: true, batch-mode: false}}}]
`, inventory.Options{Warn: w.add})
	a, err := one(t, inv, "a").Settings(t.Context())
	if err != nil || a.Dest.Protocol != "ssh" || !a.Dest.Password.IsSet() {
		t.Errorf("got %+v, %v", a, err)
	}
	if _, err := one(t, inv, "a2").Settings(t.Context()); err != nil {
		t.Error(err)
	}
	b, err := one(t, inv, "b").Settings(t.Context())
	if err != nil || b.Dest.Protocol != nativessh.Protocol || b.Dest.Password.IsSet() || b.TmpDir != "/t" || b.Dest.ConnectTimeout != 0 ||
		b.Dest.Options != (nativessh.Program{SSH: transport.NewWords([]string{"ssh", "-v"})}) {
		t.Errorf("got %+v, %v", b, err)
	}
	if len(w.lines) != 1 || !strings.HasSuffix(w.lines[0], "[native_ssh_disabled]") {
		t.Errorf("warnings %v", w.lines)
	}
}

func TestSafeName(t *testing.T) {
	inv := mustLoad(t, "targets: ['ssh://u:pw@h', {name: n, uri: 'u:pw@h2'}]\ngroups: [{name: g, targets: ['ssh://u:pw@h']}]", inventory.Options{})
	for name, want := range map[string]string{
		"ssh://u:pw@h": "ssh://u@h", "n": "n", "foo:bar@x": "foo@x", "plain": "plain", "u@h:22": "u@h:22", "ssh://u:a@b@h/x@y": "ssh://u@h/x@y",
		"ssh://h:22/x@y": "ssh://h:22/x@y", "ssh://[::1]:22/x@y": "ssh://[::1]:22/x@y", "ssh://u@h/a:b@c": "ssh://u@h/a:b@c",
	} {
		if got := one(t, inv, name).SafeName(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func plugins(t *testing.T, env map[string]string) (inventory.Resolver, *int) {
	t.Helper()
	asked := new(int)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "targets.yaml"), []byte("- {name: pt1, uri: 127.0.1.6}\n- {name: pt2, uri: 127.0.1.7, vars: {v: {_plugin: env_var, var: V}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := plugin.New(plugin.Options{
		Project: dir,
		Env:     func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Prompt: func(_ context.Context, q string) (transport.Secret, error) {
			*asked++
			return transport.NewSecret("answer to " + q), nil
		},
	})
	return p.Resolve, asked
}

func TestPluginReferences(t *testing.T) {
	resolve, asked := plugins(t, map[string]string{"DEPOT_URI": "ssh://u@deep.example", "WHICH": "yaml", "GROUPS": `[{"name": "fromenv", "targets": ["pt1"]}]`, "V": "vee"})
	inv := mustLoad(t, `
targets:
  - name: a
    uri: {_plugin: env_var, var: DEPOT_URI, default: a.example}
    config:
      ssh:
        user: {_plugin: env_var, var: DEPOT_USER, default: deepuser}
        password: {_plugin: prompt, message: Word}
        port: {_plugin: env_var, var: NONE, optional: true}
        private-key: {key-data: {_plugin: env_var, var: NONE, optional: true}}
    vars:
      list: [{_plugin: env_var, var: DEPOT_ONE, default: "1"}, two]
      file: {_plugin: {_plugin: env_var, var: WHICH}, filepath: targets.yaml}
      none: {_plugin: env_var, var: NONE, optional: true}
  - {_plugin: yaml, filepath: targets.yaml}
  - {name: broken, vars: {x: {_plugin: env_var, var: MISSING}}}
groups: {_plugin: env_var, var: GROUPS, json: true}
vars: {asked: {_plugin: prompt, message: Word}}
`, inventory.Options{Resolve: resolve})
	if got, want := names(inv.AllTargets()), []string{"a", "pt1", "pt2", "broken"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if *asked != 0 {
		t.Error("a prompt came before anybody needed its answer")
	}
	var wg sync.WaitGroup
	for range 8 {
		for _, name := range []string{"a", "pt1", "pt2"} {
			wg.Go(func() {
				list, err := inv.Targets(t.Context(), []string{name})
				if err == nil {
					_, err = list[0].Settings(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if *asked != 1 {
		t.Errorf("asked %d times", *asked)
	}
	d, err := one(t, inv, "a").Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(d.Vars)
	if want := `{"asked":"[redacted]","list":["1","two"],"file":[{"name":"pt1","uri":"127.0.1.6"},{"name":"pt2","uri":"127.0.1.7","vars":{"v":"vee"}}],"none":null}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if d.URI != "ssh://u@deep.example" || d.Config.Value("user") != "deepuser" {
		t.Errorf("got %+v", d)
	}
	for _, k := range []string{"port", "private-key"} {
		if v, ok := d.Config.Get(k); ok {
			t.Errorf("%s is %v, want none: its reference had no value", k, v)
		}
	}
	s, err := one(t, inv, "a").Settings(t.Context())
	if err != nil || s.Dest.Password.Reveal() != "answer to Word: " {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := one(t, inv, "broken").Data(t.Context()); kindOf(err) != "bolt/validation-error" || err.Error() != "env_var plugin requires that the var 'MISSING' be set" {
		t.Errorf("got %v", err)
	}
}

func TestReferenceLoop(t *testing.T) {
	self := func(_ context.Context, _ string, ref *ordered.Map) (any, error) { return ref, nil }
	if _, err := load("targets: {_plugin: self}", inventory.Options{Resolve: self}); kindOf(err) != "bolt/recursive-reference-loop" {
		t.Errorf("got %v", err)
	}
	inv := mustLoad(t, "vars: {v: {_plugin: self}}", inventory.Options{Resolve: self})
	if _, err := one(t, inv, "h").Data(t.Context()); kindOf(err) != "bolt/recursive-reference-loop" {
		t.Errorf("got %v", err)
	}
	groups := func(context.Context, string, *ordered.Map) (any, error) {
		return ordered.Of("name", "g", "groups", []any{ordered.Of("_plugin", "self")}), nil
	}
	if _, err := load("groups: [{_plugin: self}]", inventory.Options{Resolve: groups}); err == nil {
		t.Error("endless groups are accepted")
	}
}

// TestWrongPluginValues checks what the schema cannot see.
func TestWrongPluginValues(t *testing.T) {
	for _, tt := range []struct{ name, inventory, value, says string }{
		{"targets", "targets: {_plugin: p}", `[5]`, "must be a String or Hash, not Integer"},
		{"groups", "groups: {_plugin: p}", `["g"]`, "must be a Hash, not String"},
		{"group without name", "groups: {_plugin: p}", `[{}]`, "does not have a name"},
		{"name", "targets: [{name: {_plugin: p}}]", `5`, "name must be a String"},
		{"alias", "targets: [{name: a, alias: {_plugin: p}}]", `{}`, "alias of target a must be a String or Array"},
		{"vars", "targets: [{name: a, vars: {_plugin: p}}]", `[]`, "Expected vars to be of type Hash, not Array, for target a"},
		{"features", "features: {_plugin: p}\ntargets: [a]", `{}`, "Expected features to be of type Array, not Hash, for group all"},
		{"option", "config: {ssh: {port: {_plugin: p}}}\ntargets: [a]", `"x"`, "Value at 'port' must be of type Integer"},
		{"name of plugin", "targets: {_plugin: 5}", `0`, "must be the name of a plugin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, err := ordered.ParseJSON([]byte(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			inv, err := load(tt.inventory, inventory.Options{Resolve: func(context.Context, string, *ordered.Map) (any, error) { return value, nil }})
			if err == nil {
				err = inv.Prepare(t.Context(), inv.AllTargets())
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	started := make(chan struct{})
	inv := mustLoad(t, "vars: {v: {_plugin: slow}}\ntargets: [a, b]", inventory.Options{Resolve: func(ctx context.Context, _ string, _ *ordered.Map) (any, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = one(t, inv, "a").Data(ctx) })
	<-started
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if _, err := one(t, inv, "b").Data(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	cancel()
	wg.Wait()
}

// su asks for the password of another user than the one who logs in.
func TestLoginPasswordIsNotForSu(t *testing.T) {
	inv := mustLoad(t, `
config: {ssh: {password: pw, run-as: admin}}
targets:
  - {name: a, uri: a}
  - {name: b, uri: b, config: {ssh: {sudo-executable: /usr/bin/doas}}}
  - {name: c, uri: c, config: {ssh: {sudo-executable: /bin/su}}}
  - {name: d, uri: d, config: {ssh: {sudo-executable: su, sudo-password: theirs}}}
`, inventory.Options{})
	for name, want := range map[string]string{"a": "pw", "b": "pw", "c": "", "d": "theirs"} {
		s, err := one(t, inv, name).Settings(t.Context())
		if err != nil || s.RunAs.Password.Reveal() != want {
			t.Errorf("%s: got password %q, %v; want %q", name, s.RunAs.Password.Reveal(), err, want)
		}
	}
}
