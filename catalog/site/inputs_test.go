package site_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/catalog/site"
	"bolt/environment/inputs"
	"bolt/puppet/value"
)

// nodeFacts are the facts of the node in the tests below.
const nodeFacts = `{
	"os": {"family": "Debian", "name": "Devuan", "release": {"major": "12", "full": "12.5"}},
	"osfamily": "Debian", "fqdn": "web1.example.com", "networking": {"fqdn": "web1.example.com",
		"interfaces": {"eth0": {"ip": "10.0.0.1"}, "eth0.7": {"ip": "10.0.7.1"}}, "primary": "eth0"},
	"custom": "yes", "role": "web", "level": {"low": {"x": 1}}, "list": [1, {"a": 2}], "unused": {"deep": {"er": 1}}, "other": "o"
}`

// reading lists programs, the facts that they read, and the keys that they look up. A program is the body of
// a class in a module with the files below.
var reading = []struct {
	name, program string
	facts         string // separated by blanks
	keys          string
}{
	{"no read", "notice('x')", "", ""},
	{"a path", "notify { $facts['os']['family']: }", "os.family", ""},
	{"in a string", `notify { "${facts['os']['release']['major']} ${facts['custom']}": }`, "custom os.release.major", ""},
	{"top scope", "notify { \"${osfamily} ${::fqdn} ${::os['name']}\": }", "fqdn os.name osfamily", ""},
	{"$::facts", "notify { $::facts['os']['family']: }", "os.family", ""},
	{"a level", "$os = $facts['os'] notify { $os['family']: }", "os", ""},
	{"all facts", "$f = $facts notify { $f['custom']: }", "*", ""},
	{"all facts as an argument", "notify { \"${$facts.keys.size}\": }", "*", ""},
	{"a key that is a value", "$n = 'name' notify { $facts['os'][$n]: }", "os.name", ""},
	{"a key that is a fact", "notify { $facts['networking']['interfaces'][$facts['networking']['primary']]['ip']: }", "networking.interfaces.eth0.ip networking.primary", ""},
	{"a key with a dot", "notify { $facts['networking']['interfaces']['eth0.7']['ip']: }", `networking.interfaces."eth0.7".ip`, ""},
	{"many keys", "notify { $facts['osfamily', 'fqdn']: }", "*", ""},
	{"an element of an array", "notify { \"${facts['list'][1]['a']}\": }", "list", ""},
	{"a character", "notify { $facts['custom'][0]: }", "custom", ""},
	{"missing facts", "if $facts['none'] { notify { 'x': } } if $facts['os']['none'] { notify { 'y': } }", "none os.none", ""},
	{"dig", "notify { $facts.dig('os', 'family'): } notify { dig($facts['os'], 'name'): }", "os.family os.name", ""},
	{"dig of what is missing", "if $facts.dig('none', 'below') { notify { 'x': } }", "none", ""},
	{"get", "notify { $facts.get('os.release.major'): } notify { get($facts, 'gone.x', 'd'): }", "gone os.release.major", ""},
	{"get, a path that is a value", "$p = 'os.family' notify { get($facts, $p): } notify { get($os, 'name'): }", "os.family os.name", ""},
	{"getvar", "notify { getvar('facts.os.family'): } if getvar('osnone') { notify { 'x': } } notify { getvar('::os.name'): }", "os.family os.name osnone", ""},
	{"stdlib", "notify { fact('os.family'): } if stdlib::has_ip_address('10.0.0.1') { notify { 'x': } }", "networking.interfaces os.family", ""},
	{"fqdn_rand", "notify { \"${fqdn_rand(100)}\": }", "networking.fqdn", ""},
	{"defined", "if defined('$custom') { notify { 'x': } } if defined('$none') { notify { 'y': } }", "custom none", ""},
	{"trusted", "notify { $trusted['certname']: }", "trusted.certname", ""},
	{"all of trusted", "$t = $trusted notify { $t['certname']: }", "trusted", ""},
	{"variables that are not facts", "notify { \"${environment} ${serverversion} ${title} ${module_name} ${server_facts['environment']}\": }", "", ""},
	{"own variables", "$osfamily = 'mine' $custom = {'x' => 'y'} notify { \"${osfamily} ${custom['x']}\": }", "", ""},
	{"parameters of blocks", "['a'].each |$custom| { notify { $custom: } }", "", ""},
	{"blocks", "$facts['level'].each |$k, $v| { notify { $k: } }", "level", ""},
	{"functions of the language", "notify { m::first($facts['os']): } notify { m::family(): }", "os", ""},
	{"a default of a parameter", "m::d { 'x': }", "role", ""},
	{"an inherited class", "include m::below", "custom", ""},
	{"epp", "notify { epp('m/t.epp', {'p' => 'x'}): }", "os.family role", ""},
	{"inline epp", "notify { inline_epp('<%= $facts[\"os\"][\"family\"] %>'): }", "os.family", ""},
	{"erb", "notify { template('m/t.erb'): }", "custom fqdn networking.primary os.family os.name os.release role", ""},
	{"erb, all", "notify { inline_template('<%= f = @facts; f[\"custom\"] %>'): }", "*", ""},
	{"erb, to_hash", "notify { inline_template('<%= scope.to_hash[\"custom\"] %>'): }", "* trusted", ""},
	{"erb, a method between", "notify { inline_template('<%= @facts.sort[0][0] %>'): }", "*", ""},
	{"erb, twice", "notify { inline_template('<%= @facts[\"custom\"] %><%= @facts.size %>'): }", "*", ""},
	{"lookups", "notify { 'x': message => [lookup('plain'), hiera('hash.sub', 'd'), lookup(['gone', 'plain'], default_value => 'd')] }", "networking.primary role", "gone hash.sub plain"},
	{"data binding", "include m::bound", "level.low networking.primary role", "m::bound::given m::bound::p"},
	{"interpolation in data", "notify { lookup('interpolated'): }", "custom networking.primary os.family role trusted.certname", "interpolated plain"},
	{"a function of data", "notify { lookup('m::own'): }", "level.low networking.primary role", "m::own"},
	{"a deferred variable", "notify { 'x': message => Deferred('$facts', ['os', 'family']) }", "", ""},
	{"a type of a module", "if 'web' =~ M::Role { notify { 'x': } }", "role", ""},
	{"an alias of a key", "notify { lookup('aliased'): }", "networking.primary role", "aliased plain"},
}

