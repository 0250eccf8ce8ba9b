package roottest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOwnEtc adds a user to the lower directory while a root is in use. The root neither changes nor has the lock.
func TestOwnEtc(t *testing.T) {
	lower := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "etc"), 0o755), os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(lower, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(lower, "passwd", "root:x:0:0::/root:/bin/sh\n")
	write(lower, "other", "x")
	write(lower, "group.lock", "1")
	root := New(t, lower)
	lock := filepath.Join(root, "etc/passwd.lock")
	lockAsUseradd := func() {
		t.Helper()
		if err := errors.Join(os.Link(filepath.Join(root, "etc/passwd"), lock), os.Remove(lock)); err != nil {
			t.Error(err)
		}
	}
	lockAsUseradd()
	write(lower, "passwd.lock", "1")
	write(lower, "passwd.new", "root:x:0:0::/root:/bin/sh\nnew:x:1:1::/:/bin/sh\n")
	if err := os.Rename(filepath.Join(lower, "etc/passwd.new"), filepath.Join(lower, "etc/passwd")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err != nil || string(text) != "root:x:0:0::/root:/bin/sh\n" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(root, "etc/passwd")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{"passwd.lock", "group.lock"} {
		if _, err := os.Stat(filepath.Join(root, "etc", name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lockAsUseradd()
	if text, err := os.ReadFile(filepath.Join(root, "etc/other")); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(filepath.Join(lower, "etc")); err != nil || len(entries) != 4 {
		t.Errorf("the lower directory has %v, %v", entries, err)
	}
}
