package local

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"bolt/transport"
	"bolt/transport/archive"
	"bolt/transport/shell"
)

// packed returns a tree that was packed and opened again.
func packed(t *testing.T, tree transport.Tree) *archive.FS {
	t.Helper()
	var b bytes.Buffer
	if err := archive.Pack(&b, tree); err != nil {
		t.Fatal(err)
	}
	f, err := archive.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPutOfAPackedTree checks that a copy from an archive equals a copy from
// its source: the same files, new on the machine, and the same messages.
func TestPutOfAPackedTree(t *testing.T) {
	dir := t.TempDir()
	s, o := starter{}, shell.Options{Host: "web1"}
	for _, tree := range []transport.Tree{
		{Path: "f", FS: fstest.MapFS{"f": {Data: []byte("text"), Mode: 0o640}}},
		{Path: "d", FS: fstest.MapFS{"d/f": {Data: []byte("text"), Mode: 0o640}}},
	} {
		f := packed(t, tree)
		if err := shell.Put(t.Context(), s, transport.Tree{Path: f.Top(), FS: f}, dir, transport.FileOptions{}, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"f", "d", "d/f"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || time.Since(info.ModTime()).Abs() > time.Hour {
			t.Errorf("%s: got %v, %v", name, info, err)
		}
		if err == nil && !info.IsDir() && info.Mode() != 0o640 {
			t.Errorf("%s: got mode %v", name, info.Mode())
		}
	}
	f := packed(t, transport.Tree{Path: "f", FS: fstest.MapFS{"f": {}}})
	f.Origin = "/srv/files/f"
	refusing := starter{shell: []string{script(t, "cat >/dev/null; exit 9")}}
	err := shell.Put(t.Context(), refusing, transport.Tree{Path: "f", FS: f}, dir, transport.FileOptions{}, o)
	if want := "Could not upload /srv/files/f to " + dir + " on web1: exit status 9"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestPutSourceThatIsNoFile checks that Put does not wait for the writer of a
// pipe.
func TestPutSourceThatIsNoFile(t *testing.T) {
	pipe := t.TempDir() + "/pipe"
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	err := shell.Put(t.Context(), starter{}, transport.Tree{Path: pipe}, t.TempDir(), transport.FileOptions{}, shell.Options{Host: "web1"})
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Code != "COPY_ERROR" || !strings.Contains(e.Msg, pipe+": neither") {
		t.Errorf("got %v", err)
	}
}

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// machineTar replaces tar on the machine by a program that sends an archive and
// ends with the line then.
func machineTar(t *testing.T, stream []byte, then string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stream")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Rename(script(t, "cat "+file+"\n"+then), bin+"/tar"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestErrorOfFailedDownload checks which error is returned if a download fails on
// both sides.
func TestErrorOfFailedDownload(t *testing.T) {
	var b bytes.Buffer
	w := archive.NewWriter(&b, time.Now())
	text := bytes.Repeat([]byte("x"), 300_000)
	if err := errors.Join(w.File("f", 0o600, int64(len(text)), bytes.NewReader(text)), w.Close()); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	var evil bytes.Buffer
	tw := tar.NewWriter(&evil)
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../f", Mode: 0o600, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := tw.Write(text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		stream []byte
		then   string
		err    string // "" for no error
	}{
		{"both are content", good, "exit 0", ""},
		{"a file has changed", good, "echo tar: f: file changed as we read it >&2; exit 1", ""},
		{"the machine complains at the end", good, "echo tar: bad disk >&2; exit 2", "Could not download /srv/f from web1: tar: bad disk"},
		{"the machine complains in the middle", good[:100_000], "echo tar: bad disk >&2; exit 2", "Could not download /srv/f from web1: tar: bad disk"},
		{"the machine is killed", good[:100_000], "kill -9 $$", "Could not download /srv/f from web1: Killed"},
		{"the machine sends nothing and complains", nil, "echo tar: no >&2; exit 2", "Could not download /srv/f from web1: tar: no"},
		{"the machine sends nothing", nil, "exit 0", "Could not download /srv/f from web1 to DST/f: the archive from the machine is empty"},
		{"the machine sends half", good[:100_000], "exit 0", "Could not download /srv/f from web1 to DST/f: unexpected EOF"},
		{"we refuse what it sends", evil.Bytes(), "exit 0", `Could not download /srv/f from web1 to DST/f: the archive from the machine has an entry "../f" that is not below "f"`},
		{"we refuse what it sends, and it complains", evil.Bytes(), "echo tar: bad disk >&2; exit 2", `Could not download /srv/f from web1 to DST/f: the archive from the machine has an entry "../f" that is not below "f"`},
		{"we refuse what it sends without end", evil.Bytes(), "cat /dev/zero", `Could not download /srv/f from web1 to DST/f: the archive from the machine has an entry "../f" that is not below "f"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			machineTar(t, c.stream, c.then)
			dst := t.TempDir()
			err := shell.Get(t.Context(), starter{}, "/srv/f", dst, transport.FileOptions{}, shell.Options{Host: "web1"})
			want := strings.ReplaceAll(c.err, "DST", dst)
			if c.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*transport.Error](err); !ok || e.Class != transport.ClassFile || e.Code != "WRITE_ERROR" || e.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// TestLoginShellThatPrintsTooMuch checks that the copy does not begin.
func TestLoginShellThatPrintsTooMuch(t *testing.T) {
	s, o := starter{shell: []string{script(t, "yes | head -c 200000\nexec /bin/sh \"$@\"")}}, shell.Options{Host: "web1"}
	dst := t.TempDir()
	for name, err := range map[string]error{
		"Get":     shell.Get(t.Context(), s, "/etc/passwd", dst, transport.FileOptions{}, o),
		"Archive": shell.Archive(t.Context(), s, "/etc/passwd", &bytes.Buffer{}, transport.FileOptions{}, o),
	} {
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Class != transport.ClassFile || e.Code != "WRITE_ERROR" || !strings.Contains(e.Msg, "prints too much") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if left, _ := filepath.Glob(dst + "/*"); left != nil {
		t.Errorf("left: %v", left)
	}
}

// TestArchiveUnderANoisyLoginShell checks that the stream does not contain the
// shell's output.
func TestArchiveUnderANoisyLoginShell(t *testing.T) {
	eachShell(t, func(t *testing.T, s shell.Starter, o shell.Options) {
		src := t.TempDir()
		if err := os.WriteFile(src+"/f", []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		noisy := starter{shell: append([]string{script(t, "echo welcome; exec \"$@\"")}, s.(starter).shell...)}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var b bytes.Buffer
		if err := shell.Archive(ctx, noisy, src+"/f", &b, transport.FileOptions{}, o); err != nil {
			t.Fatal(err)
		}
		h, err := tar.NewReader(&b).Next()
		if err != nil || h.Size != 4 {
			t.Errorf("got %+v, %v", h, err)
		}
	})
}
