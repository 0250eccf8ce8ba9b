package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncoding checks that text that is not UTF-8 is rejected with its
// position, and is not corrected.
func TestEncoding(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bolt-project.yaml":          "name: enc\n",
		"a.pp":                       "$x = 1\nnotice('é\xe9')\n",
		"a.epp":                      "one\n\xff",
		"functions/f.pp":             "function enc::f() {\n  'caf\xe9' }\n",
		"modules/m/templates/t.epp":  "\n x\xe9",
		"modules/m/manifests/ok.pp":  "class m::ok {}\n# é",
		"modules/m/manifests/bad.pp": "class m::bad {}\n# \xe9",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, in, want string }{
		{"validate a.pp", "", "a.pp:2:10: error: the text has to be UTF-8"},
		{"validate a.epp", "", "a.epp:2:1: error: the text has to be UTF-8"},
		{"validate modules", "", "modules/m/manifests/bad.pp:2:3: error: the text has to be UTF-8"},
		{"validate -", "'\xe9'", "standard input:1:2: error: the text has to be UTF-8"},
		{"dump a.pp", "", "a.pp:2:10: error: the text has to be UTF-8"},
		{"eval a.pp", "", "a.pp:2:10: error: the text has to be UTF-8"},
		{"eval -e enc::f()", "", "functions/f.pp:2:7: error: the text has to be UTF-8"},
		{"eval -e epp('m/t.epp')", "", "templates/t.epp:2:3: error: "},
		{"eval --batch -", "{\"expr\": \"'\xe9'\"}\n", "line 1 of standard input is not UTF-8"},
		{"eval --batch -", "{\"expr\": \"1\", \"id\": \"\xe9\"}\n", "line 1 of standard input is not UTF-8"},
		{"eval --batch -", "{\"expr\": \"'é'\"}\n", `"value":"é"`},
	} {
		cmd := exec.Command(self, append([]string{"puppet"}, strings.Fields(c.args)...)...)
		cmd.Args[0] = "bolt"
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "BOLT_PROJECT="+dir)
		cmd.Stdin = strings.NewReader(c.in)
		out, _ := cmd.CombinedOutput() // other tests check the exit code
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%s %q\n got %s\nwant %s", c.args, c.in, out, c.want)
		}
	}
}