var readingFiles = map[string]string{
	"e/hiera.yaml": "version: 5\nhierarchy:\n- {name: r, path: 'role/%{facts.role}.yaml'}\n- {name: m, mapped_paths: [facts.networking.primary, x, 'if/%{x}.yaml']}\n- {name: c, path: c.yaml}\n",
	"e/data/c.yaml": "plain: from data\nhash: {sub: s}\nm::bound::p: p\naliased: \"%{alias('plain')}\"\n" +
		"interpolated: \"%{facts.os.family} %{::custom} %{lookup('plain')} %{trusted.certname}\"\n",
	"e/data/role/web.yaml":            "other: x\n",
	"e/data/if/eth0.yaml":             "hash: {sub: eth0}\n",
	"e/modules/m/hiera.yaml":          "version: 5\nhierarchy: [{name: f, data_hash: m::data}]\n",
	"e/modules/m/functions/data.pp":   "function m::data($options, $context) { {'m::own' => \"${facts['level']['low']}\"} }",
	"e/modules/m/functions/first.pp":  "function m::first($h) { $h['family'] }",
	"e/modules/m/functions/family.pp": "function m::family() { $facts['os']['name'] }",
	"e/modules/m/types/role.pp":       "type M::Role = Enum[$facts['role']]",
	"e/modules/m/manifests/d.pp":      "define m::d($p = $facts['role']) { notify { \"d ${p}\": } }",
	"e/modules/m/manifests/bound.pp":  "class m::bound($p, $given = 'x') { notify { \"${p} ${given}\": } }",
	"e/modules/m/manifests/base.pp":   "class m::base { $inherited = $custom }",
	"e/modules/m/manifests/below.pp":  "class m::below inherits m::base { notify { $inherited: } }",
	"e/modules/m/templates/t.epp":     "<%- | $p | -%>\n<%= $p %> <%= $facts['os']['family'] %> <%= $role %>\n",
	"e/modules/m/templates/t.erb": "<%= @custom %> <%= scope['facts']['os']['family'] %> <%= @facts['os']['name'] %> <%= scope.lookupvar('::fqdn') %>\n" +
		"<%= @facts.dig('networking', 'primary') %> <% r = @os['release'] -%><%= r['major'] %> <%= @role if has_variable?('role') %>\n",
}

// inputsOf compiles a program and returns its inputs, and the digest or the error.
func inputsOf(t *testing.T, dir, program string, facts *value.Hash) (*inputs.Record, string) {
	t.Helper()
	write(t, dir, map[string]string{"e/modules/m/manifests/init.pp": "class m { " + program + " }", "e/manifests/site.pp": "include m"})
	s, err := site.Open(t.Context(), dir, "e", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return compiledWith(t, s, facts)
}

func compiledWith(t *testing.T, s *site.Site, facts *value.Hash) (*inputs.Record, string) {
	t.Helper()
	for c := range site.CompileAll(context.WithoutCancel(t.Context()), s, []site.Node{{Name: "web1.example.com", Facts: facts}}, 0) {
		if c.Err != nil {
			return c.Inputs, c.Err.Error()
		}
		return c.Inputs, c.Catalog.Digest()
	}
	return nil, ""
}

func factsOf(t *testing.T, text string) *value.Hash {
	t.Helper()
	v, err := value.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Hash)
}

