package hiera_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/value"
)

const (
	env      = "env/production/"
	module   = env + "modules/m/"
	defaults = "version: 5\ndefaults: {datadir: data, data_hash: yaml_data}\n"
)

// lookup looks up a key from outside of a program.
func (w *world) lookup(key string) (value.Value, error) {
	ctx := context.Background()
	return w.s.Lookup(ctx, hiera.AtSite(w.in.Site(ctx, nil)), hiera.Request{Names: []string{key}})
}

func (w *world) wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	if got := strings.ReplaceAll(err.Error(), w.dir, "/t"); !strings.Contains(got, want) {
		t.Errorf("error %q, want %q in it", got, want)
	}
}

// TestConfigErrors checks that errors of a hiera.yaml have their position.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "hiera.yaml: the file is empty"},
		{"not a hash", "- a", "hiera.yaml:1:1: a hiera.yaml must be a hash"},
		{"version 3", ":backends: yaml\n:hierarchy: [common]\n", "version 3, which is not supported: convert it"},
		{"version 3, told", ":version: 3\n", "version 3 is not supported: convert it"},
		{"version 4", "---\nversion: 4\n", ":2:1: hiera.yaml version 4 is not supported: convert it to version 5 ('backend: yaml' becomes 'data_hash: yaml_data'"},
		{"version 6", "version: 6", "version 6 is not supported"},
		{"version in quotes", "version: '5'", "leave out the quotes"},
		{"unknown key", "version: 5\nhierachy: []\n", ":2:1: 'hierachy' is not a key"},
		{"key of a level", "version: 5\nhierarchy:\n  - name: a\n    pth: x\n", ":4:5: 'pth' is not a key of a level"},
		{"no name", "version: 5\nhierarchy:\n  - path: x\n", ":3:5: the level has no name"},
		{"two names", defaults + "hierarchy:\n  - {name: a, path: x}\n  - {name: a, path: y}\n", ":5:6: two levels of hierarchy are named 'a', first in line 4"},
		{"two functions", "version: 5\nhierarchy:\n  - name: a\n    data_hash: yaml_data\n    lookup_key: x\n", ":5:5: the level 'a' has both data_hash and lookup_key"},
		{"two locations", defaults + "hierarchy:\n  - name: a\n    path: x\n    glob: y\n", ":6:5: the level 'a' has both path and glob"},
		{"no function", "version: 5\ndefaults: {datadir: x}\nhierarchy:\n  - name: a\n", ":4:5: the level 'a' does not have a source of data"},
		{"default_hierarchy", "version: 5\ndefault_hierarchy: []\n", ":2:1: default_hierarchy is for the hiera.yaml of modules"},
		{"reserved option", "version: 5\nhierarchy:\n  - name: a\n    data_hash: f\n    options:\n      path: x\n", ":6:7: the option 'path' cannot be set"},
		{"name of an option", "version: 5\nhierarchy: [{name: a, data_hash: f, options: {x-: 1}}]", "'x-' is not the name of an option"},
		{"mapped_paths", defaults + "hierarchy: [{name: a, mapped_paths: [x]}]", "mapped_paths must have three strings"},
		{"yaml backend", defaults + "hierarchy: [{name: a, hiera3_backend: yaml}]", "write 'data_hash: yaml_data' instead"},
		{"other backend", defaults + "hierarchy: [{name: a, hiera3_backend: mongo}]", "backends of Hiera 3 are Ruby code: replace 'mongo'"},
		{"lookup in a path", defaults + "hierarchy:\n  - {name: a, path: \"%{lookup('x')}\"}\n", ":4:5: %{lookup('x')} is not allowed here"},
		{"unknown variable", "version: 5\nhierarchy:\n  - {name: a, datadir: \"%{nope}\", data_hash: yaml_data}\n", ":3:5: the variable 'nope', which an interpolation uses, is unknown"},
		{"no location", "version: 5\nhierarchy:\n  - {name: a, data_hash: yaml_data}\n", ":3:5: the level 'a' uses yaml_data and so needs one of path"},
		{"unknown function", "version: 5\nhierarchy:\n  - {name: a, data_hash: m::nope}\n", ":3:5: the data_hash function 'm::nope' of the level 'a' is not found"},
		{"syntax", "version: 5\nhierarchy: [\n", "hiera.yaml:2:12: "},
		{"not UTF-8", "version: 5\nx: \"\xff\"\n", "hiera.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": c.text, env + "data/common.yaml": "a: 1"}})
			_, err := w.lookup("a")
			w.wantError(t, err, c.want)
		})
	}
}

