package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/transport"
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
		{"hard link to a directory", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeLink, "base/a", "base", 0, ""}}, "not one of its files", nil},
		{"hard link to what comes later", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeLink, "base/a", "base/b", 0, ""}, {tar.TypeReg, "base/b", "", 0o600, "A"}}, "not one of its files", nil},
		{"hard link to a file that a directory has replaced", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeReg, "base/a", "", 0o600, "A"}, {tar.TypeDir, "base/a", "", 0o700, ""}, {tar.TypeLink, "base/b", "base/a", 0, ""}}, "not one of its files", nil},
		{"hard link in place of its file's directory", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeDir, "base/d", "", 0o700, ""}, {tar.TypeReg, "base/d/a", "", 0o600, "A"}, {tar.TypeLink, "base/d", "base/d/a", 0, ""}}, "no such file", nil},
		{"directories without permissions", []member{{tar.TypeDir, "base", "", 0o500, ""}, {tar.TypeDir, "base/a", "", 0, ""}, {tar.TypeDir, "base/b", "", 0o100, ""}, {tar.TypeReg, "base/a/x", "", 0o400, "X"}, {tar.TypeReg, "base/b/y", "", 0o400, "Y"}}, "", map[string]string{"base/a/x": "X", "base/b/y": "Y"}},
		{"directories in any order", []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeDir, "base/a", "", 0o700, ""}, {tar.TypeDir, "base/a/b", "", 0o700, ""}, {tar.TypeReg, "base/x", "", 0o600, "X"}, {tar.TypeReg, "base/a/b/y", "", 0o600, "Y"}, {tar.TypeReg, "base/a/z", "", 0o600, "Z"}}, "", map[string]string{"base/x": "X", "base/a/b/y": "Y", "base/a/z": "Z"}},
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
	return extractWithin(t, dir, stream, transport.Limits{})
}

func extractWithin(t testing.TB, dir string, stream []byte, limits transport.Limits) error {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return Extract(bytes.NewReader(stream), root, "base", limits)
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

// TestExtractRefusesSparseFiles extracts archives as written by "tar --sparse"
// for a file of 1 TiB without data, and headers with impossible sizes.
func TestExtractRefusesSparseFiles(t *testing.T) {
	src := t.TempDir()
	if err := os.WriteFile(src+"/base", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(src+"/base", 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"gnu", "posix"} {
		for _, version := range []string{"0.0", "0.1", "1.0"} {
			packed, err := exec.Command("tar", "-cSf", "-", "--format="+format, "--sparse-version="+version, "-C", src, "base").Output()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := extractInto(t, dir, packed); err == nil || !strings.Contains(err.Error(), "neither a regular file") {
				t.Errorf("%s %s: got %v", format, version, err)
			}
		}
	}
	good := stream(t, member{tar.TypeReg, "base", "", 0o600, "A"})
	for name, size := range map[string]string{"negative": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "huge": "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", "no number": "-1          "} {
		packed := bytes.Clone(good)
		copy(packed[124:136], size)
		if err := extractInto(t, t.TempDir(), summed(packed)); err == nil {
			t.Errorf("%s size: no error", name)
		}
	}
}

// TestExtractLinks checks that a hard link uses no disk space, and that only
// earlier files of the stream can be link targets.
func TestExtractLinks(t *testing.T) {
	dir := t.TempDir()
	members := []member{{tar.TypeDir, "base", "", 0o700, ""}, {tar.TypeDir, "base/d", "", 0o700, ""}, {tar.TypeReg, "base/a", "", 0o640, strings.Repeat("A", 1000)}}
	for _, name := range []string{"base/b", "base/d/c", "base/d/d"} {
		members = append(members, member{tar.TypeLink, name, "base/a", 0, ""})
	}
	members = append(members, member{tar.TypeLink, "base/d/e", "base/d/c", 0, ""})
	if err := extractWithin(t, dir, stream(t, members...), transport.Limits{Bytes: 1000}); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(dir + "/base/a")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "d/c", "d/d", "d/e"} {
		info, err := os.Stat(dir + "/base/" + name)
		if err != nil || !os.SameFile(first, info) || info.Mode() != 0o640 {
			t.Errorf("%s: got %v, %v", name, info, err)
		}
	}

	// A file from before the download is not a link target.
	old := t.TempDir()
	if err := errors.Join(os.Mkdir(old+"/base", 0o700), os.WriteFile(old+"/base/mine", []byte("M"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err = extractInto(t, old, stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeLink, "base/b", "base/mine", 0, ""}))
	if err == nil || !strings.Contains(err.Error(), "not one of its files") {
		t.Errorf("a link to an older file: got %v", err)
	}
}

func TestExtractLimits(t *testing.T) {
	packed := stream(t, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeDir, "base/d", "", 0o700, ""},
		member{tar.TypeReg, "base/d/a", "", 0o600, "12345"}, member{tar.TypeReg, "base/d/b", "", 0o600, "678"}, member{tar.TypeLink, "base/d/c", "base/d/a", 0, ""})
	for _, c := range []struct {
		limits transport.Limits
		err    string
	}{
		{transport.Limits{Files: 5, Bytes: 8, Depth: 2}, ""},
		{transport.Limits{Files: 4}, "more than 4 files and directories"},
		{transport.Limits{Bytes: 7}, "more than 7 bytes"},
		{transport.Limits{Depth: 1}, "nested more than 1 deep"},
	} {
		err := extractWithin(t, t.TempDir(), packed, c.limits)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: got %v, want %q", c.limits, err, c.err)
		}
	}
}

