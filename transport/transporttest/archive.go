package transporttest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"bolt/transport"
)

// fileSystemCases copy from a Tree's own file system.
func fileSystemCases() []testCase {
	return []testCase{
		{"file of a file system", func(t *testing.T, m *machine) {
			c := m.dial(t)
			dst := worldDir(t)
			mem := fstest.MapFS{"x/y/f": {Data: []byte("content\x00\n"), Mode: 0o640}, "x/empty": {Mode: 0o600}}
			put(t, c, transport.Tree{Path: "x/y/f", FS: mem}, dst)
			put(t, c, transport.Tree{Path: "x/y/f", FS: mem, Name: "g"}, dst)
			put(t, c, transport.Tree{Path: "x/empty", FS: mem}, dst+"/e")
			expectFiles(t, dst, map[string]string{"f": "content\x00\n", "g": "content\x00\n", "e": ""})
			expectMode(t, dst+"/f", 0o640)
		}},
		{"directory of a file system", func(t *testing.T, m *machine) {
			c := m.dial(t)
			dst := worldDir(t)
			big := strings.Repeat("0123456\n", 1<<17)
			mem := fstest.MapFS{
				"src": {Mode: fs.ModeDir | 0o711}, "src/a": {Data: []byte("A"), Mode: 0o754}, "src/sub/big": {Data: []byte(big), Mode: 0o600},
				"src/sub": {Mode: fs.ModeDir | 0o700}, "src/ro": {Mode: fs.ModeDir | 0o555}, "src/ro/b": {Data: []byte("B"), Mode: 0o444}, "other": {Data: []byte("O")},
			}
			put(t, c, transport.Tree{Path: "src", FS: mem, Name: "d"}, dst)
			expectFiles(t, dst, map[string]string{"d/a": "A", "d/sub/big": big, "d/ro/b": "B"})
			for name, mode := range map[string]fs.FileMode{"d": 0o711, "d/a": 0o754, "d/sub": 0o700, "d/sub/big": 0o600, "d/ro": 0o555, "d/ro/b": 0o444} {
				expectMode(t, dst+"/"+name, mode)
			}
		}},
		{"part of the machine as a file system", func(t *testing.T, m *machine) {
			c := m.dial(t)
			src, dst := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"d/a": "A", "out/b": "B"})
			if err := os.Symlink("../out", src+"/d/dir"); err != nil {
				t.Fatal(err)
			}
			put(t, c, transport.Tree{Path: "d", FS: os.DirFS(src)}, dst)
			expectFiles(t, dst, map[string]string{"d/a": "A", "d/dir/b": "B"})
			if err := os.Symlink("..", src+"/d/up"); err != nil {
				t.Fatal(err)
			}
			err := c.Put(testContext(t), transport.Tree{Path: "d", FS: os.DirFS(src)}, dst+"/x", transport.FileOptions{TmpDir: worldDir(t)})
			expectError(t, err, transport.ClassFile, "COPY_ERROR")
		}},
		{"source that a file system has not", func(t *testing.T, m *machine) {
			dst := worldDir(t)
			for _, name := range []string{"none", "/etc/passwd", "../etc/passwd"} {
				err := m.dial(t).Put(testContext(t), transport.Tree{Path: name, FS: fstest.MapFS{"f": {}}}, dst+"/x", transport.FileOptions{TmpDir: dst})
				expectError(t, err, transport.ClassFile, "COPY_ERROR")
			}
			expectEmpty(t, dst)
		}},
	}
}