// TestDataErrors checks that errors of data contain the file.
func TestDataErrors(t *testing.T) {
	for _, c := range []struct{ name, text, key, want string }{
		{"syntax", "a: 1\nb: [", "a", "/t/env/production/data/common.yaml:2:4: "},
		{"not a hash", "- a", "a", "/t/env/production/data/common.yaml:1: a data file must be a hash"},
		{"date", "a: 1\nb: 2026-01-02\n", "a", "common.yaml:2:4: 2026-01-02 is a date"},
		{"keys", "a: {~: 1}", "a", "common.yaml: the value of 'a' is not data"},
		{"unknown variable", "a: 'x %{nope}'", "a", "common.yaml: the value of 'a': the variable 'nope'"},
		{"unknown method", "a: \"%{lokup('x')}\"", "a", "uses the method 'lokup', which does not exist"},
		{"alias", "a: \"x%{alias('b')}\"\nb: 1", "a", "must be the whole string"},
		{"recursion", "a: \"%{lookup('b')}\"\nb: \"%{lookup('a')}\"", "a", "the lookup of 'a' leads back to itself: 'a', 'b', 'a'"},
		{"nothing", "a: 1", "b", "Function lookup() did not find a value for the name 'b'"},
		{"bad key", "a: 1", "a..b", "'a..b' is not a key"},
		{"deep key", "a: text", "a.b", "the key 'a.b' continues with 'b', but the data has a value of type String"},
		{"strategy", "lookup_options: {a: {merge: depe}}\na: 1", "a", "unknown merge strategy 'depe'"},
		{"options", "lookup_options: [1]\na: 1", "a", "lookup_options must be a hash, not Array"},
		{"pattern", "lookup_options: {'^a(': {merge: deep}}\na: 1", "a", "the key '^a(' of lookup_options is not a regular expression"},
		{"convert_to", "lookup_options: {a: {convert_to: Integer}}\na: x", "a", "lookup_options for 'a': convert_to: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": c.text}})
			_, err := w.lookup(c.key)
			w.wantError(t, err, c.want)
			var e *hiera.Error
			if !errors.As(err, &e) || e.Kind == "" {
				t.Errorf("%T is not an *Error with a kind", err)
			}
			if hiera.IsNotFound(err) != (c.name == "nothing") {
				t.Errorf("IsNotFound = %v", hiera.IsNotFound(err))
			}
		})
	}
}

// TestPositionsOfDataErrors checks that errors of lookup_options, of merged
// values and of results of functions contain the key, the level and the file.
// If there is no other file, it is hiera.yaml.
func TestPositionsOfDataErrors(t *testing.T) {
	const (
		config = "version: 5\ndefaults: {datadir: data, data_hash: yaml_data}\nhierarchy:\n" +
			"  - {name: f, data_hash: \"m::f\", options: {x: 1}}\n  - {name: near, path: near.yaml}\n  - {name: far, path: far.yaml}\n"
		near, far, level = "/t/env/production/data/near.yaml: ", "/t/env/production/data/far.yaml: ", "/t/env/production/hiera.yaml:4:5: "
		good             = "function m::f($o, $c) { {} }"
	)
	for _, c := range []struct{ name, function, near, far, want string }{
		{"strategy", good, "a: 1", "lookup_options: {a: {merge: uniq}}", far + "lookup_options for 'a': unknown merge strategy 'uniq'"},
		{"strategy, near", good, "lookup_options: {a: {merge: uniq}}", "lookup_options: {a: {merge: unique}}", near + "lookup_options for 'a': unknown merge strategy 'uniq'"},
		{"of a pattern", good, "", "lookup_options: {'^a': {merge: uniq}}", far + "lookup_options for '^a': unknown merge strategy"},
		{"option", good, "", "lookup_options: {a: {merge: {strategy: hash, x: 1}}}", far + "lookup_options for 'a': the merge strategy 'hash' takes no options"},
		{"pattern", good, "", "lookup_options: {'^a(': {merge: deep}}", far + "the key '^a(' of lookup_options is not"},
		{"no hash", good, "", "lookup_options: 1", far + "lookup_options must be a hash"},
		{"hash, far", good, "a: {x: 1}", "lookup_options: {a: {merge: hash}}\na: 1", far + "the value of 'a' in the level 'far': the merge strategy hash needs hashes"},
		{"hash, near", good, "a: 1", "lookup_options: {a: {merge: hash}}\na: {x: 1}", near + "the value of 'a' in the level 'near': the merge strategy hash needs hashes"},
		{"hash, function", "function m::f($o, $c) { {a => 1} }", "a: {x: 1}", "lookup_options: {a: {merge: hash}}", level + "the value of 'a' in the level 'f': the merge strategy hash needs hashes"},
		{"unique", good, "a: [1]", "lookup_options: {a: {merge: unique}}\na: {x: 1}", far + "the value of 'a' in the level 'far': the merge strategy unique needs"},
		{"convert_to", good, "a: x", "lookup_options: {a: {convert_to: Integer}}", far + "lookup_options for 'a': convert_to: the string"},
		{"no type", good, "a: x", "lookup_options: {'^a': {convert_to: Nope}}", far + "lookup_options for '^a': the value of 'a': convert_to 'Nope' is not a type: "},
		{"arity", "function m::f($o) { {} }", "", "", level + "the data_hash function 'm::f' of the level 'f' cannot be called: "},
		{"type", "function m::f(Integer $o, $c) { {} }", "", "", level + "the data_hash function 'm::f' of the level 'f' cannot be called: "},
		{"returns", "function m::f($o, $c) { 1 }", "", "", level + "the data_hash function 'm::f' must return a hash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, worldOptions{files: map[string]string{
				env + "hiera.yaml": config, module + "functions/f.pp": c.function, env + "data/near.yaml": c.near + "\n", env + "data/far.yaml": c.far + "\n",
			}})
			_, err := w.lookup("a")
			w.wantError(t, err, c.want)
			if err != nil && (strings.Contains(err.Error(), ": 1:1") || strings.HasPrefix(err.Error(), "1:1")) {
				t.Errorf("has a place in no file: %v", err)
			}
			// As in Puppet, it is an error of the call in a program.
			_, err = w.eval(t, "\n\nlookup('a')")
			if e, ok := errors.AsType[*eval.Error](err); !ok || !strings.HasSuffix(e.Pos.File, "o.pp") || e.Pos.Line != 3 {
				t.Errorf("in a program: %#v", err)
			}
		})
	}
}

