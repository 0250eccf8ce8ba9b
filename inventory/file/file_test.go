package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/yaml"
)

func TestParse(t *testing.T) {
	if m, err := Parse("groups: []", "$V"); err != nil || m.Len() != 1 {
		t.Errorf("got %v, %v", m, err)
	}
	_, err := Parse("- a", "$V")
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != "bolt/parse-error" || f.Msg != "Could not parse inventory from $V" {
		t.Errorf("a list gives %v", err)
	}
	_, err = Parse("a: [", "$V")
	if e, ok := errors.AsType[*yaml.Error](err); !ok || e.Excerpt(80) != "a: [\n   ^" {
		t.Errorf("a syntax error gives %v", err)
	}
}

func TestReadWarnsOfAnsible(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts.yaml")
	if err := os.WriteFile(path, []byte("all:\n  hosts:\n    web1:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	warned := ""
	if _, err := Read(t.Context(), path, func(id, text string) { warned = id + ": " + text }); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(warned, "ansible_inventory: If "+path) {
		t.Errorf("warned %q", warned)
	}
}
