package puppetcompiler_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/puppetcompiler"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/puppet/eval"
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
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func hash(t *testing.T, json string) *value.Hash {
	t.Helper()
	v, err := value.FromJSON([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Hash)
}

// fake returns a Program that runs a shell script instead of puppet, and the directory of
// its environments.
func fake(t *testing.T, script string) (*puppetcompiler.Program, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	write(t, dir, map[string]string{"puppet": "#!/bin/sh\n" + script, "code/envs/prod/manifests/site.pp": "", "code/envs/prod/modules/m/files/x": "text\n", "code/envs/test/manifests/site.pp": ""})
	p, err := puppetcompiler.NewProgram(puppetcompiler.ProgramOptions{Path: filepath.Join(dir, "puppet"), EnvironmentPath: filepath.Join(dir, "code/envs"), Environment: "prod", Hiera: "/h.yaml", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "bolt-puppet-*")); left != nil {
			t.Errorf("%v is left", left)
		}
	})
	return p, dir
}

// TestProgram checks the command line and the files that puppet gets, and its messages.
func TestProgram(t *testing.T) {
	p, dir := fake(t, `echo "$@" >"$TMPDIR/args"; stat -c %a . >"$TMPDIR/mode"; cp server_data/facts/n1.json "$TMPDIR/facts"; /bin/sh ./classify.sh n1 >"$TMPDIR/classes"
echo 'Notice: Scope(Class[main]): hi'
echo '{"not": "the catalog"}'
echo 'Warning: two
lines' >&2
echo 'Error: Facter: no' >&2
echo '{"name":"n1","resources":[{"type":"File","title":"/x","parameters":{"source":"puppet:///modules/m/x"}}]}'
`)
	var logs []string
	n := site.Node{Name: "n1", Facts: hash(t, `{"role":"é","n":1}`), Classes: []string{"b"}, Environment: "test", Variables: hash(t, `{"v":[1]}`),
		Declared: []compile.Class{{Name: "a", Params: hash(t, `{"p":2}`)}},
		Log:      func(l eval.Log) { logs = append(logs, l.Level.String()+" "+l.Scope+": "+l.Msg) }}
	c, err := p.Compile(t.Context(), n)
	if err != nil || c.Catalog.Name != "n1" {
		t.Fatalf("got %v, %v", c, err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	args := read("args")
	for _, want := range []string{"catalog compile n1 ", "--render-as rich_data_json ", "--environmentpath " + dir + "/code/envs ", "--environment test ", "--basemodulepath " + dir + "/code/modules:", "--hiera_config /h.yaml", "--node_terminus exec"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is not in %s", want, args)
		}
	}
	if strings.Contains(args, "role") || read("mode") != "700" {
		t.Errorf("facts can be seen: %s, mode %s", args, read("mode"))
	}
	if got := read("facts"); got != `{"name":"n1","values":{"role":"é","n":1,"clientcert":"n1"}}` {
		t.Errorf("facts %s", got)
	}
	if got := read("classes"); got != `{"classes":{"a":{"p":2},"b":{}},"parameters":{"v":[1]}}` {
		t.Errorf("classes %s", got)
	}
	want := "warning Puppet: two\nlines|info Puppet: Facter: no|notice Scope(Class[main]): hi\n{\"not\": \"the catalog\"}|warning File[/x]: "
	if got := strings.Join(logs, "|"); !strings.HasPrefix(got, want) {
		t.Errorf("logged %s", got)
	}
	// The files are in the environment of the node.
	n.Environment = ""
	if c, err = p.Compile(t.Context(), n); err != nil || len(c.Catalog.Files) != 1 {
		t.Errorf("got %v, %v", c, err)
	}
}

// TestProgramFailures checks errors of puppet, and limits.
func TestProgramFailures(t *testing.T) {
	tests := []struct{ name, node, script, want string }{
		{"code", "n", "echo 'Error: one' >&2; echo \"Error: Could not call 'find' on 'catalog': Evaluation Error: no (file: /e/site.pp, line: 4, column: 14) on node n\" >&2; echo \"Error: Try 'puppet help catalog compile' for usage\" >&2; exit 1", "/e/site.pp:4:14: Evaluation Error: no"},
		{"no place", "n", "echo 'Error: Could not find class x for n on node n' >&2; exit 1", "Could not find class x for n"},
		{"long", "n", `printf 'Error: %4000s (file: /e/s.pp, line: 3)\n' x >&2; exit 1`, "/e/s.pp:3: "},
		{"crash", "n", "echo boom >&2; exit 3", "exit status 3): boom"},
		{"no catalog", "n", "echo hello", "is not a catalog"},
		{"half a catalog", "n", `printf '{"name":'`, "is not a catalog"},
		{"a name", "../x", "exit 9", "cannot be the name of a node"},
		{"an option", "--x", "exit 9", "cannot be the name of a node"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := fake(t, tt.script)
			if _, err := p.Compile(t.Context(), site.Node{Name: tt.node}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	p, _ := fake(t, "exit 9")
	if _, err := p.Compile(t.Context(), site.Node{Name: "n", Environment: "none"}); err == nil || !strings.Contains(err.Error(), "The environment 'none' does not exist") {
		t.Errorf("got %v", err)
	}
}

// TestProgramEnds checks that puppet and its children end with the context.
func TestProgramEnds(t *testing.T) {
	p, dir := fake(t, `sleep 100 & echo $! >"$TMPDIR/child"; trap '' TERM; sleep 100`)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("over")
	started := filepath.Join(dir, "child")
	go func() { // ends with the test, which waits for the cancellation
		for {
			if pid, err := os.ReadFile(started); err == nil && len(pid) > 0 || ctx.Err() != nil {
				cancel(cause)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := p.Compile(ctx, site.Node{Name: "n"}); err != cause {
		t.Errorf("got %v", err)
	}
	child, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("a child is left")
}

// TestRealPuppet checks that an installed puppet and bolt compile the same catalog.
func TestRealPuppet(t *testing.T) {
	if _, err := exec.LookPath("puppet"); err != nil {
		t.Fatal("there is no puppet: scripts/setup.sh test installs it")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"envs/prod/manifests/site.pp": `node 'n1.example.com' {
  file { '/etc/x': content => "${facts['os']['name']} ${trusted['certname']} ${v}", mode => '0640' }
  file { '/etc/y': source => 'puppet:///modules/m/y' }
  user { 'u': password => Sensitive('hush') }
  notify { 'd': message => Deferred('join', [['a'], ',']) }
}
node default { fail('nope') }
`,
		"envs/prod/modules/m/files/y":           "text\n",
		"envs/prod/modules/m/manifests/init.pp": "class m(Integer $p, String $q) { notify { \"m ${p} ${q}\": } }",
		"envs/prod/hiera.yaml":                  "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n",
		"envs/prod/data/c.yaml":                 "m::q: from data\n",
	})
	path := filepath.Join(dir, "envs")
	p, err := puppetcompiler.NewProgram(puppetcompiler.ProgramOptions{EnvironmentPath: path, Environment: "prod", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(t.Context(), path, "prod", environment.Options{Getenv: os.LookupEnv, Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := site.Node{Name: "n1.example.com", Facts: hash(t, `{"os":{"name":"Debian"}}`), Variables: hash(t, `{"v":"x"}`), Declared: []compile.Class{{Name: "m", Params: hash(t, `{"p":3}`)}}}
	var got [2]*catalog.Catalog
	for i, by := range []site.Compiler{s, p} {
		made, err := by.Compile(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = made.Catalog
	}
	if got[0].Digest() != got[1].Digest() || len(got[1].Files) != 1 {
		t.Errorf("bolt %v, puppet %v", got[0].Resources(), got[1].Resources())
	}
	n.Name = "other"
	_, err = p.Compile(t.Context(), n)
	if e, is := errors.AsType[*eval.Error](err); !is || e.Pos.Line != 7 || e.Pos.File != filepath.Join(path, "prod/manifests/site.pp") || !strings.HasSuffix(e.Msg, "nope") {
		t.Errorf("got %v", err)
	}
}
