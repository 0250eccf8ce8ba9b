package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"bolt/transport"
)

// open opens an archive that must be accepted.
func open(t testing.TB, packed []byte) *FS {
	t.Helper()
	f, err := Open(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOpen(t *testing.T) {
	mem := fstest.MapFS{
		"src/a": {Data: []byte("A"), Mode: 0o640}, "src/a.b": {Data: []byte("AB"), Mode: 0o755}, "src/a-": {}, "src/b/c/d": {Data: []byte("D")},
		"src/b.c": {Data: bytes.Repeat([]byte("x"), 5000)}, "src/empty": {Mode: fs.ModeDir | 0o710}, "src/z": {},
	}
	f := open(t, pack(t, transport.Tree{Path: "src", Name: "top", FS: mem}))
	if err := fstest.TestFS(f, "top", "top/a", "top/a.b", "top/a-", "top/b/c/d", "top/b.c", "top/empty", "top/z"); err != nil {
		t.Error(err)
	}
	if f.Top() != "top" {
		t.Errorf("got top %q", f.Top())
	}
	for name, want := range map[string]fs.FileMode{"top/a": 0o640, "top/a.b": 0o755, "top/empty": fs.ModeDir | 0o710} {
		if info, err := fs.Stat(f, name); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want mode %v", name, info, err, want)
		}
	}
	for name, want := range map[string]string{"top/a": "A", "top/b/c/d": "D", "top/b.c": strings.Repeat("x", 5000), "top/z": ""} {
		if text, err := fs.ReadFile(f, name); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]error{"top/none": fs.ErrNotExist, "other": fs.ErrNotExist, "top/a/x": fs.ErrNotExist, "/top": fs.ErrInvalid, "top/": fs.ErrInvalid, "": fs.ErrInvalid} {
		if _, err := f.Open(name); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	if _, err := fs.ReadDir(f, "top/a"); err == nil {
		t.Error("a file is listed")
	}
	file := open(t, pack(t, transport.Tree{Path: "src/a", FS: mem}))
	if err := fstest.TestFS(file, "a"); err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	f := open(t, pack(t, transport.Tree{Path: "a", FS: fstest.MapFS{"a": {}}}))
	tree := transport.Tree{Path: "a", FS: f}
	if got := Describe(tree); got != "a" {
		t.Errorf("got %q", got)
	}
	f.Origin = "/srv/a"
	if got := Describe(tree); got != "/srv/a" {
		t.Errorf("got %q", got)
	}
}

// packedHeaders returns an archive with changed headers of Pack.
func packedHeaders(t testing.TB, change func(*tar.Header), members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Typeflag: m.kind, Name: m.name, Linkname: m.link, Mode: m.mode, Size: int64(len(m.text)), ModTime: packedAt, Format: tar.FormatGNU}
		if change != nil {
			change(h)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dirOf(names ...string) []member {
	list := []member{{tar.TypeDir, "d/", "", 0o700, ""}}
	for _, name := range names {
		list = append(list, member{tar.TypeReg, name, "", 0o600, "text"})
	}
	return list
}

func TestOpenRefuses(t *testing.T) {
	good := packedHeaders(t, nil, dirOf("d/a")...)
	open(t, good)
	file := []member{{tar.TypeReg, "f", "", 0o600, "text"}}
	for _, c := range []struct {
		name   string
		packed []byte
		err    string
	}{
		{"nothing", nil, "empty"},
		{"no entries", packedHeaders(t, nil), "empty"},
		{"no archive", bytes.Repeat([]byte("x"), 2048), "header"},
		{"cut in a header", good[:700], "EOF"},
		{"cut in a file", good[:1026], "EOF"},
		{"cut before its end", good[:len(good)-trailer], "end"},
		{"cut in its end", good[:len(good)-blockSize], "end"},
		{"more behind its end", append(slices.Clone(good), make([]byte, blockSize)...), "end"},
		{"two at the top", packedHeaders(t, nil, append(dirOf(), file...)...), "in no directory"},
		{"file in a file", packedHeaders(t, nil, append(slices.Clone(file), member{tar.TypeReg, "f/a", "", 0o600, ""})...), "in no directory"},
		{"directory missing", packedHeaders(t, nil, dirOf("d/a/b")...), "in no directory"},
		{"top in a directory", packedHeaders(t, nil, member{tar.TypeReg, "a/b", "", 0o600, ""}), "in no directory"},
		{"twice", packedHeaders(t, nil, dirOf("d/a", "d/a")...), "out of order"},
		{"unsorted", packedHeaders(t, nil, dirOf("d/b", "d/a")...), "out of order"},
		{"leads up", packedHeaders(t, nil, dirOf("d/..")...), "not a path"},
		{"not clean", packedHeaders(t, nil, dirOf("d//a")...), "not a path"},
		{"absolute", packedHeaders(t, nil, member{tar.TypeReg, "/a", "", 0o600, ""}), "not a path"},
		{"dot", packedHeaders(t, nil, member{tar.TypeDir, "./", "", 0o600, ""}), "not a path"},
		{"directory without a slash", packedHeaders(t, nil, member{tar.TypeDir, "d", "", 0o600, ""}), "not a path"},
		{"directory with two slashes", packedHeaders(t, nil, member{tar.TypeDir, "d//", "", 0o600, ""}), "not a path"},
		{"path that is too long", packedHeaders(t, nil, dirOf("d/"+strings.Repeat("n", maxPath))...), "not a path"},
		{"link", packedHeaders(t, nil, member{tar.TypeSymlink, "a", "/etc", 0o777, ""}), "neither"},
		{"hard link", packedHeaders(t, nil, append(dirOf("d/a"), member{tar.TypeLink, "d/b", "d/a", 0o600, ""})...), "neither"},
		{"device", packedHeaders(t, nil, member{tar.TypeChar, "a", "", 0o666, ""}), "neither"},
		{"setuid", packedHeaders(t, nil, member{tar.TypeReg, "a", "", 0o4755, ""}), "unexpected fields"},
		{"owner", packedHeaders(t, func(h *tar.Header) { h.Uid = 1 }, file...), "unexpected fields"},
		{"owner's name", packedHeaders(t, func(h *tar.Header) { h.Uname = "root" }, file...), "unexpected fields"},
		{"time", packedHeaders(t, func(h *tar.Header) { h.ModTime = time.Unix(1, 0) }, file...), "unexpected fields"},
		{"another time", packedHeaders(t, func(h *tar.Header) { h.AccessTime = time.Unix(1, 0) }, file...), "unexpected fields"},
		{"device number", packedHeaders(t, func(h *tar.Header) { h.Devmajor = 1 }, file...), "unexpected fields"},
		{"old format", packedHeaders(t, func(h *tar.Header) { h.Format = tar.FormatUSTAR }, file...), "unexpected fields"},
		{"pax format", packedHeaders(t, func(h *tar.Header) { h.Format = tar.FormatPAX }, file...), "unexpected fields"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(bytes.NewReader(c.packed), int64(len(c.packed)))
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

// TestOpenBoundsItsIndex checks the exact limits for entries and bytes.
func TestOpenBoundsItsIndex(t *testing.T) {
	packed := packedHeaders(t, nil, dirOf("d/a", "d/b")...)
	for _, c := range []struct {
		entries, names int
		err            string
	}{
		{3, 7, ""},
		{2, 7, "more than 2 files"},
		{3, 6, "paths take more than 6 bytes"},
	} {
		x := indexer{from: io.NewSectionReader(bytes.NewReader(packed), 0, int64(len(packed))), size: int64(len(packed)), fs: new(FS), maxEntries: c.entries, maxNames: c.names}
		if err := x.read(); c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%d entries, %d bytes: got %v, want %q", c.entries, c.names, err, c.err)
		}
	}
}

// FuzzOpen checks that every accepted archive is a valid file system, and that
// packing it again gives an archive of Pack.
func FuzzOpen(f *testing.F) {
	f.Add(packedHeaders(f, nil, dirOf("d/a", "d/b")...))
	f.Add(packedHeaders(f, nil, dirOf("d/"+strings.Repeat("n", 200))...))
	f.Add(pack(f, transport.Tree{Path: "s", FS: fstest.MapFS{"s/a": {}, "s/a.b": {}, "s/a-/c": {Data: []byte("C")}}}))
	f.Add(packedHeaders(f, nil, member{tar.TypeReg, "f", "", 0o600, "text"}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		packed = summed(packed)
		files, err := Open(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return
		}
		again := pack(t, transport.Tree{Path: files.Top(), FS: files})
		if !bytes.Equal(pack(t, transport.Tree{Path: files.Top(), FS: open(t, again)}), again) {
			t.Error("packed twice it is another tree")
		}
		if len(again) > len(packed) {
			t.Errorf("packed again it has %d bytes, before %d", len(again), len(packed))
		}
		if !fs.ValidPath(files.Top()) || bytes.ContainsFunc(packed, func(r rune) bool { return r == '\ufffd' }) {
			return // TestFS requires UTF-8
		}
		if err := fstest.TestFS(files, files.Top()); err != nil {
			t.Error(err)
		}
	})
}

// summed sets the checksum of every block that looks like a header, so that the
// fuzzer gets past the check.
func summed(packed []byte) []byte {
	packed = bytes.Clone(packed)
	for block := range slices.Chunk(packed, blockSize) {
		if len(block) < blockSize || string(block[257:262]) != "ustar" {
			continue
		}
		copy(block[148:156], "        ") // counts as blanks
		sum := 0
		for _, b := range block {
			sum += int(b)
		}
		copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return packed
}
