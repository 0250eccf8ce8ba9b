// Package roottest makes disposable roots for tests: changes of programs in a root do not reach this
// system. A root is an overlay of a directory, by default of the running system, in memory.
package roottest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// New mounts a root on top of the directory lower and returns its path. It is unmounted at the end of the test. The
// test fails if this process has no right to mount.
func New(t testing.TB, lower string) string {
	t.Helper()
	base := t.TempDir()
	mount(t, "tmpfs", "tmpfs", base, "")
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := ownEtc(lower, filepath.Join(base, "upper")); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "root")
	mount(t, "overlay", "overlay", root, "lowerdir="+lower+",upperdir="+filepath.Join(base, "upper")+",workdir="+filepath.Join(base, "work"))
	mount(t, "proc", "proc", filepath.Join(root, "proc"), "")
	mount(t, "tmpfs", "tmpfs", filepath.Join(root, "dev"), "")
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "random": 8, "urandom": 9} {
		dev := filepath.Join(root, "dev", name)
		if err := unix.Mknod(dev, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dev, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Shells open these files.
	if err := os.Symlink("/proc/self/fd", filepath.Join(root, "dev", "fd")); err != nil {
		t.Fatal(err)
	}
	return root
}

// ownEtc gives a root its own /etc, in which nothing of the lower directory is seen later. Other tests add users to this system
// meanwhile: without this, useradd in a root refuses to work as long as useradd works outside.
func ownEtc(lower, upper string) error {
	if _, err := os.Stat(filepath.Join(lower, "etc")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cp := exec.Command("cp", "-a", filepath.Join(lower, "etc"), upper)
	cp.Env = append(cp.Environ(), "LC_ALL=C")
	out, err := cp.CombinedOutput()
	if err != nil && len(out) == 0 {
		return fmt.Errorf("cp: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, ": No such file or directory\n") { // a file of another test, which has ended meanwhile
			return fmt.Errorf("cp: %v: %s", err, line)
		}
	}
	etc := filepath.Join(upper, "etc")
	locks, err := filepath.Glob(filepath.Join(etc, "*.lock"))
	for _, lock := range locks {
		err = errors.Join(err, os.Remove(lock))
	}
	return errors.Join(err, unix.Setxattr(etc, "trusted.overlay.opaque", []byte("y"), 0))
}

// Private runs a test again in a process that has mounts of its own. It reports whether this is that process.
func Private(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("a test with mounts of its own needs root")
	}
	const mark = "BOLT_TEST_NAMESPACE"
	if os.Getenv(mark) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func mount(t testing.TB, kind, source, target, options string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, 0, options); err != nil {
		t.Fatalf("mount %s for a disposable root (it needs root): %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", target, err)
		}
	})
}

// Shell runs a script in a root and returns its output.
func Shell(t testing.TB, root, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "chroot", root, "sh", "-ec", script)
	cmd.Env = Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// Env returns an environment for programs in a root.
func Env() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
}

// Argv returns a command line that runs a command in a root.
func Argv(root string, argv []string) []string {
	return append([]string{"chroot", root}, argv...)
}
