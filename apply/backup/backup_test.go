package backup_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/apply/backup"
)

func TestKeep(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	now := time.Now()
	s := backup.New(dir, func() time.Time { return now })
	for i, text := range []string{"a", "b", "a"} {
		f := filepath.Join(from, fmt.Sprint(i))
		if err := os.WriteFile(f, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := s.Keep(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
		if got, err := os.ReadFile(name); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	var e struct{ Path, SHA256, Mode string }
	if len(lines) != 3 || json.Unmarshal([]byte(lines[1]), &e) != nil || e.Path != filepath.Join(from, "1") || e.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("b"))) || e.Mode != "0640" {
		t.Errorf("%q", list)
	}
	if err := os.Symlink(filepath.Join(from, "0"), filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "none", "."} {
		if err := s.Keep(t.Context(), filepath.Join(from, name)); err == nil {
			t.Errorf("%s was kept", name)
		}
	}
	count := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if err := s.Prune(); err != nil || count() != 3 {
		t.Errorf("%d files, %v", count(), err)
	}
	now = now.Add(100 * 24 * time.Hour)
	if err := s.Prune(); err != nil || count() != 1 {
		t.Errorf("%d files, %v", count(), err)
	}
}