// TestUnknownLookupOptionsWarn checks that unsupported entries of
// lookup_options cause one warning.
func TestUnknownLookupOptionsWarn(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{
		env + "hiera.yaml":          "version: 5\n",
		env + "data/common.yaml":    "a: 1\nlookup_options: {a: {mrge: hash, merge: first}, b: deep, c: ~, '^d': {convert_to: String}}\n",
		module + "hiera.yaml":       "version: 5\n",
		module + "data/common.yaml": "m::a: 1\nlookup_options: {'m::a': {convert: String}}\n",
	}})
	for _, key := range []string{"a", "m::a", "a", "m::b"} {
		_, _ = w.lookup(key)
	}
	want := []string{
		"/t/env/production/data/common.yaml: lookup_options for 'a': 'mrge' has no effect; there are merge and convert_to",
		"/t/env/production/data/common.yaml: lookup_options for 'b': the entry has no effect: it must be a hash with merge or convert_to, not String",
		"/t/env/production/modules/m/data/common.yaml: lookup_options for 'm::a': 'convert' has no effect; there are merge and convert_to",
	}
	if !slices.Equal(w.warnings, want) {
		t.Errorf("are %q", w.warnings)
	}
}

// TestMaliciousDataEnds checks that malicious data ends with an error.
func TestMaliciousDataEnds(t *testing.T) {
	var doubling, chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, "k%d: \"%%{lookup('k%d')}%%{lookup('k%d')}\"\n", i, i+1, i+1)
	}
	for i := range 500 {
		fmt.Fprintf(&chain, "k%d: \"%%{lookup('k%d')}\"\n", i, i+1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"doubling", doubling.String(), "the interpolations of one lookup are more than"},
		{"chain", chain.String(), "lead to each other more than 200 deep"},
		{"deep", "k0: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "nested deeper than"},
		{"aliases", "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1]\n" + aliases(12) + "k0: 1\n", "the aliases make more data than is allowed"},
	} {
		w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": c.text}})
		_, err := w.lookup("k0")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
	w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": "a: 1"}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.s.Lookup(ctx, hiera.AtSite(w.in.Site(ctx, nil)), hiera.Request{Names: []string{"a"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func aliases(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s*x%d]\n", i, i, strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 7), i-1)
	}
	return b.String()
}

// TestUncallableFunctionErrors checks that the error of a function that cannot
// be called contains the reason and the position of the level.
func TestUncallableFunctionErrors(t *testing.T) {
	for _, c := range []struct{ file, function, want string }{
		{module + "lib/puppet/functions/m/data.rb", "m::data", "the lookup_key function 'm::data' of the level 'secrets' cannot be called: the function m::data of module m is written in Ruby (/t/env/production/modules/m/lib/puppet/functions/m/data.rb)"},
		{module + "lib/puppet/functions/hiera_http.rb", "hiera_http", "cannot be called: the function hiera_http of module m is written in Ruby"},
		{module + "functions/bad.pp", "m::bad", "cannot be called: /t/env/production/modules/m/functions/bad.pp:1:1: the file must define the function m::bad"},
		{module + "functions/good.pp", "m::data", "the lookup_key function 'm::data' of the level 'secrets' is not found"},
	} {
		w := newWorld(t, worldOptions{files: map[string]string{
			env + "hiera.yaml": "version: 5\nhierarchy:\n  - name: secrets\n    lookup_key: " + c.function + "\n",
			c.file:             "",
		}})
		for _, expr := range []string{"", "lookup('a')"} { // from outside of a program, and inside
			var err error
			if expr == "" {
				_, err = w.lookup("a")
			} else {
				_, err = w.eval(t, expr)
			}
			w.wantError(t, err, "/t/env/production/hiera.yaml:3:5: ")
			w.wantError(t, err, c.want)
		}
	}
}