// TestExtractDeepTree checks that the cost of a directory does not grow with
// its depth.
func TestExtractDeepTree(t *testing.T) {
	const depth = 3000
	var members []member
	name := "base"
	for range depth {
		members = append(members, member{tar.TypeDir, name, "", 0o500, ""})
		name += "/d"
	}
	for range depth {
		name = path.Dir(name)
		members = append(members, member{tar.TypeReg, name + "/f", "", 0o600, "F"})
	}
	packed := stream(t, members...)
	dir := t.TempDir()
	began := cpuTime(t)
	if err := extractInto(t, dir, packed); err != nil {
		t.Fatal(err)
	}
	took := cpuTime(t) - began
	list, err := exec.Command("find", dir, "-type", "f").Output()
	if n := bytes.Count(list, []byte("\n")); err != nil || n != depth {
		t.Errorf("got %d files, %v", n, err)
	}
	if out, err := exec.Command("chmod", "-R", "u+w", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command("rm", "-rf", dir+"/base").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if took > 15*time.Second { // about 2 s; a minute if each path is walked from the top
		t.Errorf("took %v of CPU time", took)
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestExtractLeavesRoom checks that a large download ends before the disk is
// full.
func TestExtractLeavesRoom(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer exec.Command("umount", dir).Run()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	endless := func() io.Reader {
		pr, pw := io.Pipe()
		go func() {
			w := tar.NewWriter(pw)
			if w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "base", Mode: 0o600, Size: 1 << 40}) == nil {
				_, _ = io.Copy(w, zeros{}) // the reader ends it
			}
		}()
		t.Cleanup(func() { pr.Close() })
		return pr
	}
	var free int64
	err = Extract(endless(), root, "base", transport.Limits{})
	if limit, ok := errors.AsType[*limitError](err); !ok || !strings.Contains(limit.msg, "the disk has only") {
		t.Errorf("got %v", err)
	} else if n, _ := fmt.Sscanf(limit.msg, "the disk has only %d MiB left", &free); n != 1 || free < 8 {
		t.Errorf("only %d MiB were left", free)
	}
	if left, _ := filepath.Glob(dir + "/*"); left != nil {
		t.Errorf("left: %v", left)
	}
	err = Extract(endless(), root, "base", transport.Limits{Bytes: 1 << 50})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("with a limit of its own: got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// FuzzExtract checks that no stream writes, links to or changes anything
// outside, even through existing links, and that the limits hold.
func FuzzExtract(f *testing.F) {
	f.Add(stream(f, member{tar.TypeDir, "base", "", 0o700, ""}, member{tar.TypeReg, "base/a", "", 0o600, "A"}, member{tar.TypeLink, "base/b", "base/a", 0, ""}))
	f.Add(stream(f, member{tar.TypeDir, "base", "", 0o500, ""}, member{tar.TypeDir, "base/link", "", 0, ""}, member{tar.TypeReg, "base/link/secret", "", 0o600, "A"}))
	f.Add(stream(f, member{tar.TypeReg, "base/link/secret", "", 0o777, "A"}))
	f.Add(stream(f, member{tar.TypeLink, "base/x", "base/link/secret", 0, ""}, member{tar.TypeReg, "base/x", "", 0o777, "A"}))
	f.Add(stream(f, member{tar.TypeReg, "base/../../x", "", 0o600, "A"}))
	f.Add(stream(f, member{tar.TypeReg, "base/" + strings.Repeat("d/", 200) + "f", "", 0o600, "A"}))
	f.Add([]byte("no archive"))
	limits := transport.Limits{Files: 20, Bytes: 4000, Depth: 5}
	f.Fuzz(func(t *testing.T, stream []byte) {
		top := t.TempDir()
		secret, dst := top+"/outside/secret", top+"/dst"
		if err := errors.Join(os.Mkdir(top+"/outside", 0o700), os.WriteFile(secret, []byte("S"), 0o400),
			os.MkdirAll(dst+"/base", 0o700), os.Symlink(top+"/outside", dst+"/base/link"), os.Symlink("link", dst+"/base/near")); err != nil {
			t.Fatal(err)
		}
		_ = extractWithin(t, dst, summed(stream), limits) // any error is accepted
		info, err := os.Stat(secret)
		if text, rerr := os.ReadFile(secret); err != nil || rerr != nil || string(text) != "S" || info.Mode() != 0o400 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("the file outside is %q, %v", text, info)
		}
		if got, _ := filepath.Glob(top + "/*"); len(got) != 2 {
			t.Errorf("something was written outside: %v", got)
		}
		if got, _ := filepath.Glob(top + "/outside/*"); len(got) != 1 {
			t.Errorf("something was written outside: %v", got)
		}
		checkLimits(t, dst, limits)
	})
}

// checkLimits checks everything below a directory that contained base and two
// links.
func checkLimits(t *testing.T, dir string, limits transport.Limits) {
	t.Helper()
	entries, size := -1, int64(0)
	seen := make(map[uint64]bool)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		entries++
		info, err := e.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil || strings.Count(below, "/") > limits.Depth {
			t.Errorf("%s is too deep", below)
		}
		switch id := info.Sys().(*syscall.Stat_t).Ino; {
		case info.Mode().IsRegular() && !seen[id]:
			seen[id] = true
			size += info.Size()
		case info.Mode().IsRegular(), info.IsDir(), info.Mode()&fs.ModeSymlink != 0 && strings.Count(below, "/") == 1:
		default:
			t.Errorf("%s is of the kind %v", below, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if entries > limits.Files+3 || size > limits.Bytes {
		t.Errorf("%d entries, %d bytes", entries, size)
	}
}
