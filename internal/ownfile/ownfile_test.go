package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stranger is a user who owns no file of the tests.
const stranger = 4711

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place makes a directory with a file "precious" and the files that the test's
// make function adds.
func place(t *testing.T, make func(dir, path string)) (path, precious string) {
	t.Helper()
	dir := t.TempDir()
	path, precious = filepath.Join(dir, "f"), filepath.Join(dir, "precious")
	must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	make(dir, path)
	return path, precious
}

const writing = os.O_WRONLY | os.O_CREATE | os.O_TRUNC

// TestOpen needs root, because only root can change the owner of a file.
func TestOpen(t *testing.T) {
	own := func(uid int) func(dir, path string) {
		return func(_, path string) {
			must(t, os.WriteFile(path, []byte("old"), 0o666))
			must(t, os.Chown(path, uid, uid))
		}
	}
	link := func(uid int, to string) func(dir, path string) {
		return func(_, path string) {
			must(t, os.Symlink(to, path))
			must(t, os.Lchown(path, uid, uid))
		}
	}
	const link0, irregular, foreignFile, foreignLink = "symbolic link: remove", "not a regular file", "a file of the user 4711", "a symbolic link of the user 4711"
	tests := []struct {
		name             string
		make             func(dir, path string)
		open, own, named string // the error, "" for none
	}{
		{"nothing", func(string, string) {}, "", "", ""},
		{"a file", own(os.Geteuid()), "", "", ""},
		{"a file of another user", own(stranger), "", foreignFile, ""},
		{"a file of the directory's owner", func(dir, path string) { own(stranger)(dir, path); must(t, os.Chown(dir, stranger, -1)) }, "", "", ""},
		{"a link", link(os.Geteuid(), "precious"), link0, link0, ""},
		{"a link to nothing", link(os.Geteuid(), "nothing"), link0, link0, ""},
		{"a link of another user", link(stranger, "precious"), link0, link0, foreignLink},
		{"a link to a link of another user", func(dir, path string) {
			link(os.Geteuid(), "second")(dir, path)
			link(stranger, "precious")(dir, filepath.Join(dir, "second"))
		}, link0, link0, foreignLink},
		{"a link to itself", link(os.Geteuid(), "f"), link0, link0, "too many levels"},
		{"a link in a linked directory", func(dir, path string) {
			must(t, os.Mkdir(dir+"/a", 0o700))
			must(t, os.Mkdir(dir+"/a/b", 0o700))
			must(t, os.Symlink("a/b", dir+"/c"))
			must(t, os.Symlink("../../precious", dir+"/a/b/l"))
			must(t, os.Symlink("c/l", path))
		}, link0, link0, ""},
		{"standard error", link(os.Geteuid(), "/dev/stderr"), link0, link0, ""},
		{"a hard link", func(dir, path string) { must(t, os.Link(filepath.Join(dir, "precious"), path)) }, "", "a hard link", ""},
		{"a device", link(os.Geteuid(), "/dev/null"), link0, link0, ""},
		{"a pipe", func(_, path string) {
			must(t, unix.Mkfifo(path, 0o600))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			t.Cleanup(func() { f.Close() })
		}, irregular, irregular, ""},
		{"a pipe that nobody reads", func(_, path string) { must(t, unix.Mkfifo(path, 0o600)) }, irregular, irregular, "-"},
		{"a directory", func(_, path string) { must(t, os.Mkdir(path, 0o700)) }, "is a directory", "is a directory", "is a directory"},
	}
	for _, tt := range tests {
		for name, how := range map[string]struct {
			open func(string, int, fs.FileMode) (*os.File, error)
			want string
		}{"Open": {Open, tt.open}, "OpenOwn": {OpenOwn, tt.own}, "OpenNamed": {OpenNamed, tt.named}} {
			if how.want == "-" {
				continue
			}
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				path, precious := place(t, tt.make)
				f, err := how.open(path, writing, 0o600)
				if err == nil {
					f.Close()
				}
				if how.want == "" && err != nil || how.want != "" && (err == nil || !strings.Contains(err.Error(), how.want) || !strings.Contains(err.Error(), path)) {
					t.Errorf("error %v, want %q", err, how.want)
				}
				data, rerr := os.ReadFile(precious)
				if how.want != "" && (rerr != nil || string(data) != "precious") {
					t.Errorf("what the link leads to holds %q, %v", data, rerr)
				}
				if how.want != foreignFile {
					return
				}
				if old, rerr := os.ReadFile(path); rerr != nil || string(old) != "old" {
					t.Errorf("the file of another user holds %q, %v", old, rerr)
				}
			})
		}
	}
}

func TestOpenErrors(t *testing.T) {
	path, _ := place(t, func(_, path string) { must(t, os.Symlink("precious", path)) })
	if _, err := Open(path, os.O_RDONLY, 0); !errors.Is(err, ErrLink) {
		t.Errorf("Open: %v", err)
	}
	if _, err := Open(filepath.Join(path, "none"), os.O_RDONLY, 0); err == nil {
		t.Error("Open of a file below a file succeeded")
	}
	if _, err := Open(path+"-none", os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
}

// TestFollow checks that Follow goes through links of other users. It needs root.
func TestFollow(t *testing.T) {
	path, precious := place(t, func(dir, path string) {
		must(t, os.Symlink("precious", path))
		must(t, os.Lchown(path, stranger, stranger))
	})
	if to, err := Follow(path); err != nil || to != precious {
		t.Errorf("Follow: %s, %v", to, err)
	}
	if _, err := resolve(path); err == nil {
		t.Error("Resolve follows a link of another user")
	}
}