func TestPlanHierarchy(t *testing.T) {
	files := map[string]string{
		"p/hiera.yaml":       defaults + "hierarchy: [{name: a, path: '%{facts.os.name}.yaml'}]\nplan_hierarchy: [{name: p, path: plan.yaml}, {name: v, path: '%{sure}.yaml'}]\n",
		"p/data/Debian.yaml": "a: apply\n",
		"p/data/plan.yaml":   "a: plan\nf: '%{nofacts.x}'\n",
	}
	plan := newWorld(t, worldOptions{files: files, global: "p/hiera.yaml", plan: true, vars: json.RawMessage(`{"sure": "x"}`)})
	if v, err := plan.lookup("a"); err != nil || v != value.String("plan") {
		t.Errorf("in a plan: %v, %v", v, err)
	}
	_, err := plan.lookup("f")
	plan.wantError(t, err, "can be interpolated in an apply block only")
	apply := newWorld(t, worldOptions{files: files, global: "p/hiera.yaml"})
	if v, err := apply.lookup("a"); err != nil || v != value.String("apply") {
		t.Errorf("in a catalog: %v, %v", v, err)
	}
	files["p/hiera.yaml"] = defaults + "hierarchy: [{name: a, path: '%{nofacts.os.name}plan.yaml'}]\n"
	without := newWorld(t, worldOptions{files: files, global: "p/hiera.yaml", plan: true})
	if v, err := without.lookup("a"); err != nil || v != value.String("plan") || len(without.warnings) != 1 {
		t.Errorf("without plan_hierarchy: %v, %v, warnings %q", v, err, without.warnings)
	}
}

func TestStrict(t *testing.T) {
	files := map[string]string{env + "hiera.yaml": defaults + "hierarchy: [{name: a, path: '%{nope}a.yaml'}]\n", env + "data/a.yaml": "a: 'x%{nada}y'\n"}
	for _, c := range []struct {
		strict   eval.Strict
		want     string // in the error, "" for none
		warnings int
	}{
		{eval.StrictError, "'nada'", 1},
		{eval.StrictWarning, "", 2},
		{eval.StrictOff, "", 0},
	} {
		w := newWorld(t, worldOptions{files: files, strict: c.strict})
		for range 2 {
			v, err := w.lookup("a")
			if c.want != "" {
				w.wantError(t, err, c.want)
			} else if err != nil || v != value.String("xy") {
				t.Errorf("strict %d: %v, %v", c.strict, v, err)
			}
		}
		if len(w.warnings) != c.warnings {
			t.Errorf("strict %d: warnings %q, want %d", c.strict, w.warnings, c.warnings)
		}
	}
}

func TestForeignKeys(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{module + "hiera.yaml": "version: 5\n", module + "data/common.yaml": "m::a: 1\nother: 2\nlookup_options: {}\n"}})
	for range 3 {
		if v, err := w.lookup("m::a"); err != nil || v != value.Int(1) {
			t.Fatal(v, err)
		}
	}
	want := "module 'm': the key 'other' in /t/env/production/modules/m/data/common.yaml is never found, because it does not begin with 'm::'"
	if len(w.warnings) != 1 || w.warnings[0] != want {
		t.Errorf("warnings %q, want %q", w.warnings, want)
	}
}

// block is a string that is encrypted for the keys of pem.
func block(t *testing.T, i int) string {
	t.Helper()
	var list []struct{ Block string }
	if err := json.Unmarshal([]byte(pem(t, "blocks.json")), &list); err != nil {
		t.Fatal(err)
	}
	return "ENC[PKCS7," + list[i].Block + "]"
}

