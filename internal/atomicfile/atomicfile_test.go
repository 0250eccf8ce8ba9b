package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	tests := []struct {
		name     string
		prepare  func(t *testing.T, dir string) // of the file "f"
		wantMode fs.FileMode
	}{
		{"new", func(*testing.T, string) {}, 0o640},
		{"old keeps its mode", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "f"), "old and longer than the new", 0o604)
		}, 0o604},
		{"symbolic link is followed", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "real"), "old", 0o600)
			check(t, os.Symlink("real", filepath.Join(dir, "f")))
		}, 0o600},
		{"read-only file", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "f"), "old", 0o444)
		}, 0o444},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.prepare(t, dir)
			before := entries(t, dir)
			name := filepath.Join(dir, "f")
			if err := Write(name, []byte("new"), 0o640); err != nil {
				t.Fatal(err)
			}
			if got := read(t, name); got != "new" {
				t.Errorf("content %q", got)
			}
			info, err := os.Stat(name)
			check(t, err)
			if info.Mode().Perm() != tt.wantMode {
				t.Errorf("mode %v, want %v", info.Mode().Perm(), tt.wantMode)
			}
			if before != "" && entries(t, dir) != before {
				t.Errorf("directory holds %s, before %s", entries(t, dir), before)
			}
		})
	}
}

func TestWriteKeepsLink(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "real"), "old", 0o600)
	link := filepath.Join(dir, "link")
	check(t, os.Symlink("real", link))
	check(t, Write(link, []byte("new"), 0o600))
	if to, err := os.Readlink(link); err != nil || to != "real" {
		t.Errorf("link: %q, %v", to, err)
	}
	if got := read(t, filepath.Join(dir, "real")); got != "new" {
		t.Errorf("target of the link holds %q", got)
	}
}

func TestUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	name := filepath.Join(t.TempDir(), "f")
	check(t, Write(name, nil, 0o644))
	info, err := os.Stat(name)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v under umask 077", info.Mode().Perm())
	}
}

func TestFailureKeepsOld(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	put(t, name, "old", 0o600)
	cause := errors.New("no more")
	err := writeFrom(name, 0o600, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return cause
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if got := read(t, name); got != "old" {
		t.Errorf("content %q", got)
	}
	if got := entries(t, dir); got != "f" {
		t.Errorf("left behind: %s", got)
	}
}

func TestSpecialFileIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	check(t, syscall.Mkfifo(pipe, 0o600))
	r, err := os.OpenFile(pipe, os.O_RDWR, 0)
	check(t, err)
	defer r.Close()
	check(t, Write(pipe, []byte("news"), 0o600))
	got := make([]byte, 4)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "news" {
		t.Errorf("pipe carried %q, %v", got, err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("pipe is now %v, %v", info.Mode(), err)
	}
}

func TestWriteErrorsNameFile(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "", 0o600)
	for _, name := range []string{
		filepath.Join(dir, "missing", "f"),
		filepath.Join(dir, "file", "f"),
		dir,
	} {
		if err := Write(name, []byte("x"), 0o600); err == nil || !strings.Contains(err.Error(), name[:len(dir)]) {
			t.Errorf("Write(%s): %v", name, err)
		}
	}
}

// TestReaderSeesWhole reads while the file is being replaced.
func TestReaderSeesWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	a, b := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)
	check(t, Write(name, a, 0o600))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := os.ReadFile(name)
				if err != nil || !bytes.Equal(got, a) && !bytes.Equal(got, b) {
					t.Errorf("read %d bytes, %v", len(got), err)
					return
				}
			}
		})
	}
	for range 20 {
		check(t, Write(name, b, 0o600))
		check(t, Write(name, a, 0o600))
	}
	close(done)
	wg.Wait()
}

