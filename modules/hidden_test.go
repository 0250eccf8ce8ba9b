package modules

import (
	"path/filepath"
	"testing"
	"testing/fstest"
)

func TestHidden(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "one/depot/", "two/depot/", "two/other/", "project/")
	builtin := fstest.MapFS{"facts/metadata.json": {}}
	for name, want := range map[string]string{
		"depot": filepath.Join(dir, "one", "depot"), "facts": "builtin:/facts", "alone": "", "": "",
	} {
		p := NewPath(Module{Name: name, Dir: filepath.Join(dir, "project")}, filepath.Join(dir, "one"), filepath.Join(dir, "two")).With(builtin)
		if m, ok := p.Hidden(); m.Dir != want || ok != (want != "") {
			t.Errorf("a project called %q hides %v, %v; want %q", name, m, ok, want)
		}
	}
}
