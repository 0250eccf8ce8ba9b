package ssh

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/archive"
)

// TestSFTPIsPrivateUntilComplete checks that other users cannot read a copy by
// SFTP before it is complete, whatever the server's umask is. After that, it
// has its modes.
func TestSFTPIsPrivateUntilComplete(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	src := t.TempDir()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	if err := os.MkdirAll(filepath.Join(src, "tree", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "tree/file", "tree/deep/file"} {
		if err := os.WriteFile(filepath.Join(src, name), big, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(src, "tree", "deep"), 0o555); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "tree"} {
		t.Run(name, func(t *testing.T) {
			far, want := t.TempDir(), sizeOf(filepath.Join(src, name))
			done := make(chan error, 1)
			go func() {
				done <- c.putBySFTP(t.Context(), transport.Tree{Path: filepath.Join(src, name)}, far+"/"+name)
			}()
			looks, open := 0, ""
			for {
				select {
				case err := <-done:
					if err != nil {
						t.Fatal(err)
					}
				default:
					entries, err := os.ReadDir(far)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range entries {
						if !strings.HasPrefix(e.Name(), ".") {
							continue // complete
						}
						// The earlier content is covered by the mode that was
						// set first; an empty directory hides nothing.
						path := filepath.Join(far, e.Name())
						inside, _ := os.ReadDir(path)
						info, err := os.Lstat(path)
						if err != nil || info.IsDir() && len(inside) == 0 {
							continue
						}
						looks++
						if size := sizeOf(path); info.Mode().Perm()&0o077 != 0 && size < want {
							if _, err := os.Lstat(path); err == nil { // otherwise it was moved meanwhile
								open = info.Mode().String()
							}
						}
					}
					continue
				}
				break
			}
			if looks == 0 {
				t.Error("the copy was never seen under way")
			}
			if open != "" {
				t.Errorf("the unfinished copy has the mode %s", open)
			}
			for path, mode := range map[string]os.FileMode{"file": 0o644, "tree": 0o755, "tree/deep": 0o555, "tree/deep/file": 0o644} {
				if !strings.HasPrefix(path, name) {
					continue
				}
				info, err := os.Stat(filepath.Join(far, path))
				if err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v; want %v", path, info, err, mode)
				}
			}
			if left, err := filepath.Glob(far + "/.*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestArchiveBySFTP checks that the archive by SFTP equals the archive by Pack
// of the same tree, except for the times.
func TestArchiveBySFTP(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := newLab(t, nil, s).mustDial(t, dest(s))
	src := t.TempDir() + "/tree"
	for name, size := range map[string]int{"a": 0, "a.b": 1, "sub/big": 3<<20 + 1, "sub/deep/z": 40_000} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, name), bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size], 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub", src+"/link"); err != nil {
		t.Fatal(err)
	}
	dst := t.TempDir()
	if err := c.getBySFTP(t.Context(), src, dst, transport.Limits{}); err != nil {
		t.Fatal(err)
	}
	if digest(t, transport.Tree{Path: dst + "/tree"}) != digest(t, transport.Tree{Path: src}) {
		t.Error("another tree has arrived")
	}
	if err := c.putBySFTP(t.Context(), transport.Tree{Path: "tree", FS: os.DirFS(filepath.Dir(src)), Name: "put"}, dst); err != nil {
		t.Fatal(err)
	}
	if digest(t, transport.Tree{Path: dst + "/put", Name: "tree"}) != digest(t, transport.Tree{Path: src}) {
		t.Error("another tree was put")
	}
	if err := c.putBySFTP(t.Context(), transport.Tree{Path: "sub/big", FS: os.DirFS(src)}, dst); err != nil {
		t.Fatal(err)
	}
	if digest(t, transport.Tree{Path: dst + "/big"}) != digest(t, transport.Tree{Path: src + "/sub/big"}) {
		t.Error("another file was put")
	}

	full := errors.New("no space")
	err := c.archiveBySFTP(t.Context(), src, &failing{after: 1 << 20, err: full})
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Class != transport.ClassCancelled || !errors.Is(err, full) {
		t.Errorf("sink that fails: got %v", err)
	}
	for name, want := range map[string]transport.Class{"/nonexistent/x": transport.ClassFile, "/dev/null": transport.ClassFile, "/": transport.ClassUnsupported} {
		if err := c.archiveBySFTP(t.Context(), name, io.Discard); transport.ClassOf(err) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if err := errors.Join(os.Remove(src+"/link"), os.Symlink("..", src+"/sub/up")); err != nil {
		t.Fatal(err)
	}
	if err := c.archiveBySFTP(t.Context(), src, io.Discard); transport.ClassOf(err) != transport.ClassFile || !strings.Contains(err.Error(), "form a cycle") {
		t.Errorf("circle: got %v", err)
	}
}

func digest(t *testing.T, tree transport.Tree) [32]byte {
	t.Helper()
	h := sha256.New()
	if err := archive.Pack(h, tree); err != nil {
		t.Fatal(err)
	}
	return [32]byte(h.Sum(nil))
}

// failing accepts some bytes and then fails.
type failing struct {
	after int
	err   error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, f.err
	}
	return len(p), nil
}

// sizeOf returns the size of all files at and below a path.
func sizeOf(path string) (size int64) {
	filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