func pem(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../secret/eyaml/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEyaml(t *testing.T) {
	block := func(i int) string { return block(t, i) }
	files := map[string]string{
		env + "hiera.yaml": `version: 5
hierarchy:
  - name: secrets
    lookup_key: eyaml_lookup_key
    paths: [a.eyaml, none.eyaml, b.eyaml]
    options:
      pkcs7_private_key: keys/private.pem
      pkcs7_public_key: keys/public.pem
`,
		env + "data/a.eyaml": "plain: text %{facts.kernel}\nsecret: " + block(0) + "\nfolded: >\n  " + block(0)[:60] + "\n  " + block(0)[60:] + "\n" +
			"deep: {list: ['" + block(0) + "', 1], '%{facts.kernel}': 'user=" + block(0) + "'}\nwrong: ENC[GPG,aaaa]\nlookup_options: {secret: {convert_to: Sensitive}}\n",
		env + "data/b.eyaml": "low: " + block(3) + "\n",
		"keys/private.pem":   pem(t, "private_key.pkcs7.pem"),
		"keys/public.pem":    pem(t, "public_key.pkcs7.pem"),
	}
	w := newWorld(t, worldOptions{files: files})
	for key, want := range map[string]string{
		"plain": `"text Linux"`, "folded": `"secret"`, "low": `"üñí\nx"`, "deep": `{"list":["secret",1],"Linux":"user=secret"}`, "deep.list.0": `"secret"`,
		"secret": `{"__ptype":"Sensitive","__pvalue":"secret"}`,
	} {
		v, err := w.lookup(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		} else if got := w.rich(t, v); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	_, err := w.lookup("wrong")
	w.wantError(t, err, "/t/env/production/data/a.eyaml: the value of 'wrong' cannot be decrypted: the encryption scheme GPG")
	delete(files, "keys/private.pem")
	w = newWorld(t, worldOptions{files: files})
	_, err = w.lookup("secret")
	w.wantError(t, err, "the value of 'secret' cannot be decrypted: private key: ")
	if v, err := w.lookup("plain"); err != nil || v != value.String("text Linux") {
		t.Errorf("plain text without keys: %v, %v", v, err)
	}
}

// TestDataFunctions checks that data functions in the language can call those
// that read files.
func TestDataFunctions(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{
		env + "hiera.yaml": `version: 5
hierarchy:
  - {name: y, data_hash: "m::hash", path: a.yaml, datadir: data}
  - {name: j, data_hash: "m::json", path: a.json, datadir: data}
  - {name: h, data_hash: "m::hocon", path: a.conf, datadir: data}
  - {name: l, lookup_key: "m::upper", path: b.yaml, datadir: data}
  - {name: e, lookup_key: "m::secret", path: c.eyaml, datadir: data, options: {pkcs7_private_key: keys/private.pem, pkcs7_public_key: keys/public.pem}}
  - {name: last, data_hash: yaml_data, path: last.yaml, datadir: data}
`,
		module + "functions/hash.pp":   "function m::hash(Hash $o, Puppet::LookupContext $c) { yaml_data($o, $c) + { 'more' => $o['path'] } }",
		module + "functions/json.pp":   "function m::json($o, $c) { json_data($o, $c) }",
		module + "functions/hocon.pp":  "function m::hocon($o, $c) { hocon_data({ 'path' => $o['path'] }, $c) }",
		module + "functions/upper.pp":  "function m::upper($k, $o, $c) { $v = yaml_data($o, $c)[\"own_${k}\"] if $v =~ Undef { $c.not_found } \"${k} is ${v}\" }",
		module + "functions/secret.pp": "function m::secret($k, $o, $c) { [eyaml_lookup_key($k, $o, $c)] }",
		env + "data/a.yaml":            "y: in %{facts.kernel}\n",
		env + "data/a.json":            `{"j": [1]}`,
		env + "data/a.conf":            "h { x = 1 }",
		env + "data/b.yaml":            "own_l: raw %{facts.kernel}\n",
		env + "data/c.eyaml":           "e: '%{facts.kernel} " + block(t, 0) + "'\n",
		env + "data/last.yaml":         "last: 1\n",
		"keys/private.pem":             pem(t, "private_key.pkcs7.pem"),
		"keys/public.pem":              pem(t, "public_key.pkcs7.pem"),
	}})
	for key, want := range map[string]string{
		"y": `"in Linux"`, "more": `"/t/env/production/data/a.yaml"`, "j": "[1]", "h": `{"x":1}`, "l": `"l is raw %{facts.kernel}"`, "e": `["Linux secret"]`, "last": "1",
	} {
		v, err := w.lookup(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		} else if got := w.rich(t, v); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func TestDataFunctionErrors(t *testing.T) {
	for _, c := range []struct{ level, call, want string }{
		{"data_hash: m::f", "yaml_data($o, $c)", "yaml_data needs the option path: its level in hiera.yaml must have one of path"},
		{"data_hash: m::f, path: a.yaml, options: {x: 1}", "yaml_data($o, $c)", "yaml_data takes no options but the path"},
		{"data_hash: m::f, path: list.yaml", "yaml_data($o, $c)", "a data file must be a hash"},
		{"data_hash: m::f, path: none.json", "json_data({ 'path' => '/none.json' }, $c)", ""},
		{"data_hash: m::f, path: a.yaml", "json_data({ 'path' => '/none.json' }, $c)", "/none.json: "},
		{"data_hash: m::f, path: a.yaml", "yaml_data($o, 1)", "yaml_data"},
		{"data_hash: m::f", "eyaml_lookup_key('k', $o, $c)", "eyaml_lookup_key needs the option path"},
		{"data_hash: m::f, path: e.eyaml", "{ 'k' => eyaml_lookup_key('wrong', $o, $c) }", "e.eyaml: the value of 'wrong' cannot be decrypted"},
	} {
		w := newWorld(t, worldOptions{files: map[string]string{
			env + "hiera.yaml":        "version: 5\ndefaults: {datadir: data}\nhierarchy: [{name: l, " + c.level + "}]\n",
			module + "functions/f.pp": "function m::f($o, $c) { " + c.call + " }",
			env + "data/a.yaml":       "k: 1\n",
			env + "data/list.yaml":    "- k\n",
			env + "data/e.eyaml":      "wrong: ENC[GPG,aaaa]\n",
		}})
		v, err := w.lookup("k")
		if c.want == "" { // the level's file is not there, so nobody asks the function
			c.want = "did not find a value"
		}
		if err == nil {
			t.Errorf("%s: %v", c.call, v)
		}
		w.wantError(t, err, c.want)
	}
}

// TestReadErrorIsNotCached checks that the error of reading a file is not
// cached, even if the stamp of the file does not change.
func TestReadErrorIsNotCached(t *testing.T) {
	broken := true
	w := newWorld(t, worldOptions{
		files:   map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": "a: 1"},
		options: func(o *hiera.Options) { o.Files = failing{o.Files, &broken} },
	})
	if v, err := w.lookup("a"); err == nil {
		t.Errorf("is %v, want an error", v)
	}
	broken = false
	w.s = w.h.Session(hiera.SessionOptions{})
	if v, err := w.lookup("a"); err != nil || v != value.Int(1) {
		t.Errorf("when it is mended: %v, %v", v, err)
	}
}

// failing are Files that cannot be read while broken is set.
type failing struct {
	hiera.Files
	broken *bool
}

func (f failing) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if *f.broken {
		return nil, os.ErrPermission
	}
	return f.Files.ReadFile(ctx, path)
}

// TestPositionsOfErrorsInPrograms checks that, in a program, an error at a line
// of a file has that position and its kind. An error of the lookup, or of the
// whole hiera.yaml, has the position of the call.
func TestPositionsOfErrorsInPrograms(t *testing.T) {
	for _, c := range []struct {
		config, data, kind, file string
		line                     int
	}{
		{"hierarchy: []\n", "", "lookup-config-shape", "o.pp", 3},
		{"version: 5\n\nfoo: 1\n", "", "lookup-config-shape", "o.pp", 3},
		{"version: 5\nhierarchy:\n- {path: a}\n", "", "lookup-config-shape", "o.pp", 3},
		{"version: 5\nhierarchy:\n- {name: a, path: a}\n- {name: a, path: b}\n", "", "lookup-config", "hiera.yaml", 4},
		{"version: 5\ndefault_hierarchy: []\n", "", "lookup-config", "hiera.yaml", 2},
		{"version: 5\nhierarchy: [\n", "", "lookup-config", "hiera.yaml", 2},
		{"version: 5\n", "a: [", "lookup-data", "data/common.yaml", 1},
		{"version: 5\n", "a: 1\nb: 2026-01-02", "lookup-data", "data/common.yaml", 2},
		{"version: 5\n", "b: 1", "lookup-not-found", "o.pp", 3},
	} {
		w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": c.config, env + "data/common.yaml": c.data}})
		_, err := w.eval(t, "\n\nlookup('a')")
		e, ok := errors.AsType[*eval.Error](err)
		if !ok || e.Kind != c.kind || e.Pos.Line != c.line || !strings.HasSuffix(e.Pos.File, c.file) || len(e.Stack) == 0 {
			t.Errorf("%q, %q: %#v, want %s at %s:%d", c.config, c.data, err, c.kind, c.file, c.line)
		}
	}
}

// TestExplainErrors checks that the explanation of a lookup that fails ends at
// the error.
func TestExplainErrors(t *testing.T) {
	const provider = "Environment Data Provider (hiera configuration version 5)\n"
	for _, c := range []struct{ name, config, data, has, hasNot string }{
		{"strategy", "version: 5\n", "lookup_options: {bad: {merge: depe}}\nbad: 1", "Using merge options from \"lookup_options\" hash\nSearching for \"bad\"\n", "value: 1"},
		{"levels", "version: 5\nhierarchy:\n- {name: a, path: a}\n- {name: a, path: b}\n", "", provider + "    Using configuration \"/t/env/production/hiera.yaml\"\n", ""},
		{"converted", "version: 5\n", "lookup_options: {bad: {convert_to: Integer}}\nbad: text", "Found key: \"bad\" value: \"text\"", "redacted"},
		{"list", "version: 5\n", "lookup_options: {bad: {convert_to: 'Array[Integer]'}}\nbad: {a: text}", "\"a\" => \"text\"", "redacted"},
		{"sensitive", "version: 5\n", "lookup_options: {bad: {convert_to: [Sensitive, 1, 2]}}\nbad: text", "value: Sensitive [value redacted]", "text"},
		{"inside", "version: 5\n", "lookup_options: {bad: {convert_to: 'Array[Sensitive, 7]'}}\nbad: text", "value: Sensitive [value redacted]", "text"},
		{"no type", "version: 5\n", "lookup_options: {bad: {convert_to: 'Sens[['}}\nbad: text", "value: Sensitive [value redacted]", "text"},
		{"unknown type", "version: 5\n", "lookup_options: {bad: {convert_to: 'Mod::Secret'}}\nbad: text", "value: Sensitive [value redacted]", "text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": c.config, env + "data/common.yaml": c.data}})
			ex := w.explain("bad")
			got := strings.ReplaceAll(ex.String(), w.dir, "/t")
			if !strings.Contains(got, c.has) || !strings.HasSuffix(got, "ERROR\n") || c.hasNot != "" && strings.Contains(got, c.hasNot) {
				t.Errorf("is\n%s, want %q in it, and not %q", got, c.has, c.hasNot)
			}
		})
	}
}

