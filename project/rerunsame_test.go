package project

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRerunUnchanged checks that a file with the same content stays, unless others can read it.
func TestRerunUnchanged(t *testing.T) {
	r := Rerun{Path: filepath.Join(t.TempDir(), "rerun.json")}
	save := func(ok bool) os.FileInfo {
		t.Helper()
		if err := r.Save([]RerunEntry{{"web1", ok}}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(r.Path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := save(true)
	if !os.SameFile(first, save(true)) {
		t.Error("the file was replaced")
	}
	if os.SameFile(first, save(false)) {
		t.Error("the file was not replaced")
	}
	if err := os.Chmod(r.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	if info := save(false); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}
