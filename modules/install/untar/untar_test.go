package untar

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive makes a tar stream: a name that ends with a slash is a directory, a
// body that begins with "-> " a symbolic link.
func archive(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		name, body := pairs[i], pairs[i+1]
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}
		target, isLink := strings.CutPrefix(body, "-> ")
		switch {
		case isLink:
			h.Typeflag, h.Linkname, h.Size, body = tar.TypeSymlink, target, 0, ""
		case strings.HasSuffix(name, "/"):
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		case strings.HasPrefix(body, "#!"):
			h.Mode = 0o6755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	data := archive(t, "m-1.0/", "", "m-1.0/metadata.json", "old", "m-1.0/metadata.json", "{}", "m-1.0/tasks/init.sh", "#!/bin/sh\n",
		"m-1.0/spec/self", "-> ../..", "m-1.0/here", "-> tasks/init.sh", "m-1.0/nowhere", "-> missing")
	err := Extract(t.Context(), bytes.NewReader(data), dir, Options{Strip: true})
	if err == nil || !strings.Contains(err.Error(), "outside") { // spec/self is m-1.0/.., one too far
		t.Fatalf("a link out of the archive: %v", err)
	}
	dir = t.TempDir()
	data = archive(t, "m-1.0/", "", "m-1.0/metadata.json", "old", "m-1.0/metadata.json", "{}", "m-1.0/tasks/init.sh", "#!/bin/sh\n",
		"m-1.0/spec/self", "-> ..", "m-1.0/here", "-> tasks/init.sh", "m-1.0/nowhere", "-> missing")
	if err := Extract(t.Context(), bytes.NewReader(data), dir, Options{Strip: true}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"metadata.json": "{}", "here": "#!/bin/sh\n", "spec/self/metadata.json": "{}"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]fs.FileMode{"metadata.json": 0o644, "tasks/init.sh": 0o755} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		data []byte
		o    Options
		want string
	}{
		"absolute":           {archive(t, "/etc/x", "x"), Options{}, "not a path inside"},
		"above":              {archive(t, "a/../../x", "x"), Options{}, "not a path inside"},
		"dots inside":        {archive(t, "a/b/../x", "x"), Options{}, "not a path inside"},
		"link absolute":      {archive(t, "a", "-> /etc/passwd"), Options{}, "outside"},
		"link to itself":     {archive(t, "a", "-> a"), Options{}, "leads to itself"},
		"many links":         {archive(t, "0", "-> 1", "1", "-> 2", "2", "-> 3", "3", "-> 4", "4", "-> 5", "5", "-> 6", "6", "-> 7", "7", "-> 8", "8", "-> 9", "9", "-> l/../..", "l", "-> ."), Options{}, "link"},
		"link above":         {archive(t, "a/b", "-> ../../x"), Options{}, "outside"},
		"link through link":  {archive(t, "d/l", "-> .", "d/m", "-> l/../.."), Options{}, "outside"},
		"link out by link":   {archive(t, "x", "-> .", "d/", "", "d/e/", "", "y", "-> x/../d"), Options{}, "outside"},
		"file through link":  {archive(t, "d", "-> .", "d/x", "x"), Options{}, "write d of the archive"},
		"two at the top":     {archive(t, "a/x", "x", "b/x", "x"), Options{Strip: true}, "beside its directory"},
		"file at the top":    {archive(t, "a", "x"), Options{Strip: true}, "where its directory should be"},
		"too deep":           {archive(t, strings.Repeat("a/", 65)+"f", "x"), Options{Files: 2}, "directories deep"},
		"too many":           {archive(t, "a", "x", "b", "x", "c", "x"), Options{Files: 2}, "more than 2 files"},
		"too large":          {archive(t, "a", "0123456789", "b", "0123456789"), Options{Bytes: 15}, "holds more than"},
		"empty":              {archive(t), Options{}, "empty"},
		"cut":                {archive(t, "a", strings.Repeat("x", 2000))[:1024], Options{}, "damaged"},
		"no archive":         {bytes.Repeat([]byte("x"), 2000), Options{}, "damaged"},
		"directory and file": {archive(t, "a/b", "x", "a", "x"), Options{}, "write a of the archive"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			err := Extract(t.Context(), bytes.NewReader(tt.data), dir, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			nothingBeside(t, dir)
		})
	}
}

// nothingBeside fails if the directory above dir holds anything else.
func nothingBeside(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestOtherTypes(t *testing.T) {
	for _, kind := range []byte{tar.TypeLink, tar.TypeFifo, tar.TypeChar, tar.TypeBlock} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Name: "x", Linkname: "y", Typeflag: kind}); err != nil {
			t.Fatal(err)
		}
		if err := Extract(t.Context(), &b, t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "neither a file") {
			t.Errorf("type %c: %v", kind, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := Extract(ctx, bytes.NewReader(archive(t, "a", "x")), t.TempDir(), Options{}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

// FuzzExtract: whatever the archive says, nothing is written or linked outside.
func FuzzExtract(f *testing.F) {
	f.Add(archive(f, "m/", "", "m/a", "x", "m/l", "-> a"), true)
	f.Add(archive(f, "d/l", "-> .", "d/m", "-> l/../.."), false)
	f.Add(archive(f, "a/../../x", "x"), false)
	f.Fuzz(func(t *testing.T, data []byte, strip bool) {
		dir := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		err := Extract(t.Context(), bytes.NewReader(data), dir, Options{Strip: strip, Files: 50, Bytes: 1 << 16})
		nothingBeside(t, dir)
		if err != nil {
			return
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink == 0 {
				return err
			}
			rel, _ := filepath.Rel(dir, name)
			if _, err := root.Stat(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("link %s leads out: %v", rel, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
