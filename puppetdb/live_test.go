package puppetdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
	"bolt/internal/buildtest"
	"bolt/internal/puppetdbtest"
)

// live is the PuppetDB that tests share.
var live puppetdbtest.Shared

// liveOptions are those of a client of it.
func liveOptions(t *testing.T) Options {
	t.Helper()
	s := live.Server(t)
	return Options{ServerURLs: []string{s.URL}, CACert: s.CACert, Cert: s.Cert, Key: s.Key}
}

// TestLive: queries, commands and the status of a real PuppetDB.
func TestLive(t *testing.T) {
	c := client(t, liveOptions(t))
	ctx := t.Context()
	for i, name := range []string{"web1", "web2", "db1"} {
		done, err := c.Submit(ctx, Command{Name: "replace_facts", Version: 5, Wait: time.Minute, Payload: ordered.Of(
			"certname", name, "environment", "production", "producer", "test", "producer_timestamp", "2026-11-20T12:00:00.000Z",
			"values", ordered.Of("role", strings.TrimRight(name, "12"), "number", int64(i), "os", ordered.Of("name", "Debian")))})
		if err != nil || !done.Processed || len(done.UUID) != 36 {
			t.Fatalf("facts of %s: %+v, %v", name, done, err)
		}
	}
	for _, tt := range []struct {
		name string
		q    Query
		want string
	}{
		{"PQL", Query{Text: `inventory[certname, facts.os.name] { facts.role = "web" order by certname }`}, `[{"certname":"web1","facts.os.name":"Debian"},{"certname":"web2","facts.os.name":"Debian"}]`},
		{"a tree at the root", Query{Text: []any{"from", "nodes", []any{"extract", []any{"certname"}, []any{"~", "certname", "^w"}}}, OrderBy: []order{{"certname", true}}}, `[{"certname":"web2"},{"certname":"web1"}]`},
		{"a tree of an entity", Query{Entity: "nodes", Text: []any{"extract", []any{"certname"}, []any{"=", []any{"fact", "number"}, int64(2)}}}, `[{"certname":"db1"}]`},
		{"a part", Query{Text: `nodes[certname] { }`, OrderBy: []order{{"certname", false}}, Limit: 1, Offset: 1}, `[{"certname":"web1"}]`},
		{"nothing", Query{Text: `nodes[certname] { certname = "x" }`}, `[]`},
		{"all of an entity", Query{Entity: "environments", OrderBy: []order{{"name", false}}}, `[{"name":"production"}]`},
	} {
		rows, err := c.Rows(ctx, tt.q)
		if err != nil || asJSON(t, rows) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, asJSON(t, rows), err, tt.want)
		}
	}
	var names []any
	err := c.pages(ctx, Query{Text: `facts[certname, name] { name = "role" }`, OrderBy: []order{{"certname", false}}}, 2, func(row any) error {
		names = append(names, row.(*ordered.Map).Value("certname"))
		return nil
	})
	if err != nil || asJSON(t, names) != `["db1","web1","web2"]` {
		t.Errorf("pages: got %s, %v", asJSON(t, names), err)
	}
	many := []string{"web2", "nobody"}
	for i := range 5000 {
		many = append(many, fmt.Sprintf("node%d.example.com", i))
	}
	facts, err := c.facts(ctx, append(many, "db1"))
	role := func(name string) any { m, _ := facts.Value(name).(*ordered.Map); return m.Value("role") }
	if err != nil || strings.Join(facts.Keys(), " ") != "web2 db1" || role("web2") != "web" || role("db1") != "db" {
		t.Errorf("facts: got %s, %v", asJSON(t, facts), err)
	}
	s, err := c.status(ctx)
	if err != nil || s.State != "running" || s.Version == "" || s.Maintenance || !s.Read || !s.Write {
		t.Errorf("status: %+v, %v", s, err)
	}
}

// TestLivePlan: a plan stores facts in a real PuppetDB, finds the node, and
// gives the facts to a target.
func TestLivePlan(t *testing.T) {
	o := liveOptions(t)
	run := project(t, map[string]string{
		"bolt-project.yaml": fmt.Sprintf("name: site\npuppetdb-instances:\n  live: {server_urls: [%q], cacert: %q, cert: %q, key: %q}\n", o.ServerURLs[0], o.CACert, o.Cert, o.Key),
		"inventory.yaml":    "targets: [{name: one, uri: 'local://plan.example.com'}]\n",
		"plans/init.pp": `plan site(TargetSpec $targets) {
  $host = get_target($targets).host
  $uuid = puppetdb_command('replace_facts', 5, {'certname' => $host, 'environment' => 'production', 'producer' => 'plan',
    'producer_timestamp' => '2026-11-20T12:00:00.000Z', 'values' => {'load' => 1.5, 'big' => 9007199254740993, 'tree' => {'a' => [true, undef]}}}, 'live')
  ctrl::do_until('limit' => 600, 'interval' => 0.1) || {
    puppetdb_query("nodes[certname] { certname = '${host}' }", 'live') == [{'certname' => $host}]
  }
  add_facts(get_target($targets), puppetdb_fact([$host, 'nobody'], 'live')[$host])
  $wrong = catch_errors() || { puppetdb_query('nodes { bogus }', 'live') }
  return({'uuid' => $uuid =~ /^[0-9a-f-]{36}$/, 'facts' => get_target($targets).facts.map |$k, $v| { "${k}=${v}" }.sort, 'wrong' => $wrong.kind,
    'tree' => puppetdb_query(['from', 'fact_contents', ['extract', ['path', 'value'], ['and', ['=', 'certname', $host], ['=', 'name', 'load']]]], 'live')})
}
`})
	out, err := run("plan", "run", "site", "-t", "one", "--format", "json")
	want := `{"uuid":true,"facts":["big=9007199254740993","load=1.5","tree={a => [true, ]}"],"wrong":"bolt/puppetdb-error","tree":[{"path":["load"],"value":1.5}]}` + "\n"
	if err != nil || out != want {
		t.Errorf("got %s, %v\nwant %s", out, err, want)
	}
}