func BenchmarkWrite(b *testing.B) {
	name := filepath.Join(b.TempDir(), "f")
	data := bytes.Repeat([]byte("x"), 10_000)
	for b.Loop() {
		if err := Write(name, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	check(t, os.WriteFile(name, []byte(text), mode))
	check(t, os.Chmod(name, mode))
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	check(t, err)
	return string(data)
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestWriteFollowsLinksButNotWriteOwn checks that Write follows links and that WriteOwn does not. It needs root,
// because only root can change the owner of a link.
func TestWriteFollowsLinksButNotWriteOwn(t *testing.T) {
	tests := []struct {
		name    string
		uid     int
		write   func(name string, data []byte, mode fs.FileMode) error
		follows bool
	}{
		{"bolt's file, own link", os.Geteuid(), WriteOwn, false},
		{"bolt's file, link of another user", 4711, WriteOwn, false},
		{"own link", os.Geteuid(), Write, true},
		{"link of another user", 4711, Write, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "precious"), "old", 0o600)
			link := filepath.Join(dir, "f")
			check(t, os.Symlink("precious", link))
			check(t, os.Lchown(link, tt.uid, -1))
			err := tt.write(link, []byte("new"), 0o600)
			want := "old"
			if tt.follows {
				want = "new"
				check(t, err)
			} else if err == nil || !strings.Contains(err.Error(), "symbolic link") || !strings.Contains(err.Error(), link) {
				t.Errorf("error %v", err)
			}
			if got := read(t, filepath.Join(dir, "precious")); got != want {
				t.Errorf("the link points to %q, want %q", got, want)
			}
			if to, err := os.Readlink(link); err != nil || to != "precious" {
				t.Errorf("the link is now %q, %v", to, err)
			}
		})
	}
}

// TestWriteOwn replaces a file that another user has made for everyone to read.
func TestWriteOwn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	put(t, name, "old", 0o666)
	check(t, os.Chmod(name, 0o666))
	check(t, os.Chown(name, 4711, -1))
	old, err := os.Open(name)
	check(t, err)
	defer old.Close()
	check(t, WriteOwn(name, []byte("new"), 0o600))
	info, err := os.Stat(name)
	check(t, err)
	if got := read(t, name); got != "new" || info.Mode().Perm() != 0o600 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		t.Errorf("%q, %v", got, info.Mode())
	}
	if data, err := io.ReadAll(old); err != nil || string(data) != "old" {
		t.Errorf("the other user's file holds %q, %v", data, err)
	}
	check(t, os.Remove(name))
	check(t, os.Mkdir(name, 0o700))
	if err := WriteOwn(name, nil, 0o600); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// TestOwner checks that a file of another user keeps its owner, group and mode. It needs
// root, because only root can change the owner of a file.
func TestOwner(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	put(t, name, "old", 0o664)
	check(t, os.Chown(name, 4711, 4712))
	check(t, Write(name, []byte("new"), 0o600))
	wantLike(t, name, 4711, 4712, 0o664)
}

// TestForeignGroup runs as a user who may not set the group of the old file.
func TestForeignGroup(t *testing.T) {
	if name := os.Getenv("ATOMICFILE_TEST_NAME"); name != "" {
		check(t, Write(name, []byte("new"), 0o600))
		return
	}
	dir, err := os.MkdirTemp("", "atomicfile")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.Chmod(dir, 0o777))
	for _, tt := range []struct {
		groups         []uint32
		group          uint32
		mode, wantMode fs.FileMode
	}{
		{nil, 4713, 0o660, 0o600},
		{nil, 4713, 0o664, 0o644},
		{[]uint32{4712}, 4712, 0o664, 0o664},
	} {
		name := filepath.Join(dir, "f")
		put(t, name, "old", tt.mode)
		check(t, os.Chown(name, 4711, 4712))
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestForeignGroup$")
		cmd.Env = []string{"ATOMICFILE_TEST_NAME=" + name}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4713, Gid: 4713, Groups: tt.groups}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		wantLike(t, name, 4713, tt.group, tt.wantMode)
	}
}

func wantLike(t *testing.T, name string, uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	info, err := os.Stat(name)
	check(t, err)
	st := info.Sys().(*syscall.Stat_t)
	if got := read(t, name); got != "new" || st.Uid != uid || st.Gid != gid || info.Mode().Perm() != mode {
		t.Errorf("%q of %d:%d, mode %v, want %d:%d, %v", got, st.Uid, st.Gid, info.Mode(), uid, gid, mode)
	}
}
