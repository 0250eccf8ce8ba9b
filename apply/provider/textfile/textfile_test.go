package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestReadAndWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if text, exists, err := Read(t.Context(), path); text != "" || exists || err != nil {
		t.Errorf("%q %v %v", text, exists, err)
	}
	if err := Write(path, "a\n", 0o620); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o620 {
		t.Errorf("mode is %o", info.Mode())
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, "b\n", 0o644); err != nil {
		t.Fatal(err)
	}
	text, exists, err := Read(t.Context(), path)
	info, _ := os.Stat(path)
	if text != "b\n" || !exists || err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("%q %v %v %o", text, exists, err, info.Mode())
	}
	if _, _, err := Read(t.Context(), dir); err == nil {
		t.Error("a directory was read")
	}
	if err := Write(filepath.Join(dir, "none", "f"), "", 0o644); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A file in a full file system keeps its text if it can only be written in place.
func TestMountPointFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can mount")
	}
	dir := t.TempDir()
	path, small := filepath.Join(dir, "hosts"), filepath.Join(dir, "small")
	if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Mkdir(small, 0o755)); err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	for _, m := range [][4]string{{"tmpfs", small, "tmpfs", fmt.Sprintf("size=%d", 2*page)}, {filepath.Join(small, "f"), path, "", ""}} {
		var flags uintptr
		if m[2] == "" {
			flags = syscall.MS_BIND
			if err := os.WriteFile(m[0], []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mount(m[0], m[1], m[2], flags, m[3]); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(m[1], syscall.MNT_DETACH) })
	}
	if err := Write(path, strings.Repeat("x", int(5*page)), 0o644); err == nil {
		t.Error("a text was written that has no room")
	}
	if text, _, err := Read(t.Context(), path); text != "old\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A file that is a mount point, as /etc/hosts in a container, cannot be replaced: it is written in place.
func TestMountPoint(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can mount")
	}
	dir := t.TempDir()
	path, from := filepath.Join(dir, "hosts"), filepath.Join(dir, "from")
	for _, p := range []string{path, from} {
		if err := os.WriteFile(p, []byte("a long old text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(from, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(path, 0)
	if err := Write(path, "new\n", 0o644); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(from); string(data) != "new\n" {
		t.Errorf("%q", data)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("%v were left", names)
	}
}

func TestAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can write as another user")
	}
	dir := t.TempDir()
	for d := dir; len(d) > 4; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chown(open, 0, 4713), os.Chmod(open, 0o775)); err != nil {
		t.Fatal(err)
	}
	id := &Identity{UID: 4711, GID: 4712, Groups: []int{4712, 4713}}
	failure := errors.New("failure")
	for range 20 { // threads that had the identity are not used again
		err := As(id, func() error {
			if err := Write(filepath.Join(dir, "f"), "", 0o644); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("root's directory: %v", err)
			}
			if err := Write(filepath.Join(open, "f"), "x", 0o644); err != nil {
				t.Errorf("directory of the group: %v", err)
			}
			if err := os.Chown(filepath.Join(open, "f"), 0, 0); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("chown: %v", err)
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "root"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(open, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 4711 || st.Gid != 4712 {
		t.Errorf("%d %d", st.Uid, st.Gid)
	}
	if err := As(id, func() error { panic("a mistake") }); err == nil {
		t.Error("a panic is no error")
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{"": {}, "a": {"a"}, "a\n": {"a\n"}, "a\n\nb\r\n": {"a\n", "\n", "b\r\n"}} {
		if got := Lines(text); !slices.Equal(got, want) {
			t.Errorf("Lines(%q) = %q", text, got)
		}
	}
	if Chomp("a\r\n") != "a" || Chomp("a\r") != "a" || Chomp("a") != "a" || End("a") != "a\n" || End("a\n") != "a\n" {
		t.Error("line ends")
	}
}
