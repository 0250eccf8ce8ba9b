package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"bolt/transport"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReceive(t *testing.T) {
	good := stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeReg, "base/a", "", 0o640, strings.Repeat("A", 100_000)})
	bad := stream(t, member{tar.TypeReg, "base\x1b[31m/../../x", "", 0o640, strings.Repeat("A", 100_000)})
	below := stream(t, member{tar.TypeReg, "base", "", 0o640, ""}, member{tar.TypeReg, "base/\x1b[31m", "", 0o640, ""})
	fault := &transport.Error{Class: transport.ClassLost, Msg: "the machine's fault", Err: io.ErrUnexpectedEOF}
	// send writes a stream, and then returns an error like every Archiver that
	// is stopped.
	send := func(b []byte, then error) func(io.Writer) error {
		return func(w io.Writer) error {
			for len(b) > 0 {
				n := min(len(b), 5000)
				if _, err := w.Write(b[:n]); err != nil {
					return &transport.Error{Class: transport.ClassCancelled, Msg: "stopped", Err: err}
				}
				b = b[n:]
			}
			return then
		}
	}
	for _, c := range []struct {
		name string
		read func(io.Writer) error
		err  string // "" for no error
		code string
	}{
		{"all of it", send(good, nil), "", ""},
		{"padded", send(append(good[:len(good):len(good)], make([]byte, 50_000)...), nil), "", ""},
		{"all of it, but the machine complains", send(good, fault), "the machine's fault", ""},
		{"nothing", send(nil, nil), "is empty", "WRITE_ERROR"},
		{"nothing, and the machine says why", send(nil, fault), "the machine's fault", ""},
		{"nothing but padding, and the machine says why", send(make([]byte, 20*blockSize), fault), "the machine's fault", ""},
		{"half, and the machine says why", send(good[:30_000], fault), "the machine's fault", ""},
		{"half", send(good[:30_000], nil), "unexpected EOF", "WRITE_ERROR"},
		{"hostile", send(bad, nil), "not below", "WRITE_ERROR"},
		{"file below a file", send(below, nil), "not a directory", "WRITE_ERROR"},
		{"hostile, with an error that it cannot say", send(bad, fault), "not below", "WRITE_ERROR"},
		{"hostile at its end", send(bad[:blockSize], fault), "the machine's fault", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := t.TempDir() + "/made/for/it"
			err := Receive("/srv/base", "web1", dst, transport.Limits{}, c.read)
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if info, err := os.Stat(dst + "/base/a"); err != nil || info.Size() != 100_000 {
					t.Errorf("got %v, %v", info, err)
				}
				return
			}
			e, ok := errors.AsType[*transport.Error](err)
			if !ok || !strings.Contains(e.Msg, c.err) || e.Code != c.code || strings.Contains(e.Msg, "\x1b") {
				t.Errorf("got %#v, want %q", err, c.err)
			}
			if c.code != "" && !strings.HasPrefix(e.Msg, "Could not download /srv/base from web1 to "+dst+"/base: ") {
				t.Errorf("got message %q", e.Msg)
			}
		})
	}
}

func TestReceiveReadsNothingWithoutAPlace(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src, dst string
		class    transport.Class
	}{
		{"", "/tmp", transport.ClassUnsupported},
		{"a\x00b", "/tmp", transport.ClassUnsupported},
		{"/", "/tmp", transport.ClassUnsupported},
		{"a/..", "/tmp", transport.ClassUnsupported},
		{".", "/tmp", transport.ClassUnsupported},
		{"a", file, transport.ClassFile},
		{"a", file + "/below", transport.ClassFile},
	} {
		err := Receive(c.src, "web1", c.dst, transport.Limits{}, func(io.Writer) error {
			t.Errorf("%q to %s: it was read", c.src, c.dst)
			return nil
		})
		if transport.ClassOf(err) != c.class {
			t.Errorf("%q to %s: got %v", c.src, c.dst, err)
		}
	}
}

// TestReceiveLeavesNothingEmpty checks that after an error the directory stays
// only if it has content or existed before.
func TestReceiveLeavesNothingEmpty(t *testing.T) {
	failed := errors.New("no such file")
	send := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := w.Write(b)
			return cmp.Or(err, failed)
		}
	}
	dir := stream(t, member{tar.TypeDir, "base", "", 0o500, ""})
	for _, c := range []struct {
		name string
		sent []byte
		left []string
	}{
		{"nothing", nil, nil},
		{"a directory that could not be read", dir, nil},
		{"a file that is refused", stream(t, member{tar.TypeFifo, "base", "", 0o600, ""}), nil},
		{"a file before the error", stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeReg, "base/a", "", 0o600, "A"}), []string{"base", "base/a"}},
	} {
		parent := t.TempDir()
		dst := parent + "/web1"
		if err := Receive("/srv/base", "web1", dst, transport.Limits{}, send(c.sent)); err == nil {
			t.Fatalf("%s: no error", c.name)
		}
		_, err := os.Stat(dst)
		if (err == nil) != (c.left != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, name := range c.left {
			if _, err := os.Stat(dst + "/" + name); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for _, below := range []string{"/web1", "/web1/base"} {
		parent := t.TempDir()
		if err := os.MkdirAll(parent+below, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Receive("/srv/base", "web1", parent+"/web1", transport.Limits{}, send(dir)); err == nil {
			t.Fatal("no error")
		}
		if _, err := os.Stat(parent + below); err != nil {
			t.Errorf("what was there is gone: %v", err)
		}
	}
}

// TestReceiveNamesTheFlag checks that the error for a limit contains the flag
// that raises it.
func TestReceiveNamesTheFlag(t *testing.T) {
	packed := stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeDir, "base/d", "", 0o700, ""}, member{tar.TypeReg, "base/d/a", "", 0o600, "12345"})
	for flag, limits := range map[string]transport.Limits{"--max-files": {Files: 1}, "--max-size": {Bytes: 1}, "--max-depth": {Depth: 1}} {
		err := Receive("/srv/base", "web1", t.TempDir()+"/web1", limits, func(w io.Writer) error {
			_, err := w.Write(packed)
			return err
		})
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Code != "WRITE_ERROR" || !strings.Contains(e.Hint, flag) {
			t.Errorf("%s: got %#v", flag, err)
		}
	}
}

func TestSource(t *testing.T) {
	for src, want := range map[string][2]string{"/a/b": {"/a", "b"}, "/a": {"/", "a"}, "a/": {".", "a"}, "a//b/": {"a", "b"}, "-a": {".", "-a"}, "..a": {".", "..a"}} {
		if dir, base, err := Source(src); err != nil || dir != want[0] || base != want[1] {
			t.Errorf("%q: got %q, %q, %v", src, dir, base, err)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	files := make(map[string]string)
	for i := range 1000 {
		files[fmt.Sprintf("%04d", i)] = strings.Repeat("x", 2000)
	}
	dir := b.TempDir()
	for name, text := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	packed := pack(b, transport.Tree{Path: dir})
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(packed)))
		for b.Loop() {
			if err := Pack(io.Discard, transport.Tree{Path: dir}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(bytes.NewReader(packed), int64(len(packed))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
