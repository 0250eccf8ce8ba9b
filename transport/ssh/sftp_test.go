package ssh

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// While a copy by SFTP is under way nobody else can look into it, whatever
// the server's umask; then it has its modes.
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
						// What was in it before its mode was asked for is
						// covered by that mode; an empty directory hides nothing.
						path := filepath.Join(far, e.Name())
						inside, _ := os.ReadDir(path)
						info, err := os.Lstat(path)
						if err != nil || info.IsDir() && len(inside) == 0 {
							continue
						}
						looks++
						if size := sizeOf(path); info.Mode().Perm()&0o077 != 0 && size < want {
							if _, err := os.Lstat(path); err == nil { // else it was moved meanwhile
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

// sizeOf is the size of all files at and below a path.
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
