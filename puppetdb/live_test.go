package puppetdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/internal/ordered"
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
		{"a tree at the root", Query{Text: []any{"from", "nodes", []any{"extract", []any{"certname"}, []any{"~", "certname", "^w"}}}, OrderBy: []Order{{"certname", true}}}, `[{"certname":"web2"},{"certname":"web1"}]`},
		{"a tree of an entity", Query{Entity: "nodes", Text: []any{"extract", []any{"certname"}, []any{"=", []any{"fact", "number"}, int64(2)}}}, `[{"certname":"db1"}]`},
		{"a part", Query{Text: `nodes[certname] { }`, OrderBy: []Order{{"certname", false}}, Limit: 1, Offset: 1}, `[{"certname":"web1"}]`},
		{"nothing", Query{Text: `nodes[certname] { certname = "x" }`}, `[]`},
		{"all of an entity", Query{Entity: "environments", OrderBy: []Order{{"name", false}}}, `[{"name":"production"}]`},
	} {
		rows, err := c.Rows(ctx, tt.q)
		if err != nil || asJSON(t, rows) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, asJSON(t, rows), err, tt.want)
		}
	}
	var names []any
	err := c.Pages(ctx, Query{Text: `facts[certname, name] { name = "role" }`, OrderBy: []Order{{"certname", false}}}, 2, func(row any) error {
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
	facts, err := c.Facts(ctx, append(many, "db1"))
	role := func(name string) any { m, _ := facts.Value(name).(*ordered.Map); return m.Value("role") }
	if err != nil || strings.Join(facts.Keys(), " ") != "web2 db1" || role("web2") != "web" || role("db1") != "db" {
		t.Errorf("facts: got %s, %v", asJSON(t, facts), err)
	}
	s, err := c.Status(ctx)
	if err != nil || s.State != "running" || s.Version == "" || s.Maintenance || !s.Read || !s.Write {
		t.Errorf("status: %+v, %v", s, err)
	}
}

// TestLivePlan: a plan stores facts in a real PuppetDB, finds the node, and
// gives the facts to a target.
func TestLivePlan(t *testing.T) {
	o := liveOptions(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "bolt")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/bolt").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	files := map[string]string{
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
`}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "plan", "run", "site", "-t", "one", "--format", "json", "--project", dir, "--pool", "off")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.Output()
	want := `{"uuid":true,"facts":["big=9007199254740993","load=1.5","tree={a => [true, ]}"],"wrong":"bolt/puppetdb-error","tree":[{"path":["load"],"value":1.5}]}` + "\n"
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Logf("%s", e.Stderr)
	}
	if err != nil || string(out) != want {
		t.Errorf("got %s, %v\nwant %s", out, err, want)
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