// archiveCases test the stream of the files that Get would write. A Conn that
// is not an Archiver passes them, too.
func archiveCases() []testCase {
	list := []struct {
		name string
		test func(t *testing.T, a transport.Archiver)
	}{
		{"file", func(t *testing.T, a transport.Archiver) {
			src := worldDir(t)
			text := strings.Repeat("0123456\n", 1<<17)
			writeFiles(t, src, map[string]string{"f": text})
			if err := os.Chmod(src+"/f", 0o640); err != nil {
				t.Fatal(err)
			}
			got := archived(t, a, src+"/f")
			if len(got) != 1 || got["f"] != "-rw-r----- "+text {
				t.Errorf("got %d files, %q", len(got), clip(got["f"]))
			}
		}},
		{"directory", func(t *testing.T, a transport.Archiver) {
			src := worldDir(t)
			writeFiles(t, src, map[string]string{"d/a": "A", "d/s/b": "B", "out/c": "C"})
			if err := os.Symlink("../out", src+"/d/dir"); err != nil {
				t.Fatal(err)
			}
			got := archived(t, a, src+"/d/")
			for name, want := range map[string]string{"d/a": "-rw-r--r-- A", "d/s/b": "-rw-r--r-- B", "d/dir/c": "-rw-r--r-- C", "d": "drwxr-xr-x ", "d/s": "drwxr-xr-x ", "d/dir": "drwxr-xr-x "} {
				if got[name] != want {
					t.Errorf("%s: got %q, want %q", name, got[name], want)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("also there: %q", got)
			}
		}},
		{"source that is missing", func(t *testing.T, a transport.Archiver) {
			err := a.Archive(testContext(t), "/nonexistent/x", io.Discard, transport.FileOptions{})
			if e := expectError(t, err, transport.ClassFile, "WRITE_ERROR"); !strings.Contains(e.Msg, "No such file") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"source without a name", func(t *testing.T, a transport.Archiver) {
			for _, src := range []string{"", "/", "a/..", "a\x00"} {
				err := a.Archive(testContext(t), src, io.Discard, transport.FileOptions{})
				expectError(t, err, transport.ClassUnsupported, "")
			}
		}},
		{"sink that fails", func(t *testing.T, a transport.Archiver) {
			src := worldDir(t)
			writeFiles(t, src, map[string]string{"f": strings.Repeat("0123456\n", 2<<20)})
			full := errors.New("no space")
			err := a.Archive(testContext(t), src+"/f", writer(func([]byte) error { return full }), transport.FileOptions{})
			if e := expectError(t, err, transport.ClassCancelled, ""); !errors.Is(err, full) && !strings.Contains(e.Msg, full.Error()) {
				t.Errorf("got %v", err)
			}
			eventually(t, "tar has ended", func() bool { return !runs(t, src) })
		}},
		{"cancelled", func(t *testing.T, a transport.Archiver) {
			src := worldDir(t)
			writeFiles(t, src, map[string]string{"f": strings.Repeat("0123456\n", 2<<20)})
			ctx, cancel := context.WithCancel(testContext(t))
			err := a.Archive(ctx, src+"/f", writer(func([]byte) error { cancel(); return nil }), transport.FileOptions{})
			expectError(t, err, transport.ClassCancelled, "")
			err = a.Archive(ctx, src+"/f", writer(func([]byte) error { t.Error("output after the end"); return nil }), transport.FileOptions{})
			expectError(t, err, transport.ClassCancelled, "")
			eventually(t, "tar has ended", func() bool { return !runs(t, src) })
		}},
	}
	var cases []testCase
	for _, c := range list {
		cases = append(cases, testCase{c.name, func(t *testing.T, m *machine) {
			if a, ok := m.dial(t).(transport.Archiver); ok {
				c.test(t, a)
			}
		}})
	}
	return cases
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) {
	if err := w(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// archived reads an archive that must exist. It returns mode and text by name.
func archived(t *testing.T, a transport.Archiver, src string) map[string]string {
	t.Helper()
	var stream bytes.Buffer
	if err := a.Archive(testContext(t), src, &stream, transport.FileOptions{}); err != nil {
		t.Fatalf("Archive: %v", err)
	}
	got := make(map[string]string)
	for r := tar.NewReader(&stream); ; {
		h, err := r.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[path.Clean(h.Name)] = h.FileInfo().Mode().String() + " " + string(text)
	}
}