// TestExplainTooLong checks that an explanation of data that multiplies ends
// with a note.
func TestExplainTooLong(t *testing.T) {
	var data strings.Builder
	data.WriteString("k0: x\n")
	for i := range 9 {
		fmt.Fprintf(&data, "k%d: \"%s\"\n", i+1, strings.Repeat(fmt.Sprintf("%%{lookup('k%d')}", i), 4))
	}
	w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": data.String()}})
	if got := w.explain("k2").String(); strings.Contains(got, "too long") {
		t.Errorf("what is short is cut:\n%s", got)
	}
	got := w.explain("k9").String()
	if !strings.Contains(got, "The explanation is too long") || len(got) > 64<<20 {
		t.Errorf("has %d bytes, and ends in %q", len(got), got[len(got)-100:])
	}
}

// TestSessionSeesOneState checks that a session sees one state of the data, and
// that the next session sees the next state.
func TestSessionSeesOneState(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": "version: 5\n", env + "data/common.yaml": "a: 1\n"}})
	if v, err := w.lookup("a"); err != nil || v != value.Int(1) {
		t.Fatal(v, err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, env, "data/common.yaml"), []byte("a: 2222\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := w.lookup("a"); err != nil || v != value.Int(1) {
		t.Errorf("in the same session: %v, %v", v, err)
	}
	w.s = w.h.Session(hiera.SessionOptions{})
	if v, err := w.lookup("a"); err != nil || v != value.Int(2222) {
		t.Errorf("in the next session: %v, %v", v, err)
	}
}

// countingFiles counts reads.
type countingFiles struct {
	hiera.Files
	mu    sync.Mutex
	reads map[string]int
}

func (f *countingFiles) ReadFile(ctx context.Context, path string) ([]byte, error) {
	f.mu.Lock()
	f.reads[filepath.Base(path)]++
	f.mu.Unlock()
	return f.Files.ReadFile(ctx, path)
}

// TestConcurrentLookups makes sessions and lookups in all goroutines. Each file
// must be read once.
func TestConcurrentLookups(t *testing.T) {
	files := map[string]string{
		env + "hiera.yaml":                defaults + "hierarchy:\n  - {name: w, path: '%{who}.yaml'}\n  - {name: f, lookup_key: m::key}\n  - {name: c, path: common.yaml}\n",
		env + "data/common.yaml":          "lookup_options: {h: {merge: deep}}\nh: {c: 1}\nx: \"%{lookup('h')} %{who}\"\n",
		module + "functions/key.pp":       "function m::key($k, $o, $c) { if $k == 'fn' { $c.cache('n', 1); [$c.cached_value('n'), lookup('h')] } else { $c.not_found } }",
		env + "data/w0.yaml":              "h: {w: 0}\n",
		env + "data/w1.yaml":              "h: {w: 1}\n",
		env + "data/w2.yaml":              "h: {w: 2}\n",
		module + "hiera.yaml":             "version: 5\n",
		module + "data/common.yaml":       "m::a: 1\n",
		env + "modules/m/metadata.json":   "{}",
		env + "modules/other/README.md":   "",
		env + "modules/other/hiera.yaml":  "version: 5\n",
		env + "modules/other/data/x.yaml": "",
	}
	counting := &countingFiles{reads: map[string]int{}}
	w := newWorld(t, worldOptions{files: files, options: func(o *hiera.Options) {
		counting.Files = o.Files
		o.Files = counting
	}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := w.s
			if i%2 == 0 {
				s = w.h.Session(hiera.SessionOptions{})
			}
			for n := range 30 {
				ctx := context.Background()
				scope := w.in.NewScope(eval.ScopeOptions{Parent: w.in.Top()})
				who := (i + n) % 3
				if err := scope.Set("who", value.String(fmt.Sprintf("w%d", who))); err != nil {
					t.Error(err)
				}
				at := hiera.AtSite(w.in.Site(ctx, scope))
				for key, want := range map[string]string{
					"h":    fmt.Sprintf(`{"c":1,"w":%d}`, who),
					"fn":   `[1,{"c":1}`, // functions do not see the caller's variables
					"m::a": "1",
					"h.w":  fmt.Sprint(who),
				} {
					v, err := s.Lookup(ctx, at, hiera.Request{Names: []string{key}})
					if err != nil {
						t.Error(err)
					} else if got := w.rich(t, v); !strings.HasPrefix(got, want) {
						t.Errorf("%s: %s, want %s", key, got, want)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, f := range []string{"w0.yaml", "w1.yaml", "w2.yaml"} {
		if n := counting.reads[f]; n != 1 {
			t.Errorf("%s was read %d times", f, n)
		}
	}
}

// TestExplain checks the text of explanations. TestLookupsLikePuppet compares
// the tree with Puppet's.
func TestExplain(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{
		env + "hiera.yaml":      defaults + "hierarchy:\n  - {name: Kernel, path: '%{facts.kernel}.yaml'}\n  - {name: All, paths: [none.yaml, all.yaml]}\n",
		env + "data/Linux.yaml": "h: {a: \"%{lookup('x')}\", l: [1]}\nlookup_options: {h: {merge: {strategy: deep, sort_merged_arrays: true}}}\n",
		env + "data/all.yaml":   "h: {l: [0]}\nx: \"quote\\\"d\"\n",
	}})
	const want = `Searching for "lookup_options"
  Global Data Provider (hiera configuration version 5)
    No such key: "lookup_options"
  Environment Data Provider (hiera configuration version 5)
    Using configuration "/t/env/production/hiera.yaml"
    Merge strategy hash
      Hierarchy entry "Kernel"
        Path "/t/env/production/data/Linux.yaml"
          Original path: "%{facts.kernel}.yaml"
          Found key: "lookup_options" value: {
            "h" => {
              "merge" => {
                "strategy" => "deep",
                "sort_merged_arrays" => true
              }
            }
          }
      Hierarchy entry "All"
        Merge strategy hash
          Path "/t/env/production/data/none.yaml"
            Original path: "none.yaml"
            Path not found
          Path "/t/env/production/data/all.yaml"
            Original path: "all.yaml"
            No such key: "lookup_options"
      Merged result: {
        "h" => {
          "merge" => {
            "strategy" => "deep",
            "sort_merged_arrays" => true
          }
        }
      }
Using merge options from "lookup_options" hash
Searching for "h.a"
  Merge strategy deep
    Options: {
      "sort_merged_arrays" => true
    }
    Global Data Provider (hiera configuration version 5)
      No such key: "h.a"
    Environment Data Provider (hiera configuration version 5)
      Using configuration "/t/env/production/hiera.yaml"
      Merge strategy deep
        Options: {
          "sort_merged_arrays" => true
        }
        Hierarchy entry "Kernel"
          Path "/t/env/production/data/Linux.yaml"
            Original path: "%{facts.kernel}.yaml"
            Interpolation on "%{lookup('x')}"
              Searching for "x"
                Global Data Provider (hiera configuration version 5)
                  No such key: "x"
                Environment Data Provider (hiera configuration version 5)
                  Using configuration "/t/env/production/hiera.yaml"
                  Hierarchy entry "Kernel"
                    Path "/t/env/production/data/Linux.yaml"
                      Original path: "%{facts.kernel}.yaml"
                      No such key: "x"
                  Hierarchy entry "All"
                    Path "/t/env/production/data/none.yaml"
                      Original path: "none.yaml"
                      Path not found
                    Path "/t/env/production/data/all.yaml"
                      Original path: "all.yaml"
                      Found key: "x" value: "quote\"d"
            Found key: "h" value: {
              "a" => "quote\"d",
              "l" => [
                1
              ]
            }
        Hierarchy entry "All"
          Merge strategy deep
            Options: {
              "sort_merged_arrays" => true
            }
            Path "/t/env/production/data/none.yaml"
              Original path: "none.yaml"
              Path not found
            Path "/t/env/production/data/all.yaml"
              Original path: "all.yaml"
              Found key: "h" value: {
                "l" => [
                  0
                ]
              }
            Merged result: {
              "l" => [
                0
              ]
            }
        Merged result: {
          "l" => [
            0,
            1
          ],
          "a" => "quote\"d"
        }
    Merged result: {
      "l" => [
        0,
        1
      ],
      "a" => "quote\"d"
    }
  Sub key: "a"
    Found key: "a" value: "quote\"d"
`
	if got := strings.ReplaceAll(w.explain("h.a").String(), w.dir, "/t"); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// TestExplainSensitive checks that an explanation does not contain values that
// become sensitive, also if other values are made from them.
func TestExplainSensitive(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{
		env + "hiera.yaml": defaults + "hierarchy: [{name: a, paths: [a.yaml, b.yaml]}]\n",
		env + "data/a.yaml": "lookup_options: {'^s': {convert_to: Sensitive}, sh: {convert_to: Sensitive, merge: hash}, sbad: {convert_to: [Sensitive, 1, 2]}, sopt: {convert_to: 5}}\n" +
			"sh: {k: hunter2}\nsi: \"x%{lookup('spart')}hunter2\"\nspart: hunter2\nuses: \"%{lookup('sh')}\"\nsbad: hunter2\nplain: seen\n" +
			"sopt: hunter2\nsmiss: {k: hunter2}\nsdig: {k: hunter2}\n",
		env + "data/b.yaml": "sh: {l: hunter2}\n",
	}})
	if text := w.explain("plain").String(); !strings.Contains(text, "seen") || !strings.Contains(text, `"convert_to" => "Sensitive"`) {
		t.Errorf("plain:\n%s", text)
	}
	for _, key := range []string{"sh", "si", "uses", "sbad", "sopt", "smiss.typo", "sdig.k.x"} {
		ex := w.explain(key)
		tree := value.Inspect(ex.Root().Data())
		if text := ex.String(); strings.Contains(text+tree, "hunter2") || !strings.Contains(text, "a.yaml") {
			t.Errorf("%s:\n%s\n%s", key, text, tree)
		}
	}
}

func TestParameter(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{module + "hiera.yaml": "version: 5\n", module + "data/common.yaml": "m::a: ~\n"}})
	ctx := context.Background()
	at := hiera.AtSite(w.in.Site(ctx, nil))
	if v, found, err := w.s.Parameter(ctx, at, "m::a"); err != nil || !found || v != (value.Undef{}) {
		t.Errorf("m::a: %v, %v, %v", v, found, err)
	}
	if _, found, err := w.s.Parameter(ctx, at, "m::b"); err != nil || found {
		t.Errorf("m::b: %v, %v", found, err)
	}
}
