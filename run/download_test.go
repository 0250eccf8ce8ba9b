package run_test

import (
	"os"
	"path/filepath"
	"testing"

	"bolt/format/fault"
	"bolt/run"
	"bolt/transport"
)

// TestNewDownload checks that RemoveEmpty removes only empty directories that were
// missing before, and that a file is refused as the destination.
func TestNewDownload(t *testing.T) {
	dir := t.TempDir()
	list := targets(t, `{"targets": ["a"]}`, "a")
	d, err := run.NewDownload("/etc/motd", filepath.Join(dir, "x", "y"), transport.Limits{}, list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.RemoveEmpty()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = run.NewDownload("/etc/motd", file, transport.Limits{}, list)
	if f, ok := err.(*fault.Error); !ok || f.Kind != "bolt/file-exist-error" {
		t.Errorf("%v", err)
	}
}
