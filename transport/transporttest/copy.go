package transporttest

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/transport"
)

func copyCases() []testCase {
	return []testCase{
		{"file", func(t *testing.T, m *machine) { copyFile(t, m, "content\x00\n", 0o640) }},
		{"empty file", func(t *testing.T, m *machine) { copyFile(t, m, "", 0o600) }},
		{"program", func(t *testing.T, m *machine) { copyFile(t, m, "#!/bin/sh\n", 0o755) }},
		{"8 MB", func(t *testing.T, m *machine) { copyFile(t, m, strings.Repeat("0123456\n", 1<<20), 0o644) }},
		{"directory", copyDirectory},
		{"into a directory", putInto},
		{"over a file", putOver},
		{"directory into a directory, three times", putThrice},
		{"odd names", oddNames},
		{"name on the way", func(t *testing.T, m *machine) {
			src, dst := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A"})
			put(t, m.dial(t), transport.Tree{Path: src + "/a", Name: "b"}, dst)
			expectFiles(t, dst, map[string]string{"b": "A"})
		}},
		{"links are followed", linksFollowed},
		{"links in a circle", func(t *testing.T, m *machine) {
			src, dst := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"d/a": "A"})
			if err := os.Symlink("..", src+"/d/up"); err != nil {
				t.Fatal(err)
			}
			err := m.dial(t).Put(testContext(t), transport.Tree{Path: src}, dst+"/x", transport.FileOptions{TmpDir: dst})
			expectError(t, err, transport.ClassFile, "COPY_ERROR")
			expectEmpty(t, dst)
		}},
		{"source that is missing", func(t *testing.T, m *machine) {
			c := m.dial(t)
			dst := worldDir(t)
			err := c.Put(testContext(t), transport.Tree{Path: dst + "/none"}, dst+"/x", transport.FileOptions{})
			expectError(t, err, transport.ClassFile, "COPY_ERROR")
			err = c.Get(testContext(t), dst+"/none", dst, transport.FileOptions{})
			if e := expectError(t, err, transport.ClassFile, m.env.downloadCode()); !strings.Contains(e.Msg, "No such file") {
				t.Errorf("got message %q", e.Msg)
			}
			err = c.Get(testContext(t), dst+"/none/deeper", dst, transport.FileOptions{})
			expectError(t, err, transport.ClassFile, m.env.downloadCode())
			expectEmpty(t, dst)
		}},
		{"destination directory that is missing", func(t *testing.T, m *machine) {
			c := m.dial(t)
			src, dst, tmp := worldDir(t), worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A", "d/b": "B"})
			err := c.Put(testContext(t), transport.Tree{Path: src + "/a"}, dst+"/none/", transport.FileOptions{TmpDir: tmp})
			if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); !strings.Contains(e.Msg, "directory does not exist: "+dst+"/none/") {
				t.Errorf("got message %q", e.Msg)
			}
			expectEmpty(t, dst)
			expectEmpty(t, tmp)
			put(t, c, transport.Tree{Path: src + "/d"}, dst+"/none/") // the directory gets this name
			put(t, c, transport.Tree{Path: src + "/a"}, dst+"/none/")
			expectFiles(t, dst, map[string]string{"none/a": "A", "none/b": "B"})
		}},
		{"message about a move", func(t *testing.T, m *machine) {
			src, dst := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A"})
			writeFiles(t, dst, map[string]string{"f": "F"})
			err := m.dial(t).Put(testContext(t), transport.Tree{Path: src + "/a"}, dst+"/f/x", transport.FileOptions{TmpDir: dst})
			if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); strings.Contains(e.Msg, ".bolt-") {
				t.Errorf("got message %q", e.Msg)
			}
			err = m.dial(t).Put(testContext(t), transport.Tree{Path: src}, dst+"/f", transport.FileOptions{TmpDir: dst})
			if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); strings.Contains(e.Msg, ".bolt-") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"failed download", func(t *testing.T, m *machine) {
			dst := worldDir(t)
			err := m.dial(t).Get(testContext(t), dst+"/none", dst+"/new", transport.FileOptions{})
			expectError(t, err, transport.ClassFile, m.env.downloadCode())
			expectEmpty(t, dst)
		}},
		{"destination in a directory that is missing", func(t *testing.T, m *machine) {
			tmp, src := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A"})
			err := m.dial(t).Put(testContext(t), transport.Tree{Path: src + "/a"}, "/nonexistent/dir/x", transport.FileOptions{TmpDir: tmp})
			if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); !strings.Contains(e.Msg, "/nonexistent/dir/") {
				t.Errorf("got message %q", e.Msg)
			}
			expectEmpty(t, tmp)
		}},
		{"tmpdir that is missing", func(t *testing.T, m *machine) {
			src := worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A"})
			err := m.dial(t).Put(testContext(t), transport.Tree{Path: src + "/a"}, worldDir(t)+"/x", transport.FileOptions{TmpDir: "/nonexistent/dir"})
			expectError(t, err, transport.ClassFile, "TMPDIR_ERROR")
		}},
		{"download replaces", getReplaces},
		{"download makes the directory", func(t *testing.T, m *machine) {
			src, dst := worldDir(t), worldDir(t)
			writeFiles(t, src, map[string]string{"a": "A"})
			get(t, m.dial(t), src+"/a", dst+"/not/yet")
			expectFiles(t, dst, map[string]string{"not/yet/a": "A"})
		}},
		{"download of a device", func(t *testing.T, m *machine) {
			err := m.dial(t).Get(testContext(t), "/dev/null", worldDir(t), transport.FileOptions{})
			expectError(t, err, transport.ClassFile, m.env.downloadCode())
		}},
		{"cancelled", func(t *testing.T, m *machine) {
			c := m.dial(t)
			dst := worldDir(t)
			ctx, cancel := context.WithCancel(testContext(t))
			cancel()
			err := c.Put(ctx, transport.Tree{Path: "/etc/passwd"}, dst+"/x", transport.FileOptions{TmpDir: dst})
			expectError(t, err, transport.ClassCancelled, "")
			err = c.Get(ctx, "/etc/passwd", dst+"/y", transport.FileOptions{})
			expectError(t, err, transport.ClassCancelled, "")
		}},
	}
}

