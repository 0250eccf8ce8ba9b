package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/fleet"
	"bolt/internal/sshtest"
)

// TestApply runs the example on two targets of a real SSH server, and on a target that does not answer.
func TestApply(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	write := func(name, format string, args ...any) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".ssh/known_hosts", "%s", server.KnownHosts())
	inventory := write("inventory.yaml", `
config: {ssh: {user: root, host: %s, port: %d, private-key: %s}}
targets:
  - {name: web1, vars: {role: front}}
  - {name: web2, vars: {role: back}}
  - {name: gone, config: {ssh: {port: 1}}}
`, server.Host, server.Port, server.KeyFile)
	manifest := write("site.pp", "include greeting\n")
	write("modules/greeting/manifests/init.pp", "class greeting { file { \"%s/out-${trusted['certname']}\": content => \"${role}\\n\" } }\n", dir)
	do := func(noop bool, names ...string) (string, error) {
		var out bytes.Buffer
		err := apply(t.Context(), inventory, manifest, names, fleet.Delivery{Noop: noop, Dir: filepath.Join(dir, "state")}, &out)
		return strings.ReplaceAll(out.String(), dir, "DIR"), err
	}
	if out, err := do(true, "web1"); err != nil || !strings.Contains(out, "web1: File[DIR/out-web1] noop\n") {
		t.Errorf("noop: %v\n%s", err, out)
	}
	out, err := do(false, "web1", "web2")
	if err != nil || strings.Count(out, "] changed\n") != 2 || strings.Count(out, ": changed: 1") != 2 { // the events of two targets can be mixed
		t.Errorf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"out-web1": "front\n", "out-web2": "back\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if out, err := do(false, "web1", "gone"); !errors.Is(err, errFailed) || !strings.Contains(out, "web1: changed: 0") || !strings.Contains(out, "gone: Failed to connect") {
		t.Errorf("%v\n%s", err, out)
	}
}
