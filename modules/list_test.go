package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

func TestIn(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "b/", "a/", "Upper/", ".hidden/", "file")
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "file"), filepath.Join(dir, "nodir")); err != nil {
		t.Fatal(err)
	}
	var got string
	for _, m := range In(dir) {
		if m.Dir != filepath.Join(dir, m.Name) {
			t.Errorf("%s is at %s", m.Name, m.Dir)
		}
		got += m.Name + " "
	}
	if got != "a b linked " {
		t.Errorf("got %s", got)
	}
	if In(filepath.Join(dir, "none")) != nil {
		t.Error("there are modules in a directory that is not there")
	}
	p := NewPath(Module{}, dir).With(fstest.MapFS{"z/x": {}, "y/x": {}})
	if list := p.BuiltIn(); len(list) != 2 || list[0].Name != "y" || !list[0].BuiltIn() {
		t.Errorf("built in: %v", list)
	}
}

// BenchmarkModules500 finds 500 modules and lists the directory of tasks of
// each, as lists of tasks do.
func BenchmarkModules500(b *testing.B) {
	dir := b.TempDir()
	for i := range 500 {
		tree(b, dir, fmt.Sprintf("m%d/tasks/init.sh", i), fmt.Sprintf("m%d/tasks/init.json", i), fmt.Sprintf("m%d/metadata.json", i))
	}
	p := NewPath(Module{}, dir)
	for b.Loop() {
		n := 0
		for _, m := range p.All() {
			entries, err := m.ReadDir("tasks")
			if err != nil {
				b.Fatal(err)
			}
			n += len(entries)
		}
		if n != 1000 {
			b.Fatalf("%d files", n)
		}
	}
}