func put(t *testing.T, c transport.Conn, src transport.Tree, dst string) {
	t.Helper()
	tmp := worldDir(t)
	if err := c.Put(testContext(t), src, dst, transport.FileOptions{TmpDir: tmp}); err != nil {
		t.Fatalf("Put: %v", err)
	}
	expectEmpty(t, tmp)
}

func get(t *testing.T, c transport.Conn, src, dst string) {
	t.Helper()
	if err := c.Get(testContext(t), src, dst, transport.FileOptions{}); err != nil {
		t.Fatalf("Get: %v", err)
	}
}

// writeFiles creates files with their directories.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// expectFiles compares all regular files below dir.
func expectFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := make(map[string]string)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		name, _ := filepath.Rel(dir, file)
		got[name] = string(text)
		if d.Type() != 0 {
			got[name] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if have, ok := got[name]; !ok || have != text {
			t.Errorf("%s/%s: got %q (there: %v), want %q", dir, name, clip(have), ok, clip(text))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s/%s was not expected", dir, name)
		}
	}
}

func expectMode(t *testing.T, file string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v", file, info.Mode().Perm(), want)
	}
}

func copyFile(t *testing.T, m *machine, text string, mode fs.FileMode) {
	c := m.dial(t)
	src, dst, back := worldDir(t), worldDir(t), worldDir(t)
	if err := os.WriteFile(src+"/f", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(src+"/f", mode); err != nil {
		t.Fatal(err)
	}
	put(t, c, transport.Tree{Path: src + "/f"}, dst+"/g")
	expectFiles(t, dst, map[string]string{"g": text})
	expectMode(t, dst+"/g", mode)
	get(t, c, dst+"/g", back)
	expectFiles(t, back, map[string]string{"g": text})
	expectMode(t, back+"/g", mode)
}

func copyDirectory(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst, back := worldDir(t), worldDir(t), worldDir(t)
	files := map[string]string{
		"d/a.txt": "A", "d/sub/b": strings.Repeat("b", 100_000), "d/sub/deep/.c": "", "d/" + strings.Repeat("n", 180): "long",
		"d/" + strings.Repeat("x/", 60) + "y": "deep",
	}
	writeFiles(t, src, files)
	if err := os.Mkdir(src+"/d/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"d/a.txt": 0o754, "d/sub/deep": 0o500, "d/sub": 0o711} {
		if err := os.Chmod(src+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, transport.Tree{Path: src + "/d"}, dst+"/d")
	get(t, c, dst+"/d", back)
	for _, dir := range []string{dst, back} {
		expectFiles(t, dir, files)
		expectMode(t, dir+"/d/a.txt", 0o754)
		expectMode(t, dir+"/d/sub", 0o711)
		expectMode(t, dir+"/d/sub/deep", 0o500)
		expectMode(t, dir+"/d/empty", 0o755)
	}
}

func putInto(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst := worldDir(t), worldDir(t)
	writeFiles(t, src, map[string]string{"a": "A", "d/b": "B"})
	writeFiles(t, dst, map[string]string{"old": "O", "a": "older"})
	put(t, c, transport.Tree{Path: src + "/a"}, dst)
	put(t, c, transport.Tree{Path: src + "/d"}, dst+"/")
	expectFiles(t, dst, map[string]string{"old": "O", "a": "A", "d/b": "B"})

	writeFiles(t, dst, map[string]string{"x/a/in the way": ""})
	err := c.Put(testContext(t), transport.Tree{Path: src + "/a"}, dst+"/x", transport.FileOptions{})
	expectError(t, err, transport.ClassFile, "MV_ERROR")
	expectFiles(t, dst, map[string]string{"old": "O", "a": "A", "d/b": "B", "x/a/in the way": ""})
}

func putOver(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst := worldDir(t), worldDir(t)
	writeFiles(t, src, map[string]string{"a": "new", "d/b": "B"})
	writeFiles(t, dst, map[string]string{"real": "kept", "f": "old"})
	if err := os.Symlink("real", dst+"/link"); err != nil {
		t.Fatal(err)
	}
	put(t, c, transport.Tree{Path: src + "/a"}, dst+"/f")
	put(t, c, transport.Tree{Path: src + "/a"}, dst+"/link")
	expectFiles(t, dst, map[string]string{"real": "kept", "f": "new", "link": "new"})
	err := c.Put(testContext(t), transport.Tree{Path: src + "/d"}, dst+"/f", transport.FileOptions{})
	expectError(t, err, transport.ClassFile, "MV_ERROR")
	expectFiles(t, dst, map[string]string{"real": "kept", "f": "new", "link": "new"})
}

func putThrice(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst := worldDir(t), worldDir(t)
	writeFiles(t, src, map[string]string{"d/b": "B"})
	put(t, c, transport.Tree{Path: src + "/d"}, dst+"/x")
	expectFiles(t, dst, map[string]string{"x/b": "B"})
	put(t, c, transport.Tree{Path: src + "/d"}, dst+"/x")
	expectFiles(t, dst, map[string]string{"x/b": "B", "x/d/b": "B"})
	tmp := worldDir(t)
	err := c.Put(testContext(t), transport.Tree{Path: src + "/d"}, dst+"/x", transport.FileOptions{TmpDir: tmp})
	if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); !strings.Contains(e.Msg, "not empty") {
		t.Errorf("got message %q", e.Msg)
	}
	expectFiles(t, dst, map[string]string{"x/b": "B", "x/d/b": "B"})
	expectEmpty(t, tmp)
}

func oddNames(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst, back := worldDir(t), worldDir(t), worldDir(t)
	files := map[string]string{"d/-n": "1", "d/it's \"a\" $b\\": "2", "d/*": "3", "d/new\nline": "4", "d/é": "5", "d/ ": "6"}
	writeFiles(t, src, files)
	put(t, c, transport.Tree{Path: src + "/d"}, dst)
	expectFiles(t, dst, files)
	get(t, c, dst+"/d", back)
	expectFiles(t, back, files)
	for name, text := range files {
		one, two := worldDir(t), worldDir(t)
		put(t, c, transport.Tree{Path: src + "/" + name}, one)
		expectFiles(t, one, map[string]string{filepath.Base(name): text})
		get(t, c, dst+"/"+name, two)
		expectFiles(t, two, map[string]string{filepath.Base(name): text})
	}
}

func linksFollowed(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst, back := worldDir(t), worldDir(t), worldDir(t)
	writeFiles(t, src, map[string]string{"d/a": "A", "out/b": "B"})
	for link, to := range map[string]string{"d/file": "a", "d/dir": "../out"} {
		if err := os.Symlink(to, src+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(src+"/d/a", src+"/d/hard"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"d/a": "A", "d/file": "A", "d/dir/b": "B", "d/hard": "A"}
	put(t, c, transport.Tree{Path: src + "/d"}, dst)
	expectFiles(t, dst, want)
	get(t, c, src+"/d", back)
	expectFiles(t, back, want)
}

func getReplaces(t *testing.T, m *machine) {
	c := m.dial(t)
	src, dst, other := worldDir(t), worldDir(t), worldDir(t)
	writeFiles(t, src, map[string]string{"d/a": "new", "d/s/b": "B"})
	writeFiles(t, dst, map[string]string{"d/a": "old and longer"})
	writeFiles(t, other, map[string]string{"a": "untouched"})
	if err := os.Symlink(other, dst+"/d/s"); err != nil {
		t.Fatal(err)
	}
	get(t, c, src+"/d", dst)
	expectFiles(t, dst, map[string]string{"d/a": "new", "d/s/b": "B"})
	expectFiles(t, other, map[string]string{"a": "untouched"})
	if text, err := os.ReadFile(dst + "/d/a"); err != nil || !bytes.Equal(text, []byte("new")) {
		t.Errorf("got %q, %v", text, err)
	}
}
