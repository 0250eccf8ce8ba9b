package file_test

import (
	"strings"
	"testing"

	"bolt/internal/roottest"
)

// TestMounts removes and purges directories in which file systems are mounted. The file systems keep their files.
func TestMounts(t *testing.T) {
	if !roottest.Private(t) {
		return
	}
	m := newMachine(t)
	m.mount("gone/a/fs", "size=64k")
	m.mount("itself", "size=64k")
	m.mount("purged/d/fs", "size=64k")
	for _, file := range []string{"gone/f", "gone/a/fs/kept", "itself/kept", "purged/f", "purged/d/f", "purged/d/fs/kept", "purged/e/f"} {
		m.write(file, "x", 0o600)
	}
	results := m.run(
		res("gone", "ensure", "absent", "force", true, "backup", false), res("itself", "ensure", "file", "force", true, "backup", false),
		res("purged", "ensure", "directory", "recurse", true, "purge", true, "force", true, "backup", false),
	)
	m.check(results, map[string]string{"gone": "failed ", "itself": "failed ", "purged": "unchanged",
		"purged/f": "changed ensure", "purged/d/f": "changed ensure", "purged/e": "changed ensure"})
	if text := messages(results["gone"]); !strings.Contains(text, "a file system is mounted on "+m.path("gone/a/fs")+". Unmount it first") {
		t.Error(text)
	}
	tree := m.tree()
	for _, kept := range []string{"gone/f", "gone/a/fs/kept", "itself/kept", "purged/d/fs/kept"} {
		if !strings.Contains(tree, kept+" ") {
			t.Errorf("%s was removed:\n%s", kept, tree)
		}
	}
	for _, removed := range []string{"purged/f", "purged/d/f", "purged/e"} {
		if strings.Contains(tree, removed+" ") {
			t.Errorf("%s was not removed:\n%s", removed, tree)
		}
	}
}
