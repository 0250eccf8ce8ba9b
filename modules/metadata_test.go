package modules

import (
	"os"
	"path/filepath"
	"testing"

	"bolt/format/ordered"
)

func TestGroups(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/web/metadata.json": `{"name": "me-web", "version": "1.0.0"}`, "a/odd/metadata.json": `[]`, "managed/bare/README": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	managed := filepath.Join(dir, "managed")
	p := NewPath(Module{}, filepath.Join(dir, "a"), filepath.Join(dir, "absent"), managed)
	odd := 0
	groups := p.Groups(managed, func(m Module) *ordered.Map {
		metadata, err := m.Metadata(t.Context())
		if err != nil {
			odd++
		}
		return metadata
	})
	if len(groups) != 2 || groups[1].Title != "Project Dependencies" || odd != 1 {
		t.Fatalf("groups: %+v, %d without metadata that can be read", groups, odd)
	}
	for i, want := range []struct{ name, version string }{{"odd", ""}, {"me/web", "1.0.0"}} {
		if m := &groups[0].Modules[i]; m.FullName() != want.name || m.Version() != want.version {
			t.Errorf("module %d is %s %s, want %+v", i, m.FullName(), m.Version(), want)
		}
	}
}
