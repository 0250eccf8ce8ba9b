package file

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func hold(t *testing.T, p place) int {
	t.Helper()
	fd, err := openat(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// Both ways to set a mode work for files, directories and pipes, and refuse links.
func TestChmod(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), nil, 0o600), os.Mkdir(at("dir"), 0o700), unix.Mkfifo(at("pipe"), 0o600), os.Symlink("file", at("link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for way, set := range map[string]func(place, int, uint32) error{"new": chmod, "old": chmodOld} {
		for i, name := range []string{"file", "dir", "pipe"} {
			bits := uint32(0o4710 + i)
			if way == "old" {
				bits = 0o2640
			}
			p, err := openParent(at(name))
			if err != nil {
				t.Fatal(err)
			}
			if err := set(p, hold(t, p), bits); err != nil {
				t.Errorf("%s, %s: %v", way, name, err)
			}
			p.close()
			var st unix.Stat_t
			if err := unix.Stat(at(name), &st); err != nil || st.Mode&0o7777 != bits {
				t.Errorf("%s: the mode of %s is %o, want %o, %v", way, name, st.Mode&0o7777, bits, err)
			}
		}
		p, err := openParent(at("link"))
		if err != nil {
			t.Fatal(err)
		}
		if err := set(p, hold(t, p), 0o777); err == nil {
			t.Errorf("%s: the mode of a link was set", way)
		}
		p.close()
	}
	if info, err := os.Stat(at("file")); err != nil || info.Mode().Perm() == 0o777 {
		t.Error(info, err)
	}
}

// In a chroot there is often no /proc.
func TestChmodWithoutProc(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its mounts with it
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
				return err
			}
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
				return err
			}
			p, err := openParent(dir)
			if err != nil {
				return err
			}
			defer p.close()
			fd, err := openat(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return chmodOld(p, fd, 0o750)
		}()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o750 {
		t.Error(info, err)
	}
}
