package exampletest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/buildtest"
)

// TestPluginProgram runs the plugin program of docs/plugins-own.md, which is the
// program of examples/plugin-program.
func TestPluginProgram(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join(root, "docs", "plugins-own.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(root, "examples", "plugin-program")
	program, err := os.ReadFile(filepath.Join(example, "plugins", "bolt-plugin-csv"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(docs, append([]byte("```python\n"), program...)) {
		t.Error("docs/plugins-own.md does not show the program of examples/plugin-program")
	}

	bolt := buildtest.Build(t, root, "cmd/bolt")
	project := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(project, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (output string, err error) {
		cmd := exec.CommandContext(t.Context(), bolt, args...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "BOLT_POOL=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	wants := func(fails bool, args []string, texts ...string) {
		t.Helper()
		out, err := run(args...)
		if (err != nil) != fails {
			t.Errorf("bolt %q: %v\n%s", args, err, out)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("bolt %q: no %q in\n%s", args, text, out)
			}
		}
		for _, secret := range []string{"correct-horse", "battery-staple"} {
			if strings.Contains(out, secret) {
				t.Errorf("bolt %q shows a password:\n%s", args, out)
			}
		}
	}
	wants(false, []string{"plugin", "show"}, "csv", "Make targets of the rows of a CSV file.")
	wants(false, []string{"inventory", "show", "-t", "all", "--detail", "--format", "json", "--log-level", "info"},
		`"name":"web1","uri":"192.0.2.11"`, `"user":"admin"`, `"password":"[redacted]"`,
		"The plugin csv: 3 rows in ", "spare has no address [ID: csv_no_address]")
	if err := os.Remove(filepath.Join(project, "machines.csv")); err != nil {
		t.Fatal(err)
	}
	wants(true, []string{"inventory", "show", "-t", "all"},
		"Error executing plugin csv from resolve_reference in csv: ", "machines.csv: No such file or directory", "A relative path starts from the project.")
	if err := os.WriteFile(filepath.Join(project, "inventory.yaml"), []byte("targets: [{_plugin: csv, path: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(true, []string{"inventory", "show", "-t", "all"}, "The plugin csv requires a 'file'")
}