// project makes a project of files, and returns what runs bolt in it: its
// standard output, or an error with its standard error.
func project(t *testing.T, files map[string]string) func(args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	program := buildtest.Build(t, "..", "cmd/bolt")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) (string, error) {
		cmd := exec.Command(program, append(args, "--project", dir)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "BOLT_POOL=off")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || said.Len() > 0 {
			err = errors.Join(err, errors.New(said.String()))
		}
		return string(out), err
	}
}

// TestLiveNodes: a real PuppetDB's nodes, with facts of all shapes, become
// targets.
func TestLiveNodes(t *testing.T) {
	o := liveOptions(t)
	c := client(t, o)
	ctx := t.Context()
	for i, name := range []string{"inv0", "inv1"} {
		facts := ordered.Of("n", int64(i), "os", ordered.Of("name", "Debian", "release", ordered.Of("major", "12")),
			"disks", []any{ordered.Of("size", int64(10+i)), ordered.Of("size", int64(20))}, "num", ordered.Of("0", "zero"), "my-fact", "m",
			"mounts", ordered.Of("/mnt/a b", ordered.Of("dev", "/dev/sda")), "none", nil, "bad", ordered.Of("_plugin", "env_var", "var", "HOME"))
		if i == 1 {
			facts.Set("only", true)
		}
		done, err := c.Submit(ctx, Command{Name: "replace_facts", Version: 5, Wait: time.Minute, Payload: ordered.Of("certname", name, "environment", "production",
			"producer", "test", "producer_timestamp", "2026-11-20T12:00:00.000Z", "values", facts)})
		if err != nil || !done.Processed {
			t.Fatalf("facts of %s: %+v, %v", name, done, err)
		}
	}
	const both = `{ certname ~ "^inv" order by certname }`
	for _, tt := range []struct {
		query any
		paths string
		want  string
	}{
		{"nodes[certname] " + both, "", `{"inv0":null,"inv1":null}`},
		{"nodes[certname] " + both, "facts.os.name facts.n", `{"inv0":{"facts.os.name":"Debian","facts.n":0},"inv1":{"facts.os.name":"Debian","facts.n":1}}`},
		{"inventory[certname, facts.n] " + both, "facts.n", `{"inv0":{"facts.n":0},"inv1":{"facts.n":1}}`},
		{"inventory " + both, "facts.os.release facts.no.way", `{"inv0":{"facts.os.release":{"major":"12"},"facts.no.way":null},"inv1":{"facts.os.release":{"major":"12"},"facts.no.way":null}}`},
		{"nodes[certname] " + both, "facts.disks.0.size facts.num.0 facts.my-fact facts.mounts./mnt/a facts.os.release facts.none facts.only facts.no.way",
			`{"inv0":{"facts.disks":[{"size":10},{"size":20}],"facts.num":{"0":"zero"},"facts.my-fact":"m","facts.mounts":{"/mnt/a b":{"dev":"/dev/sda"}},"facts.os.release":{"major":"12"},"facts.none":null,"facts.only":null,"facts.no.way":null},` +
				`"inv1":{"facts.disks":[{"size":11},{"size":20}],"facts.num":{"0":"zero"},"facts.my-fact":"m","facts.mounts":{"/mnt/a b":{"dev":"/dev/sda"}},"facts.os.release":{"major":"12"},"facts.none":null,"facts.only":true,"facts.no.way":null}}`},
		{[]any{"from", "nodes", []any{"extract", []any{"certname"}, []any{"=", "certname", "inv1"}}}, "facts.n", `{"inv1":{"facts.n":1}}`},
	} {
		nodes, err := c.nodes(ctx, tt.query, strings.Fields(tt.paths))
		if got := nodesAsJSON(t, nodes); err != nil || got != tt.want {
			t.Errorf("%v %s: %v\ngot  %s\nwant %s", tt.query, tt.paths, err, got, tt.want)
		}
	}
	n, err := c.count(ctx)
	all, err2 := c.Rows(ctx, Query{Text: "nodes[certname] { }"})
	if errors.Join(err, err2) != nil || n != int64(len(all)) || n < 2 {
		t.Errorf("%d nodes, %d in a list, %v, %v", n, len(all), err, err2)
	}

	run := project(t, map[string]string{
		"bolt-project.yaml": fmt.Sprintf("name: site\npuppetdb-instances:\n  live: {server_urls: [%q], cacert: %q, cert: %q, key: %q}\n", o.ServerURLs[0], o.CACert, o.Cert, o.Key),
		"inventory.yaml": `
groups:
  - name: mapped
    targets:
      - _plugin: puppetdb
        instance: live
        query: 'nodes[certname] ` + both + `'
        target_mapping:
          name: certname
          config: {ssh: {host: facts.os.name, port: facts.disks.0.size}}
          vars: {zero: facts.num.0, only: facts.only, all: [facts.n, facts.no], bad: facts.bad}
  - name: plain
    targets:
      - {_plugin: puppetdb, instance: live, query: 'nodes[certname] { certname = "web1" }', target_mapping: {facts: facts}}
`})
	out, err := run("inventory", "show", "--targets", "inv0,inv1,plain", "--detail", "--format", "json")
	v, perr := ordered.ParseJSON([]byte(out))
	if perr != nil {
		t.Fatalf("%v, %v", perr, err)
	}
	for _, says := range []string{"Could not find fact facts.only for node inv0 [ID: puppetdb_missing_fact]", "Could not find fact facts.no for 2 nodes: inv0, inv1 [", "facts.bad for 2 nodes: inv0, inv1 (on 2 of them it contains the key _plugin and is ignored"} {
		if err == nil || strings.Count(err.Error(), says) != 1 {
			t.Errorf("warned %v, want %s", err, says)
		}
	}
	var got []any
	for _, target := range v.(*ordered.Map).Value("targets").([]any) {
		m := target.(*ordered.Map)
		config := m.Value("config").(*ordered.Map).Value("ssh").(*ordered.Map)
		got = append(got, []any{m.Value("name"), m.Value("uri"), config.Value("host"), config.Value("port"), m.Value("vars"), m.Value("facts")})
	}
	want := `[["inv0",null,"Debian",10,{"zero":"zero","all":[0]},{}],["inv1",null,"Debian",11,{"zero":"zero","only":true,"all":[1]},{}],` +
		`["web1","web1",null,null,{},{"os":{"name":"Debian"},"role":"web","number":0}]]`
	if s := asJSON(t, got); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestLiveErrors: what a real PuppetDB says no to.
func TestLiveErrors(t *testing.T) {
	o := liveOptions(t)
	c := client(t, o)
	ctx := t.Context()
	query := func(c *Client, text any, entity string) error {
		_, err := c.Rows(ctx, Query{Text: text, Entity: entity})
		return err
	}
	check := func(name string, err error, msg, hint string) {
		t.Helper()
		f := ofKind(t, err, kind)
		if !strings.Contains(f.Msg, o.ServerURLs[0]) || !strings.Contains(f.Msg, msg) || !strings.Contains(f.Hint, hint) {
			t.Errorf("%s: got %q, hint %q", name, f.Msg, f.Hint)
		}
	}
	check("a mistake", query(c, "nodes { bogus }", ""), "400 Bad Request: PQL parse error at line 1", "")
	check("an unknown field", query(c, `nodes { nosuch = 1 }`, ""), "400 Bad Request: 'nosuch' is not a queryable object", "")
	check("no such entity", query(c, nil, "bogus"), "redirects to", "server_urls")
	_, err := c.Submit(ctx, Command{Name: "frobnicate", Version: 5, Payload: ordered.Of("certname", "x")})
	check("an unknown command", err, `400 Bad Request: Command "frobnicate"`, "")

	strange := o
	strange.Cert, strange.Key = stranger(t, live.Server(t))
	check("a name that is not on its list", query(client(t, strange), "nodes {}", ""), "403 Forbidden", "certificate-allowlist")
	nobody := o
	nobody.Cert, nobody.Key = "", ""
	check("nobody", query(client(t, nobody), "nodes {}", ""), "", "")
	other := newAuthority(t)
	foreign := other.options(t, o.ServerURLs...)
	check("another authority", query(client(t, foreign), "nodes {}", ""), "certificate signed by unknown authority", "cacert")
}

// stranger is a certificate that the authority of a PuppetDB has signed for
// somebody else.
func stranger(t *testing.T, of puppetdbtest.Server) (cert, key string) {
	t.Helper()
	made := t.TempDir()
	cert, key = filepath.Join(made, "s.pem"), filepath.Join(made, "s.key")
	for _, args := range [][]string{
		{"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=stranger", "-keyout", key, "-out", made + "/s.csr"},
		{"x509", "-req", "-in", made + "/s.csr", "-CA", of.CACert, "-CAkey", of.CAKey, "-set_serial", "77", "-days", "1", "-out", cert},
	} {
		if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v\n%s", args[0], err, out)
		}
	}
	return cert, key
}

// TestRecorded: what stands for PuppetDB where there is none passes as it.
func TestRecorded(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLive")
	cmd.Env = append(os.Environ(), "BOLT_TEST_PUPPETDB=recorded")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
