package textfile

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
)

const mal = 64001 // a user of the tests

// own gives a path to the user mal.
func own(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, mal, mal); err != nil {
		t.Fatalf("the test makes files of another user: run it as root: %v", err)
	}
}

// A user cannot make root read or change a file of root through a link.
func TestLinkOfUser(t *testing.T) {
	dir := t.TempDir()
	secret, home := filepath.Join(dir, "shadow"), filepath.Join(dir, "mal")
	if err := errors.Join(os.WriteFile(secret, []byte("SECRET\n"), 0o600), os.Mkdir(home, 0o755)); err != nil {
		t.Fatal(err)
	}
	own(t, home)
	link := filepath.Join(home, "rc")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	own(t, link)
	var refused *safepath.LinkError
	if _, _, err := Read(t.Context(), link); !errors.As(err, &refused) {
		t.Errorf("Read: %v", err)
	}
	if err := Write(link, "x", 0o644); !errors.As(err, &refused) {
		t.Errorf("Write: %v", err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "SECRET\n" {
		t.Errorf("the secret is %q, %v", text, err)
	}
}

// If a user repeatedly replaces a file by a link, the user cannot read or change root's file.
func TestLinkRace(t *testing.T) {
	dir := t.TempDir()
	secret, home := filepath.Join(dir, "shadow"), filepath.Join(dir, "mal")
	if err := errors.Join(os.WriteFile(secret, []byte("SECRET\n"), 0o600), os.Mkdir(home, 0o755)); err != nil {
		t.Fatal(err)
	}
	own(t, home)
	path, plain, link := filepath.Join(home, "a"), filepath.Join(home, "b"), filepath.Join(home, "c")
	reset := func() {
		_ = errors.Join(os.Remove(path), os.Remove(plain), os.Remove(link)) // what is there
		if err := errors.Join(os.WriteFile(path, []byte("mine\n"), 0o644), os.Symlink(secret, link)); err != nil {
			t.Fatal(err)
		}
		own(t, path)
		own(t, link)
	}
	for range 30 {
		reset()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
				}
			}
		}()
		for range 20 {
			if text, _, err := Read(t.Context(), path); err == nil {
				_ = Write(path, text+"line\n", 0o644) // it may be refused
			}
		}
		close(stop)
		<-stopped
		for _, p := range []string{path, link} {
			if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() {
				if text, err := os.ReadFile(p); err != nil || strings.Contains(string(text), "SECRET") {
					t.Fatalf("%s has %q, %v", p, text, err)
				}
			}
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "SECRET\n" {
			t.Fatalf("the secret is %q, %v", text, err)
		}
	}
}

// The access list of a file stays.
func TestAccessList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 4, mal}, {4, 4, ^uint32(0)}, {16, 4, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	const name = "system.posix_acl_access"
	if err := unix.Setxattr(path, name, list, 0); err != nil {
		t.Fatalf("the file system of temporary files has no access lists: %v", err)
	}
	if err := Write(path, "new\n", 0o644); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 256)
	n, err := unix.Getxattr(path, name, got)
	if err != nil || string(got[:n]) != string(list) {
		t.Errorf("the access list is %x, %v; want %x", got[:max(n, 0)], err, list)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}
