package ansible

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDirectorySkipsUnreadableFiles checks that a file that cannot be read
// causes a warning, and that a directory without readable files is an error.
func TestDirectorySkipsUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1-binary", "\x7fELF\x02\x01\x01\x00\n\x00\xff")
	write("2-aws.yml", "plugin: amazon.aws.aws_ec2\n")
	if err := os.Symlink("nowhere", filepath.Join(dir, "3-link")); err != nil {
		t.Fatal(err)
	}
	var told []string
	o := Options{Paths: []string{dir}, Warn: func(s string) { told = append(told, s) }}
	if _, err := Read(t.Context(), o); err == nil || !strings.Contains(err.Error(), "3-link: no such file") {
		t.Errorf("got %v", err)
	}
	write("4-good", "good\n")
	told = nil
	inv, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if inv.Host("good") == nil || len(told) != 3 {
		t.Errorf("got %d hosts, told %q", len(inv.Hosts), told)
	}
	for _, name := range []string{"1-binary: line ", "2-aws.yml: it configures", "3-link: no such file"} {
		if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, filepath.Join(dir, name)) }) {
			t.Errorf("told %q, want %q", told, name)
		}
	}
	write("5-many", "a[0:99999]\nb\n")
	if _, err := Read(t.Context(), o); err == nil || !strings.Contains(err.Error(), "more than 100000 hosts") {
		t.Errorf("a limit of the whole is passed over: %v", err)
	}
}

// FuzzTOML reads any text, which must give groups or an error.
func FuzzTOML(f *testing.F) {
	f.Add("[a.hosts.h]\nx = 1\n[a.vars]\ny = 2020-01-02\n[b]\nchildren = ['a']\n")
	f.Add("a = { hosts = { 'h[1:3]' = {} } }\n[[b]]\nc = [ [1], {d=2} ]\n")
	f.Add("[a]\n\"\" = 07:32:00\n[\"\".hosts]\n")
	f.Fuzz(func(t *testing.T, text string) {
		inv := newInventory()
		if err := inv.readTOML([]byte(text), func(string) {}); err == nil {
			inv.finish()
		}
	})
}
