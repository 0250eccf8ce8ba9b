package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"bolt/transport"
)

// pack packs a tree that must be accepted.
func pack(t testing.TB, tree transport.Tree) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Pack(&b, tree); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fill creates a tree with all kinds of entries.
func fill(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"a": "A", "a.b": "AB", "a/": "", "d/z": "Z", "d/-n": "", "d/new\nline": "N", "d/\xff\xfe": "not UTF-8",
		"d/" + strings.Repeat("n", 180): strings.Repeat("long", 30_000), strings.Repeat("x/", 60) + "y": "deep", "ro/f": "F", "empty/": "",
	} {
		file := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if name != "a/" {
				mkdir(t, file)
			}
			continue
		}
		mkdir(t, filepath.Dir(file))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o754, "ro/f": 0o4400, "ro": 0o711, "empty": 0o1700} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../a", filepath.Join(dir, "d/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ro", filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestPackIsDeterministic packs equal trees with different places, times and
// file systems.
func TestPackIsDeterministic(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	fill(t, filepath.Join(one, "tree"))
	fill(t, filepath.Join(two, "other"))
	if err := os.Chtimes(filepath.Join(two, "other", "a"), time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := pack(t, transport.Tree{Path: filepath.Join(one, "tree")})
	for name, tree := range map[string]transport.Tree{
		"another place":       {Path: filepath.Join(two, "other"), Name: "tree"},
		"through a link":      {Path: link(t, filepath.Join(one, "tree")), Name: "tree"},
		"a packed tree again": {Path: "tree", FS: open(t, want)},
	} {
		if got := pack(t, tree); sha256.Sum256(got) != sha256.Sum256(want) {
			t.Errorf("%s: other bytes", name)
		}
	}
	if err := os.Chmod(filepath.Join(two, "other", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := pack(t, transport.Tree{Path: filepath.Join(two, "other"), Name: "tree"}); bytes.Equal(got, want) {
		t.Error("other permission bits: the same bytes")
	}
}

func link(t *testing.T, to string) string {
	name := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPackFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	mem := fstest.MapFS{"x/y/f": {Data: []byte("text"), Mode: 0o640}}
	want := pack(t, transport.Tree{Path: filepath.Join(dir, "f")})
	for name, tree := range map[string]transport.Tree{
		"of a file system":         {Path: "x/y/f", FS: mem},
		"of a part of the machine": {Path: "f", FS: os.DirFS(dir)},
		"of another name":          {Path: "f", FS: fstest.MapFS{"f": mem["x/y/f"]}, Name: "f"},
	} {
		if got := pack(t, tree); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes", name)
		}
	}
	h, err := tar.NewReader(bytes.NewReader(want)).Next()
	if err != nil || h.Name != "f" || h.Mode != 0o640 || h.Size != 4 || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

func TestPackRefuses(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, dir+"/loop/in")
	mkdir(t, dir+"/pipe")
	mkdir(t, dir+"/broken")
	for name, to := range map[string]string{"loop/in/up": "..", "broken/link": "nowhere", "self": "self"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(dir+"/pipe/p", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		tree  transport.Tree
		class transport.Class
		err   string
	}{
		{"missing", transport.Tree{Path: dir + "/none"}, transport.ClassFile, "Could not read: stat " + dir + "/none: no such file"},
		{"circle", transport.Tree{Path: dir + "/loop"}, transport.ClassFile, "one of its parent directories"},
		{"circle of a part of the machine", transport.Tree{Path: "loop", FS: os.DirFS(dir)}, transport.ClassFile, "one of its parent directories"},
		{"circle of another file system", transport.Tree{Path: "d", FS: circle{}}, transport.ClassFile, "form a cycle"},
		{"link to itself", transport.Tree{Path: dir + "/self"}, transport.ClassFile, "too many levels"},
		{"broken link", transport.Tree{Path: dir + "/broken"}, transport.ClassFile, "no such file"},
		{"pipe", transport.Tree{Path: dir + "/pipe"}, transport.ClassFile, dir + "/pipe/p: neither"},
		{"device", transport.Tree{Path: "/dev/null"}, transport.ClassFile, "neither"},
		{"root", transport.Tree{Path: "/"}, transport.ClassUnsupported, "not a file name"},
		{"name with a slash", transport.Tree{Path: dir, Name: "a/b"}, transport.ClassUnsupported, "not a file name"},
		{"name that leads up", transport.Tree{Path: dir, Name: ".."}, transport.ClassUnsupported, "not a file name"},
		{"path that a file system has not", transport.Tree{Path: "/etc", FS: os.DirFS("/")}, transport.ClassFile, "invalid"},
		{"list with a path", transport.Tree{Path: "d", FS: lister{"a/../../b"}}, transport.ClassFile, "invalid or duplicate"},
		{"list with a name twice", transport.Tree{Path: "d", FS: lister{"b", "a", "b"}}, transport.ClassFile, "invalid or duplicate"},
		{"file that has less", transport.Tree{Path: "f", FS: shrunk{}}, transport.ClassFile, "read f: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Pack(io.Discard, c.tree)
			e, ok := errors.AsType[*transport.Error](err)
			if !ok || e.Class != c.class || !strings.Contains(e.Msg, c.err) {
				t.Errorf("got %v, want %s: %q", err, c.class, c.err)
			}
		})
	}
}

// circle is a file system in which every directory contains itself.
type circle struct{}

func (circle) Open(name string) (fs.File, error) {
	return fstest.MapFS{name + "/d": {Mode: fs.ModeDir}}.Open(name)
}

// lister is a file system with a directory that lists these names.
type lister []string

func (l lister) Open(name string) (fs.File, error) {
	if name == "d" {
		return fstest.MapFS{"d": {Mode: fs.ModeDir}}.Open(name)
	}
	return fstest.MapFS{"f": {}}.Open("f")
}

func (l lister) ReadDir(string) (list []fs.DirEntry, err error) {
	for _, name := range l {
		list = append(list, &entry{path: strings.ReplaceAll(name, "/", "\x00")})
	}
	return list, nil
}

// shrunk is a file system with a file that is shorter than its size.
type shrunk struct{}

func (shrunk) Open(name string) (fs.File, error) {
	return &openFile{io.NewSectionReader(strings.NewReader("ab"), 0, 2), &entry{path: name, size: 9000, mode: 0o600}}, nil
}

// failing accepts n bytes.
type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestPackReturnsTheWritersError(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	for _, n := range []int{0, 1000, 100_000} {
		if err := Pack(&failing{n}, transport.Tree{Path: dir}); err != errFull {
			t.Errorf("after %d bytes: got %v", n, err)
		}
	}
}

// TestExtractReadsPack packs a tree and extracts it again.
func TestExtractReadsPack(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	fill(t, src)
	root, err := os.OpenRoot(dst)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	packed := pack(t, transport.Tree{Path: src, Name: "tree"})
	if err := Extract(bytes.NewReader(packed), root, "tree", transport.Limits{}); err != nil {
		t.Fatal(err)
	}
	if again := pack(t, transport.Tree{Path: dst + "/tree"}); !bytes.Equal(again, packed) {
		t.Error("what was extracted is another tree")
	}
}
