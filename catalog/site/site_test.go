package site_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/format/fault"
	"bolt/modules"
	"bolt/puppet/value"
)

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var options = environment.Options{Getenv: os.LookupEnv, Now: time.Now}

func compiled(t *testing.T, dir, env string, n site.Node) *catalog.Catalog {
	t.Helper()
	s, err := site.Open(t.Context(), dir, env, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n.Facts == nil {
		n.Facts = value.NewHash()
	}
	made, err := s.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return made.Catalog
}

func message(t *testing.T, c *catalog.Catalog, title string) any {
	t.Helper()
	r := c.Find(catalog.Ref{Type: "Notify", Title: title})
	if r == nil {
		t.Fatalf("there is no Notify[%s] in %v", title, c.Resources())
	}
	return r.Params.Value("message")
}

// TestEnvironment compiles with manifests, modules, data and facts of an environment
// together.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"prod/manifests/b.pp":              "notify { 'top': message => \"${environment} ${trusted['certname']} ${trusted['domain']} ${os['name']} ${facts['x']} ${settings::environment} ${$server_facts['serverversion'] == $serverversion}\" }",
		"prod/manifests/sub/a.pp":          "node 'n1.example.com' { include m } class late { notify { 'late': } }",
		"prod/manifests/a.pp":              "include late",
		"prod/manifests/README":            "no manifest",
		"prod/modules/m/manifests/init.pp": "class m($p) { notify { 'm': message => $p } }",
		"prod/hiera.yaml":                  "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n",
		"prod/data/c.yaml":                 "m::p: from data\n",
		"test/manifests/site.pp":           "notify { 'other': }",
	})
	facts, err := value.FromJSON([]byte(`{"os":{"name":"Debian"},"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	c := compiled(t, dir, "prod", site.Node{Name: "n1.example.com", Facts: facts.(*value.Hash)})
	if got := message(t, c, "top"); got != "prod n1.example.com example.com Debian 1 prod true" {
		t.Errorf("the top says %q", got)
	}
	if got := message(t, c, "m"); got != "from data" || c.Environment != "prod" || c.Name != "n1.example.com" {
		t.Errorf("the class says %q in %s of %s", got, c.Environment, c.Name)
	}
	message(t, c, "late")
	if r := c.Find(catalog.Ref{Type: "Notify", Title: "late"}); r.File != filepath.Join(dir, "prod/manifests/sub/a.pp") || r.Line != 1 {
		t.Errorf("Notify[late] is at %s:%d", r.File, r.Line)
	}
	message(t, compiled(t, dir, "test", site.Node{Name: "x"}), "other")
}

// TestSettings checks the variables of Puppet's settings.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"e/manifests/a.pp": "notify { 'a': message => \"${settings::confdir} ${settings::ssldir} ${settings::codedir} ${settings::environmentpath}\" }"})
	want := "/etc/puppetlabs/puppet /etc/puppetlabs/puppet/ssl /etc/puppetlabs/code /etc/puppetlabs/code/environments"
	if got := message(t, compiled(t, dir, "e", site.Node{Name: "n"}), "a"); got != want {
		t.Errorf("the settings are %q, want %q", got, want)
	}
}

// TestPublished checks that a function of a public module declares resources.
func TestPublished(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/manifests/a.pp": "inifile::create_ini_settings({ 'main' => { 'color' => 'never', 'size' => { 'value' => 2, 'ensure' => 'absent' } } }, { 'path' => '/etc/tool.ini' })",
		"e/modules/inifile/lib/puppet/functions/inifile/create_ini_settings.rb": "",
		"e/modules/inifile/metadata.json":                                       `{"name":"puppetlabs-inifile"}`,
	})
	c := compiled(t, dir, "e", site.Node{Name: "n"})
	for title, want := range map[string]string{
		"/etc/tool.ini [main] color": "present main color never /etc/tool.ini",
		"/etc/tool.ini [main] size":  "absent main size 2 /etc/tool.ini",
	} {
		r := c.Find(catalog.Ref{Type: "Ini_setting", Title: title})
		if r == nil {
			t.Fatalf("there is no Ini_setting[%s] in %v", title, c.Resources())
		}
		p := r.Params
		if got := fmt.Sprint(p.Value("ensure"), " ", p.Value("section"), " ", p.Value("setting"), " ", p.Value("value"), " ", p.Value("path")); got != want {
			t.Errorf("%s is %q, want %q", title, got, want)
		}
	}
}

// TestLinkedManifests checks that the directory of the manifests can be a link.
func TestLinkedManifests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"elsewhere/a.pp": "notify { 'a': message => $clientcert }", "e/hiera.yaml": "version: 5\n"})
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "e/manifests")); err != nil {
		t.Fatal(err)
	}
	if got := message(t, compiled(t, dir, "e", site.Node{Name: "n"}), "a"); got != "n" {
		t.Errorf("the node is %v", got)
	}
}

// TestEnvironmentConf checks that environment.conf sets the paths of manifests and
// modules.
func TestEnvironmentConf(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"code/environments/e/environment.conf":            "# a comment\nmodulepath = site:$basemodulepath\nmanifest = main.pp\nconfig_version = x\n",
		"code/environments/e/main.pp":                     "include a, b",
		"code/environments/e/manifests/unused.pp":         "fail('no')",
		"code/environments/e/site/a/manifests/init.pp":    "class a { notify { 'a': } }",
		"code/modules/b/manifests/init.pp":                "class b { notify { 'b': } }",
		"code/environments/e/modules/a/manifests/init.pp": "class a { fail('no') }",
		"code/environments/bad/environment.conf":          "modulepath\n",
		"code/environments/syntax/manifests/site.pp":      "class {",
		"code/environments/empty/hiera.yaml":              "version: 5\n",
	})
	path := filepath.Join(dir, "code/environments")
	c := compiled(t, path, "e", site.Node{Name: "x"})
	message(t, c, "a")
	message(t, c, "b")
	if c := compiled(t, path, "empty", site.Node{Name: "x"}); len(c.Resources()) != 3 {
		t.Errorf("an environment without manifests has %v", c.Resources())
	}
	for env, want := range map[string]string{"bad": "line 1", "syntax": "site.pp:1", "none": "The environment 'none' does not exist", "../code": "The environment '../code' does not exist"} {
		if _, err := site.Open(t.Context(), path, env, options, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", env, err, want)
		}
	}
}

// TestConcurrent checks that nodes are compiled at the same time and share no state.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/manifests/site.pp":           "include m\nnotify { $trusted['certname']: }",
		"e/modules/m/manifests/init.pp": "class m { Integer[1, 50].each |$i| { notify { \"${trusted['certname']}-$i\": } } }",
	})
	s, err := site.Open(t.Context(), dir, "e", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			for range 20 {
				made, err := s.Compile(t.Context(), site.Node{Name: name, Facts: value.NewHash()})
				if err != nil {
					t.Error(err)
					return
				}
				c := made.Catalog
				var others []string
				for _, r := range c.Resources() {
					if r.Type == "Notify" && r.Title[:1] != name {
						others = append(others, r.Title)
					}
				}
				if len(c.Resources()) != 55 || others != nil {
					t.Errorf("%s has %d resources, and of others %q", name, len(c.Resources()), others)
				}
			}
		})
	}
	all.Wait()
}

// TestFacts reads facts alone, and in the form that programs of Puppet write. $trusted
// can be one of them.
func TestFacts(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":2}`:                 "a b",
		`{"name":"n","values":{"a":1}}`: "a",
		`{"name":"n","values":"x"}`:     "name values",
		`{"values":{"a":1}}`:            "values",
	} {
		file := filepath.Join(t.TempDir(), "facts.json")
		write(t, filepath.Dir(file), map[string]string{"facts.json": text})
		n, err := site.ReadNode(t.Context(), "n", file, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for k := range n.Facts.All() {
			names = append(names, value.ToString(k))
		}
		if got := strings.Join(slices.Sorted(slices.Values(names)), " "); got != want {
			t.Errorf("%s has the facts %q, want %q", text, got, want)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"e/manifests/site.pp": "notify { 'x': message => \"${trusted['extensions']['role']} ${facts['trusted']}\" }"})
	v, err := value.FromJSON([]byte(`{"trusted":{"certname":"n","extensions":{"role":"web"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := message(t, compiled(t, dir, "e", site.Node{Name: "n", Facts: v.(*value.Hash)}), "x"); got != "web " {
		t.Errorf("the trusted fact gives %q", got)
	}
}

// TestCompileAll checks that all nodes come in their order, and that an error only
// affects one node.
func TestCompileAll(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"e/manifests/site.pp": "notice('said')\nif $trusted['certname'] == 'n3' { fail('no') }"})
	s, err := site.Open(t.Context(), dir, "e", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []site.Node
	for i := range 30 {
		nodes = append(nodes, site.Node{Name: fmt.Sprintf("n%d", i), Facts: value.NewHash()})
	}
	i := 0
	for c := range site.CompileAll(t.Context(), s, nodes, 0) {
		if c.Node != nodes[i].Name || (c.Err != nil) != (i == 3) || (c.Catalog == nil) != (i == 3) || len(c.Logs) != 1 {
			t.Errorf("%d: %+v", i, c)
		}
		i++
	}
	if i != len(nodes) {
		t.Errorf("%d nodes", i)
	}
	for range site.CompileAll(t.Context(), s, nodes, 0) { // the other nodes are not compiled
		break
	}
	// The time limit ends code that runs.
	write(t, dir, map[string]string{"e/manifests/site.pp": "Integer[1, 1000000000].each |$i| { }"})
	if s, err = site.Open(t.Context(), dir, "e", options, nil); err != nil {
		t.Fatal(err)
	}
	for c := range site.CompileAll(t.Context(), s, nodes[:1], 50*time.Millisecond) {
		if c.Err == nil || !strings.Contains(c.Err.Error(), "not finished within 50ms") {
			t.Errorf("%v", c.Err)
		}
	}
}

// slow is a Compiler that needs two seconds for a node, and never ends for n1.
type slow struct{}

func (slow) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	if n.Name == "n1" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	time.Sleep(2 * time.Second)
	return &compile.Result{}, ctx.Err()
}

// TestCompileAllLimit checks that the time limit applies to each node, and not to all of them.
func TestCompileAllLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes []site.Node
		for i := range 30 {
			nodes = append(nodes, site.Node{Name: fmt.Sprintf("n%d", i)})
		}
		for c := range site.CompileAll(t.Context(), slow{}, nodes, 3*time.Second) {
			if late := c.Err != nil; late != (c.Node == "n1") {
				t.Errorf("%s: %v", c.Node, c.Err)
			}
		}
	})
}

// project returns an environment without modules.
var project = environment.Options{Modules: modules.NewPath(modules.Module{}), Getenv: os.LookupEnv, Now: time.Now}

// TestGraph checks that a graph in YAML and the manifest with the same resources make
// the same catalog.
func TestGraph(t *testing.T) {
	const graph = `graph: web
resources:
  package: [{name: web, ensure: '1.2'}]
  file:
  - name: /etc/web
    mode: '0644'
  service: [{name: web, ensure: running, enable: true}]
edges:
- {from: {kind: package, name: web}, to: {kind: file, name: /etc/web}}
- {from: {kind: file, name: /etc/web}, to: {kind: service, name: web}, notify: true}
`
	const manifest = `
package { 'web': ensure => '1.2' }

file { '/etc/web': mode => '0644' }
service { 'web': ensure => running, enable => true }
Package['web'] -> File['/etc/web']
File['/etc/web'] ~> Service['web']
`
	var got []string
	for _, src := range []site.Source{{Name: "web", Text: manifest}, {Name: "web.yaml", Text: graph}} {
		s, err := site.New("production", project, []site.Source{src})
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
		if err != nil {
			t.Fatal(err)
		}
		c := made.Catalog
		if c.Graph != (src.Name == "web.yaml") {
			t.Errorf("%s: Graph is %v", src.Name, c.Graph)
		}
		c.Version, c.UUID, c.Graph = "", "", false
		for _, r := range c.Resources() {
			if r.File != "" && (r.File != src.Name || r.Line == 0) {
				t.Errorf("%s is declared at %s:%d", r.Ref, r.File, r.Line)
			}
			r.File, r.Line = "", 0
		}
		text, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if got[0] != got[1] {
		t.Errorf("the manifest makes\n%s\nthe graph\n%s", got[0], got[1])
	}
}

// TestGraphErrors checks the positions of errors in graphs.
func TestGraphErrors(t *testing.T) {
	const begin = "graph: g\nresources:\n"
	for text, want := range map[string]string{
		begin + "  file: [{name: /x, recv: {content: {kind: exec, name: a, key: output}}}]":                                                 "g.yaml:3: The parameter recv of File[/x] names Exec[a], which the catalog does not have",
		begin + "  value: [{name: v, any: 5}]\n  file: [{name: /x, recv: {content: {kind: value, name: v, key: any}}}]":                     "g.yaml:4: The parameter recv of File[/x] gives content an integer, which must be a string",
		begin + "  http:check: [{name: 'http://h/'}]\n  kv: [{name: k, recv: {value: {kind: 'http:check', name: 'http://h/', key: code}}}]": "names code of Http_check[http://h/], which it does not send; it sends content or status",
		begin + "  srvice: [{name: x}]": "g.yaml:3:12: resource type srvice does not exist; did you mean service?",
		begin + "  file: [{name: /x}]\nedges: [{from: {kind: file, name: /x}, to: {kind: file, name: /y}}]": "g.yaml:4:9: File[/y] is in a relation and not declared",
		begin + "  file: [{name: /x}, {name: /y, path: /x}]":                                                "g.yaml:3:22: File[/y] cannot be File[/x] too, which is declared already, at g.yaml:3",
	} {
		s, err := site.New("production", project, []site.Source{{Name: "g.yaml", Text: text}})
		if err == nil {
			_, err = s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := site.New("production", project, []site.Source{{Name: "g.yml", Text: "graph: 1"}})
	var e *fault.Error
	if !errors.As(err, &e) || e.Details.Value("line") != int64(1) || e.Details.Value("column") != int64(8) {
		t.Errorf("got %v", err)
	}
}

// TestClassified checks classes with parameters, variables and environments of a
// classifier.
func TestClassified(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"prod/manifests/site.pp": "notify { 'top': message => \"${role} ${facts['role']} ${os}\" } class a(Integer $p) { notify { 'a': message => $p } } class b { notify { 'b': } }\nnode 'n' { } node 'again' { class { 'a': p => 1 } }",
		"test/manifests/site.pp": "notify { 'env': message => $environment }",
	})
	facts, err := value.FromJSON([]byte(`{"role":"fact","os":"Debian"}`))
	if err != nil {
		t.Fatal(err)
	}
	one := func(name string, v value.Value) *value.Hash {
		return value.NewHash(value.Entry{Key: value.String(name), Value: v})
	}
	n := site.Node{Name: "n", Facts: facts.(*value.Hash), Classes: []string{"b"}, Variables: one("role", value.String("given")),
		Declared: []compile.Class{{Name: "a", Params: one("p", value.Int(3))}}}
	c := compiled(t, dir, "prod", n)
	if got := message(t, c, "top"); got != "given fact Debian" {
		t.Errorf("the top says %q", got)
	}
	if got := message(t, c, "a"); got != int64(3) {
		t.Errorf("the class has %v", got)
	}
	var order []string
	for _, r := range c.Resources() {
		order = append(order, r.String())
	}
	if got := strings.Join(order[len(order)-4:], " "); got != "Class[A] Class[B] Notify[a] Notify[b]" {
		t.Errorf("the order is %s", got)
	}

	opened := 0
	e := site.NewEnvironments("prod", func(name string) (*site.Site, error) {
		opened++
		return site.Open(t.Context(), dir, name, options, nil)
	})
	for _, tt := range []struct{ name, env, param, want string }{
		{"n", "", "p", ""}, {"n", "test", "p", ""}, {"n", "test", "p", ""}, {"n", "none", "p", "The environment 'none' does not exist"},
		{"n", "", "q", "has no parameter q"}, {"again", "", "p", "Class[A] is declared already"},
	} {
		m := n
		m.Name, m.Environment, m.Declared = tt.name, tt.env, nil
		if tt.env == "" {
			m.Declared = []compile.Class{{Name: "a", Params: one(tt.param, value.Int(3))}}
		} else {
			m.Classes = nil
		}
		c, err := e.Compile(t.Context(), m)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: got %v", tt, err)
			}
		} else if err != nil {
			t.Errorf("%v: got %v", tt, err)
		} else if tt.env == "test" && message(t, c.Catalog, "env") != "test" {
			t.Errorf("the environment is %v", message(t, c.Catalog, "env"))
		}
	}
	if opened != 3 {
		t.Errorf("%d environments were opened", opened)
	}
}
