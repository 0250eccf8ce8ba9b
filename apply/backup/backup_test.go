package backup_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// TestLimit checks that the oldest copies make room for others.
func TestLimit(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, days := range map[string]int{"oldest": 9, "old": 5, "yesterday": 2, "today": 0} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := now.AddDate(0, 0, -days)
		if err := errors.Join(os.Truncate(path, 500<<20), os.Chtimes(path, at, at)); err != nil { // sparse
			t.Fatal(err)
		}
	}
	left := func(want ...string) {
		t.Helper()
		var names []string
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, %v", names, err)
		}
	}
	s := backup.New(dir, func() time.Time { return now })
	if err := s.Prune(); err != nil {
		t.Error(err)
	}
	left("today", "yesterday")
	now = now.Add(time.Hour)
	if err := errors.Join(os.Truncate(filepath.Join(dir, "today"), 2<<30), s.Prune()); err != nil {
		t.Error(err)
	}
	left("today")
}