func TestInputs(t *testing.T) {
	for _, c := range reading {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, readingFiles)
			r, digest := inputsOf(t, dir, c.program, factsOf(t, nodeFacts))
			if strings.Contains(digest, " ") {
				t.Fatal(digest)
			}
			if got := strings.Join(r.Facts(), " "); got != c.facts {
				t.Errorf("facts are %s, want %s", got, c.facts)
			}
			if got := strings.Join(slices.DeleteFunc(r.Keys(), func(k string) bool { return k == "m::x" }), " "); got != c.keys {
				t.Errorf("keys are %s, want %s", got, c.keys)
			}
		})
	}
}

// TestInputsTwice checks that the reads of one compilation are also recorded for the next
// compilation of the same Site.
func TestInputsTwice(t *testing.T) {
	for _, c := range reading {
		dir := t.TempDir()
		write(t, dir, readingFiles)
		write(t, dir, map[string]string{"e/modules/m/manifests/init.pp": "class m { " + c.program + " }", "e/manifests/site.pp": "include m"})
		s, err := site.Open(t.Context(), dir, "e", options, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := compiledWith(t, s, factsOf(t, nodeFacts))
		second, _ := compiledWith(t, s, factsOf(t, nodeFacts))
		if !slices.Equal(first.Facts(), second.Facts()) || !slices.Equal(first.Keys(), second.Keys()) {
			t.Errorf("%s: got %q and %q, then %q and %q", c.name, first.Facts(), first.Keys(), second.Facts(), second.Keys())
		}
	}
}

// changes are facts that differ from the node's facts at one path each. The path has dots.
var changes = []struct{ path, with string }{
	{"os", `"a string"`}, {"os.family", `"RedHat"`}, {"os.name", `"Mint"`}, {"os.release", `{"major": "13"}`}, {"os.release.major", `"13"`},
	{"os.release.full", `"12.6"`}, {"os.none", `"now"`}, {"osfamily", `"RedHat"`}, {"fqdn", `"web2.example.com"`}, {"networking.fqdn", `"web9.example.com"`},
	{"networking.interfaces.eth0.ip", `"10.0.0.2"`}, {"networking.interfaces.eth0%7.ip", `"10.0.7.2"`}, {"networking.interfaces.eth1", `{"ip": "10.1.0.1"}`},
	{"networking.primary", `"eth1"`}, {"custom", `"no"`}, {"role", `"db"`}, {"level.low.x", `2`}, {"level.high", `{}`}, {"list", `[1, {"a": 3}]`},
	{"unused.deep.er", `2`}, {"unused", `[]`}, {"other", `"p"`}, {"none", `{"below": "now"}`}, {"osnone", `"now"`}, {"gone", `{"x": "now"}`}, {"trusted",
		`{"certname": "else.example.com", "authenticated": "remote"}`}, {"x", `"new"`},
}

// TestUnreadFacts checks, for every program and every change, that a change of a fact that is not
// recorded does not change the catalog. Most programs also detect most changes that are recorded.
func TestUnreadFacts(t *testing.T) {
	noticed, unread := 0, 0
	for _, c := range reading {
		dir := t.TempDir()
		write(t, dir, readingFiles)
		r, before := inputsOf(t, dir, c.program, factsOf(t, nodeFacts))
		for _, change := range changes {
			path := strings.Split(change.path, ".")
			for i := range path {
				path[i] = strings.ReplaceAll(path[i], "%", ".")
			}
			_, after := inputsOf(t, dir, c.program, with(factsOf(t, nodeFacts), path, factOf(t, change.with)))
			switch {
			case !touches(r, path) && before != after:
				t.Errorf("%s: facts are %q; a change of %s makes %s of %s", c.name, r.Facts(), change.path, after, before)
			case before != after:
				noticed++
			case !touches(r, path):
				unread++
			}
		}
	}
	if noticed < len(reading) || unread < 10*len(reading) {
		t.Errorf("%d changes changed a catalog, %d were of facts that are not recorded", noticed, unread)
	}
}

// touches reports whether a path is recorded, or is below or above a recorded path.
func touches(r *inputs.Record, path []string) bool {
	changed := inputs.New()
	changed.Variable("facts", path)
	at := changed.Facts()[0] + "."
	return slices.ContainsFunc(r.Facts(), func(read string) bool {
		return read == inputs.Everything && path[0] != "trusted" || strings.HasPrefix(at, read+".") || strings.HasPrefix(read+".", at)
	})
}

func factOf(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func with(h *value.Hash, path []string, v value.Value) *value.Hash {
	if len(path) > 1 {
		below, _ := h.GetString(path[0])
		v = with(below.(*value.Hash), path[1:], v)
	}
	return h.With(value.String(path[0]), v)
}

// TestInputsOfFailure checks that after an error, the record has the reads before the error.
func TestInputsOfFailure(t *testing.T) {
	for _, c := range []struct{ program, facts string }{
		{"if $facts['custom'] { fail($facts['os']['family']) }", "custom os.family"},
		{"notify { $nothing_at_all: }", "nothing_at_all"},
		{"notify { $facts['none']['below']: }", "none"},
		{"notify { $facts['custom']['below']: }", "custom"},
		{"notify { $facts[nothing()]: }", "*"},
	} {
		dir := t.TempDir()
		write(t, dir, readingFiles)
		r, err := inputsOf(t, dir, c.program, factsOf(t, nodeFacts))
		if got := strings.Join(r.Facts(), " "); got != c.facts || !strings.Contains(err, " ") {
			t.Errorf("%s: got %s, want %s (%s)", c.program, got, c.facts, err)
		}
	}
}

// TestInputsOfTopScope checks that a variable that a manifest sets in the top scope is recorded,
// because a fact with this name is an error.
func TestInputsOfTopScope(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"e/manifests/site.pp": "$own = 1 notify { \"${own} ${facts['os']['name']}\": } node default { $role = 'x' notify { $role: } }"})
	s, err := site.Open(t.Context(), dir, "e", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := compiledWith(t, s, factsOf(t, nodeFacts))
	if got := strings.Join(r.Facts(), " "); got != "os.name own" {
		t.Errorf("facts are %s", got)
	}
}

// TestNoSecretInInputs checks that a record has names of facts and keys, but never values of facts,
// of data or of Sensitive.
func TestNoSecretInInputs(t *testing.T) {
	const secret = "hunter2"
	dir := t.TempDir()
	write(t, dir, readingFiles)
	write(t, dir, map[string]string{"e/data/c.yaml": "plain: hunter2\npassword: hunter2\nlookup_options: {password: {convert_to: Sensitive}}\nnested: \"%{lookup('plain')} %{facts.password}\"\n"})
	facts := factsOf(t, nodeFacts).With(value.String("password"), value.NewSensitive(value.String(secret)))
	facts = facts.With(value.String("hidden"), value.NewSensitive(factsOf(t, `{"hunter2": {"x": 1}}`)))
	for _, program := range []string{
		"$p = $facts['password'] notify { 'x': message => $p }",
		"notify { 'x': message => [lookup('password'), lookup('plain'), $password.unwrap] }",
		"$s = Sensitive('hunter2') notify { 'x': message => $facts[$s] }",
		"$s = Sensitive('hunter2') notify { 'x': message => [dig($facts, $s), dig($facts, 'os', $s)] }",
		"notify { 'x': message => [$facts['hidden'].unwrap['hunter2']['x'], $hidden.unwrap.dig('hunter2', 'x')] }",
		"notify { 'x': message => lookup('nested') }",
		"notify { 'x': message => inline_template('<%= @password %><%= scope[\"password\"].unwrap %>') }",
	} {
		r, err := inputsOf(t, dir, program, facts)
		if len(r.Facts()) == 0 && len(r.Keys()) == 0 {
			t.Errorf("%s: nothing is recorded", program)
		}
		if all := strings.Join(append(r.Facts(), r.Keys()...), " "); strings.Contains(all, secret) {
			t.Errorf("%s: the record has %s (%s)", program, all, err)
		}
	}
}

// TestDataErrors checks that an error about the type of a value from data has the key, the level of
// the hierarchy and the file.
func TestDataErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/hiera.yaml":                  "version: 5\nhierarchy:\n- {name: Nodes, path: nodes.yaml}\n- {name: Common, path: common.yaml}\n",
		"e/data/nodes.yaml":             "all: [a]\n",
		"e/data/common.yaml":            "m::port: x\nm::name: y\nsum: z\nall: [1]\n",
		"e/modules/m/manifests/init.pp": "class m(Integer $port, String $name2 = '', Integer $own = 'x') { }\n",
		"e/modules/n/manifests/init.pp": "class n(Integer $port) { }\n",
	})
	common := filepath.Join(dir, "e/data/common.yaml")
	for code, want := range map[string]string{
		"include m": "parameter 'port' expects an Integer value, got String; parameter 'own' expects an Integer value, got String; " +
			"the value is from the key 'm::port' (in the level 'Common', " + common + ")",
		"class { 'n': port => 'x' }":              "Class[N]: parameter 'port' expects an Integer value, got String",
		"lookup('sum', Integer)":                  "got String (in the level 'Common', " + common + ")",
		"lookup('all', Array[Integer], 'unique')": "(merged from several levels)",
	} {
		write(t, dir, map[string]string{"e/manifests/site.pp": code + "\n"})
		s, err := site.Open(t.Context(), dir, "e", options, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
