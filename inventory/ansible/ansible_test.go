package ansible

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/transport"
)

// read reads an inventory that is one file, or several.
func read(t testing.TB, files map[string]string, o Options) (*Inventory, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name := range files {
		if !strings.ContainsRune(name, '/') {
			o.Paths = []string{filepath.Join(dir, name)}
		}
	}
	inv, err := Read(t.Context(), o)
	if err != nil && strings.Contains(err.Error(), dir) {
		err = errors.New(strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	return inv, err
}

func TestParseErrorsHaveLine(t *testing.T) {
	tests := []struct{ name, file, text, says string }{
		{"kind", "hosts", "[a:nope]", "hosts: line 1: [a:nope]: only children or vars is allowed after the colon"},
		{"blank", "hosts", "x\n[a b]", "line 2: '[a b]' is not a section"},
		{"no value", "hosts", "a b", "line 1: after the host 'a', word 1 is not name=value"},
		{"quote", "hosts", "a x='b", "line 1: a quote is not closed"},
		{"variable", "hosts", "[a]\n[a:vars]\nx", "line 3: a line of [a:vars] has no ="},
		{"child", "hosts", "[a:children]\nb c", "line 2: 'b c' is not the name of a group"},
		{"undeclared", "hosts", "[a:children]\nb", "line 2: [a:children] is about the group 'b', which has no section"},
		{"undeclared vars", "hosts", "[a:vars]\nb=1", "line 1: [a:vars] is about the group 'a'"},
		{"loop", "hosts", "[a:children]\nb\n[b:children]\na", "'a' cannot be a child of 'b', which is in it"},
		{"itself", "hosts", "[a:children]\na", "cannot be a child"},
		{"priority", "hosts", "[a]\n[a:vars]\nansible_group_priority=high", "is not a whole number"},
		{"port", "hosts.prod", "a:", "has no port after its colon"},
		{"YAML in INI", "hosts.prod", "---\nall:", "--- begins a YAML document"},
		{"not UTF-8", "hosts", "a x=\xff", "line 1: it is not text in UTF-8"},
		{"range", "hosts", "a[1:2:0]", "the host pattern 'a[1:2:0]': the step"},
		{"range without end", "hosts", "a[1:]", "has no end"},
		{"range of words", "hosts", "a[x:10]", "numbers or of single letters"},
		{"range widths", "hosts", "a[01:100]", "a leading zero"},
		{"range backwards", "hosts", "a[c:a]", "after its end"},
		{"open range", "hosts", "a[1:2", "a bracket is not closed"},
		{"too many", "hosts", "a[0:99999][0:9]", "more than 100000 names"},
		{"too many for nothing", "hosts", "a[0:99999][0:99999][2:1]", "more than 100000 names"},
		{"too many of all", "hosts", "a[0:99998]\nb[1:2]", "line 2: there are more than 100000 hosts"},
		{"too many groups", "hosts.prod", groupsOf(MaxGroups), "there are more than 20000 groups"},
		{"control characters", "hosts.prod", "[a\x1b[31m b]", "is not a section"},
		{"end of a password", "hosts", "a ansible_password=my s3cret", "put a value that contains spaces in quotes"},
		{"YAML", "hosts.yml", "a: [", "hosts.yml: line"},
		{"list", "hosts.yml", "- a", "it is not a map of groups"},
		{"plugin", "aws_ec2.yml", "plugin: amazon.aws.aws_ec2", "set 'format: ansible-inventory'"},
		{"TOML", "hosts.toml", "[a]\nx = \n", "hosts.toml: line 2: "},
		{"empty TOML", "hosts.toml", "# nothing", "it has no groups"},
		{"TOML plugin", "hosts.toml", "plugin = 'x'", "only Ansible can run"},
		{"TOML children", "hosts.toml", "[a.children.b]\n", "the children of the group 'a' are not a list"},
		{"TOML hosts", "hosts.toml", "[a]\nhosts = ['x']\n", "the hosts of the group 'a' are not a table"},
		{"hosts", "hosts.yml", "a: {hosts: [x]}", "the hosts of the group 'a' are not a map"},
		{"host", "hosts.yml", "a: {hosts: {x: 5}}", "the value of the host 'x' in the group 'a' is not a map"},
		{"tag", "hosts.yml", "a: {vars: {x: !other y}}", "the tag !other is not known"},
		{"encrypted", "hosts", "$ANSIBLE_VAULT;1.1;AES256\n00", "vault_password_file"},
		{"script", "s", "#!/bin/sh\n", "this command does not run programs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, map[string]string{tt.file: tt.text}, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\x1b") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	if _, err := Read(t.Context(), Options{Paths: []string{"/none"}}); err == nil || err.Error() != "/none: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// TestINIByAnotherName: Ansible reads a file as INI if it is not a map in YAML, whatever
// its ending is.
func TestINIByAnotherName(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"hosts.yml":  "[web]\na x=1\n",
		"hosts.yaml": "# first\nb\n[web]\na x=1\n",
		"hosts.json": "[web]\na x=1\n\n[web:vars]\ny=2\n",
	} {
		inv, err := read(t, map[string]string{name: text}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if g := inv.Group("web"); g == nil || len(g.Members()) != 1 || g.Members()[0].Name != "a" {
			t.Errorf("%s: got %+v", name, g)
		}
	}
	inv, err := read(t, map[string]string{"hosts.yml": "localhost\n"}, Options{})
	if err != nil || inv.Host("localhost") == nil {
		t.Errorf("got %v", err)
	}
	_, err = read(t, map[string]string{"hosts.yml": "[web]\na\n"}, Options{Format: YAML})
	if err == nil || !strings.Contains(err.Error(), "did not find expected <document start>") {
		t.Errorf("got %v", err)
	}
	_, err = read(t, map[string]string{"hosts.yml": "[web]\na b\n"}, Options{})
	if err == nil || !strings.Contains(err.Error(), "line 2: ") {
		t.Errorf("got %v", err)
	}
}

// groupsOf is n groups, each the child of the next.
func groupsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[g%d:children]\ng%d\n", i+1, i)
	}
	return "[g0]\n" + b.String()
}

func TestScriptErrors(t *testing.T) {
	for out, says := range map[string]string{
		"oops":                       "its output is not JSON: line 1",
		"[]":                         "not an object of groups",
		`{"g": {"hosts": "a"}}`:      "the hosts of the group 'g' have the wrong form",
		`{"g": {"hosts": [1]}}`:      "the hosts of the group 'g'",
		`{"g": {"vars": []}}`:        "the vars of the group 'g'",
		`{"g": {"children": [""]}}`:  "the children of the group 'g'",
		`{"g": {"children": ["g"]}}`: "cannot be a child",
		`{"g": ["a"], "_meta": {}}`:  "its output for --host a is not JSON",
		`{"g": 5}`:                   "the hosts of the group 'g'",
		`{"": ["a"]}`:                "a group has no name",
		`{"g": [""]}`:                "a host has no name",
		`{"g":["a"],"_meta":{"hostvars":{"a":1}}}`: "the variables of the host 'a' are not an object",
	} {
		_, err := read(t, map[string]string{"s": "#!/bin/sh\n"}, Options{Run: func(_ context.Context, argv ...string) ([]byte, error) {
			if argv[1] == "--list" {
				return []byte(out), nil
			}
			return []byte("x"), nil
		}})
		if err == nil || !strings.Contains(err.Error(), "s: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", out, err, says)
		}
	}
}

// TestNoProgram: files on some file systems are all executable.
func TestNoProgram(t *testing.T) {
	no := errors.New("no")
	dir := t.TempDir()
	path := filepath.Join(dir, "hosts")
	if err := os.WriteFile(path, []byte("a\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{Paths: []string{path}, Run: func(context.Context, ...string) ([]byte, error) { return nil, no }}
	if _, err := Read(t.Context(), o); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	o.NoProgram = func(err error) bool { return err == no }
	inv, err := Read(t.Context(), o)
	if err != nil || len(inv.Hosts) != 1 {
		t.Errorf("got %v, %v", inv, err)
	}
}

func TestWarnings(t *testing.T) {
	var told []string
	inv, err := read(t, map[string]string{"h.yml": "a: x\nb: {hosts: {h: }, host: {}}\nc:\n  children: {d: 5}\n",
		"group_vars/b.yml": "$ANSIBLE_VAULT;1.1;AES256\n00\n"}, Options{Warn: func(s string) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inv.Vars(t.Context(), inv.Hosts[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"'a' is not a group", "the group 'b' has the key 'host'", "'d' is not a group", "is encrypted by ansible-vault and is ignored"} {
		if i >= len(told) || !strings.Contains(told[i], want) {
			t.Errorf("told %q, want %q", told, want)
		}
	}
}

func TestVarsErrors(t *testing.T) {
	for text, says := range map[string]string{"- a": "it is not a map of variables", "a: [": "line 1", "a: !x y": "!x"} {
		inv, err := read(t, map[string]string{"hosts": "[g]\na\n", "group_vars/g.yml": text}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inv.Vars(t.Context(), inv.Hosts[0]); err == nil || !strings.Contains(err.Error(), "group_vars/g.yml") || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

func TestDecrypt(t *testing.T) {
	archive, err := os.ReadFile("testdata/vault-file.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(archive), "vault.yml --\n")
	text, _, _ = strings.Cut(text, "-- ")
	password := transport.NewSecret("hunter2")
	plain, err := Decrypt(text, password)
	if err != nil || !strings.HasPrefix(string(plain), "ansible_become_password: s3cret\n") {
		t.Errorf("got %q, %v", plain, err)
	}
	if _, err := Decrypt(text, transport.NewSecret("hunter3")); !errors.Is(err, ErrVaultPassword) {
		t.Errorf("got %v", err)
	}
	lines := strings.Split(text, "\n")
	for name, bad := range map[string]string{
		"no header": lines[1], "version": "$ANSIBLE_VAULT;1.0;AES\n00", "cut": strings.Join(lines[:3], "\n"),
		"no text": lines[0], "odd": lines[0] + "\n123", "no hex": lines[0] + "\nzz",
	} {
		if got, err := Decrypt(bad, password); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLiteral(t *testing.T) {
	for in, want := range map[string]any{
		"{1, 2}": []any{int64(1), int64(2)}, "[": "[", "{'a': }": "{'a': }", "{1: 2, 3}": "{1: 2, 3}", "'a": "'a", "-'a'": "-'a'",
		"[[1]": "[[1]", "1 2": "1 2", "--1": "--1", "+ 1": int64(1), "-": "-", "-0x10": int64(-16), "-9223372036854775808": int64(math.MinInt64),
		strings.Repeat("-", 1<<20): strings.Repeat("-", 1<<20), "()": []any{}, "{}": &ordered.Map{}, "1j": "1j", "0x": "0x", "'\\": "'\\",
		"'\\x4'": "'\\x4'", "'\\N{DASH}'": "\\N{DASH}", "'\\101\\q'": "A\\q", "[1,\t2,]": []any{int64(1), int64(2)}, ",": ",", "1,,": "1,,",
		strings.Repeat("[", 100) + strings.Repeat("]", 100): strings.Repeat("[", 100) + strings.Repeat("]", 100),
	} {
		if got := literal(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", in, got, want)
		}
	}
}

func TestLooksLikeAnsibleInventory(t *testing.T) {
	for text, want := range map[string]bool{
		"[web]\na\n": true, "a\nb\n": true, "a ansible_host=x\n[g:vars]\nx: 1": true, "": false, "targets: [a": false, "- a": false,
	} {
		if got := LooksLike([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"all:\n  hosts: {a: }\n": true, "web: {children: {a: }}": true, "targets: [a]": false, "groups: [{name: a}]": false,
		"config: {hosts: {a: }}": false, "x: 1": false, "web: {hosts: a}": false, "{}": false,
	} {
		v, err := decode([]byte(text), "")
		if got := HasGroups(v.(*ordered.Map)); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzINI(f *testing.F) {
	cases, err := filepath.Glob("testdata/ini-*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatal("no cases")
	}
	for _, c := range cases {
		data, err := os.ReadFile(c)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ := strings.Cut(string(data), "-- answer.json --")
		_, text, _ = strings.Cut(text, " --\n")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inv := newInventory()
		if inv.readINI(data) != nil {
			return
		}
		inv.finish()
		if len(inv.Hosts) > MaxHosts {
			t.Fatalf("%d hosts", len(inv.Hosts))
		}
		if len(inv.Hosts) > 1000 {
			return
		}
		for _, h := range inv.Hosts {
			if h.Name == "" || len(h.groups) == 0 {
				t.Fatalf("%q is in no group", h.Name)
			}
			if _, err := inv.Vars(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"all: {hosts: {a: {x: 1}}, children: {b: {hosts: {'c[1:3]': }}}}", `{"_meta": {"hostvars": {}}, "g": ["a"]}`, "a: &x {hosts: h}\nb: *x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		inv := newInventory()
		v, err := decode(data, "f")
		if m, ok := v.(*ordered.Map); ok && err == nil {
			_ = inv.readYAML(m, func(string) {})
		}
		_ = newInventory().readScript(context.Background(), data, func(context.Context, string) ([]byte, error) { return nil, nil })
	})
}

func FuzzRanges(f *testing.F) {
	for _, s := range []string{"a[1:3]b[a:c:2]:22", "[::1]:22", "10.0.[0:1].1", "a[0:99999][0:99999][2:1]", "]["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, _, err := hosts(s)
		if len(names) > MaxHosts || err != nil && names != nil {
			t.Fatalf("%d names, %v", len(names), err)
		}
	})
}

func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"{'a': [1, (2,)]}", "u'x' \"y\"", "-0x1F", "1_000.5e-3 # x", "'\\u00fc\\777'"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { literal(s); _, _ = Words(s, true) })
}

func FuzzDecrypt(f *testing.F) {
	f.Add("$ANSIBLE_VAULT;1.1;AES256\n3030")
	f.Fuzz(func(_ *testing.T, s string) { _, _ = Decrypt(s, transport.NewSecret("x")) })
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "[rack%d]\nnode%d-[001:100].example.com ansible_user=deploy rack=%d\n", i, i, i)
	}
	path := filepath.Join(b.TempDir(), "hosts")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		inv, err := Read(b.Context(), Options{Paths: []string{path}})
		if err != nil || len(inv.Hosts) != 5000 {
			b.Fatal(err)
		}
		for _, h := range inv.Hosts {
			if _, err := inv.Vars(b.Context(), h); err != nil {
				b.Fatal(err)
			}
		}
	}
}
