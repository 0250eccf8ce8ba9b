package ansible_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"bolt/format/ordered"
	"bolt/inventory/ansible"
	"bolt/transport"
)

// Recording asks the ansible-inventory of this machine (package ansible-core), and
// writes its answers into testdata:
//
//	go test ./internal/ansible -run Answers -record
var record = flag.Bool("record", false, "ask ansible-inventory and write its answers")

const answerFile = "answer.json"

// TestReadsLikeAnsibleInventory compares the result with the output of ansible-
// inventory. The first line of a case has the arguments: the sources, and a
// directory of playbooks.
func TestReadsLikeAnsibleInventory(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir, answer := unpack(t, archive)
			args := strings.Fields(strings.SplitN(string(archive.Comment), "\n", 2)[0])
			if *record {
				answer = ask(t, archive, dir, args)
				write(t, file, archive, answer)
			}
			o := ansible.Options{Run: run}
			for i := 0; i < len(args); i++ {
				switch args[i] {
				case "-i":
					i++
					o.Paths = append(o.Paths, filepath.Join(dir, args[i]))
				case "--playbook-dir":
					i++
					o.Playbooks = filepath.Join(dir, args[i])
				case "--vault-password-file":
					i++
					password, err := os.ReadFile(filepath.Join(dir, args[i]))
					if err != nil {
						t.Fatal(err)
					}
					o.Password = func(context.Context) (transport.Secret, error) {
						return transport.NewSecret(strings.TrimSpace(string(password))), nil
					}
				}
			}
			inv, err := ansible.Read(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(answer, list(t, inv)); diff != "" {
				t.Errorf("-ansible-inventory +bolt:\n%s", diff)
			}
		})
	}
}

func unpack(t *testing.T, archive *txtar.Archive) (dir string, answer map[string]any) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range archive.Files {
		if f.Name == answerFile {
			answer = decode(t, f.Data)
			continue
		}
		path := filepath.Join(dir, f.Name)
		mode := os.FileMode(0o644)
		if bytes.HasPrefix(f.Data, []byte("#!")) {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir, answer
}

func run(ctx context.Context, argv ...string) ([]byte, error) {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
}

func ask(t *testing.T, archive *txtar.Archive, dir string, args []string) map[string]any {
	t.Helper()
	cmd := exec.Command("ansible-inventory", append([]string{"--list"}, args...)...)
	cmd.Dir = dir
	config := filepath.Join(t.TempDir(), "ansible.cfg")
	if err := os.WriteFile(config, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "ANSIBLE_CONFIG="+config, "ANSIBLE_INVENTORY_ENABLED=host_list,script,auto,yaml,toml,ini")
	if !bytes.Contains(archive.Comment, []byte("unparsed")) {
		cmd.Env = append(cmd.Env, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return decode(t, out)
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t *testing.T, file string, archive *txtar.Archive, answer map[string]any) {
	t.Helper()
	data, err := json.MarshalIndent(answer, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	for _, f := range archive.Files {
		if f.Name != answerFile {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: answerFile, Data: append(data, '\n')})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// list is an inventory in the form of ansible-inventory --list.
func list(t *testing.T, inv *ansible.Inventory) map[string]any {
	t.Helper()
	hostvars := map[string]any{}
	for _, h := range inv.Hosts {
		vars, err := inv.Vars(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		if vars.Len() > 0 {
			hostvars[h.Name] = written(t, vars)
		}
	}
	all := map[string]any{"_meta": map[string]any{"hostvars": hostvars}}
	for _, g := range below(inv.All, make(map[*ansible.Group]bool)) {
		m := map[string]any{}
		var hosts, children []any
		for _, h := range g.Hosts {
			hosts = append(hosts, h.Name)
		}
		for _, c := range g.Children {
			children = append(children, c.Name)
		}
		if hosts != nil && g != inv.All {
			m["hosts"] = hosts
		}
		if children != nil {
			m["children"] = children
		}
		if len(m) > 0 {
			all[g.Name] = m
		}
	}
	return all
}

// written is a value as ansible-inventory writes it.
func written(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(plain(v))
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func plain(v any) any {
	switch v := v.(type) {
	case ansible.Vaulted:
		return map[string]any{"__ansible_vault": string(v)}
	case transport.Secret:
		return v.Reveal()
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case *ordered.Map:
		m := map[string]any{}
		for k, e := range v.All() {
			m[k] = plain(e)
		}
		return m
	}
	return v
}

// below are a group and all groups in it, each once.
func below(g *ansible.Group, seen map[*ansible.Group]bool) []*ansible.Group {
	if seen[g] {
		return nil
	}
	seen[g] = true
	list := []*ansible.Group{g}
	for _, c := range g.Children {
		list = append(list, below(c, seen)...)
	}
	return list
}
