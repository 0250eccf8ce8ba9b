package archive

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type member struct {
	kind       byte
	name, link string
	mode       int64
	text       string
}

func stream(t testing.TB, entries ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Linkname: e.link, Mode: e.mode, Size: int64(len(e.text))}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []member
		err     string
		files   map[string]string
	}{
		{"file", []member{{tar.TypeReg, "./base", "", 0o640, "A"}}, "", map[string]string{"base": "A"}},
		{"directory", []member{{tar.TypeDir, "base/", "", 0o500, ""}, {tar.TypeReg, "base/a", "", 0o4755, "A"}}, "", map[string]string{"base/a": "A"}},
		{"file twice", []member{{tar.TypeReg, "base", "", 0o400, "A"}, {tar.TypeReg, "base", "", 0o400, "B"}}, "", map[string]string{"base": "B"}},
		{"hard link", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeReg, "base/a", "", 0o400, "A"}, {tar.TypeLink, "base/b", "base/a", 0, ""}}, "", map[string]string{"base/a": "A", "base/b": "A"}},
		{"nothing", nil, "empty", nil},
		{"absolute", []member{{tar.TypeReg, "/base", "", 0o600, "A"}}, "not below", nil},
		{"out of it", []member{{tar.TypeReg, "base/../../x", "", 0o600, "A"}}, "not below", nil},
		{"beside it", []member{{tar.TypeReg, "other", "", 0o600, "A"}}, "not below", nil},
		{"name that begins alike", []member{{tar.TypeReg, "base2", "", 0o600, "A"}}, "not below", nil},
		{"symbolic link", []member{{tar.TypeSymlink, "base", "/etc", 0o777, ""}}, "neither", nil},
		{"device", []member{{tar.TypeChar, "base", "", 0o666, ""}}, "neither", nil},
		{"pipe", []member{{tar.TypeFifo, "base", "", 0o666, ""}}, "neither", nil},
		{"hard link out of it", []member{{tar.TypeLink, "base", "../secret", 0, ""}}, "not below", nil},
		{"hard link to itself", []member{{tar.TypeReg, "base", "", 0o600, "A"}, {tar.TypeLink, "base", "base", 0, ""}}, "to itself", nil},
		{"hard link to a directory", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeLink, "base/a", "base", 0, ""}}, "no file", nil},
		{"file in a file", []member{{tar.TypeReg, "base", "", 0o600, "A"}, {tar.TypeReg, "base/a", "", 0o600, "A"}}, "not a directory", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			if err := os.WriteFile(filepath.Join(top, "secret"), []byte("S"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(top, "dst")
			err := extractInto(t, dir, stream(t, c.entries...))
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("got error %v, want %q", err, c.err)
			}
			for name, text := range c.files {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
					t.Errorf("%s: got %q, %v", name, got, err)
				}
			}
			if got, _ := filepath.Glob(top + "/*"); len(got) != 2 {
				t.Errorf("something was written outside: %v", got)
			}
		})
	}
}

func extractInto(t testing.TB, dir string, stream []byte) error {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return Extract(bytes.NewReader(stream), root, "base")
}

func TestExtractSetsModes(t *testing.T) {
	dir := t.TempDir()
	err := extractInto(t, dir, stream(t, member{tar.TypeDir, "base", "", 0o510, ""}, member{tar.TypeReg, "base/a", "", 0o6751, "A"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"base": fs.ModeDir | 0o510, "base/a": 0o751} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestExtractLeavesNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	stream := stream(t, member{tar.TypeReg, "base", "", 0o600, strings.Repeat("A", 5000)})
	if err := extractInto(t, dir, stream[:3000]); err == nil {
		t.Error("a stream that was cut: no error")
	}
	if left, _ := filepath.Glob(dir + "/*"); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestExtractDoesNotFollowLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, "base")); err != nil {
		t.Fatal(err)
	}
	if err := extractInto(t, dir, stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeReg, "base/a", "", 0o600, "A"})); err != nil {
		t.Fatal(err)
	}
	if got, _ := filepath.Glob(other + "/*"); got != nil {
		t.Errorf("written through a link: %v", got)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(stream(f, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeReg, "base/a", "", 0o600, "A"}, member{tar.TypeLink, "base/b", "base/a", 0, ""}))
	f.Add(stream(f, member{tar.TypeReg, "base/../../x", "", 0o600, "A"}))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		top := t.TempDir()
		_ = extractInto(t, filepath.Join(top, "dst"), stream) // any error will do
		if got, _ := filepath.Glob(top + "/*"); len(got) != 1 {
			t.Errorf("something was written outside: %v", got)
		}
	})
}
