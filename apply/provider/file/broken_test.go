package file_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/internal/roottest"
)

func (m *machine) mount(rel, options string) {
	m.t.Helper()
	if err := os.MkdirAll(m.path(rel), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := unix.Mount("none", m.path(rel), "tmpfs", 0, options); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = unix.Unmount(m.path(rel), unix.MNT_DETACH) })
}

// An error of the file system fails one resource. Other resources are applied, the file does not change, and no
// temporary file is left.
func TestBrokenFileSystems(t *testing.T) {
	if !roottest.Private(t) {
		return
	}
	m := newMachine(t)
	m.mount("small", "size=64k")
	m.mount("ro", "size=64k")
	m.mount("inodes", "nr_inodes=2")
	m.write("small/old", "old", 0o600)
	m.write("ro/old", "old", 0o600)
	m.write("ro/d/f", "old", 0o600)
	m.write("ok/old", "old", 0o600)
	if err := unix.Mount("", m.path("ro"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 200_000)
	before := subtree(m, "small") + subtree(m, "ro")
	results := m.run(
		res("small/old", "content", big, "mode", "0644"), res("small/new", "content", big),
		res("ro/old", "content", "new"), res("ro/new", "ensure", "directory"), res("ro/link", "target", "x"),
		res("ro/d", "ensure", "absent", "force", true, "backup", false), res("inodes/a", "ensure", "file"), res("inodes/b", "ensure", "file"),
		res("ok/old", "content", big), res("ok/new", "content", big),
	)
	m.check(results, map[string]string{
		"small/old": "failed content mode", "small/new": "failed ensure", "ro/old": "failed content", "ro/new": "failed ensure",
		"ro/link": "failed ensure", "ro/d": "failed ensure", "ok/old": "changed content", "ok/new": "changed ensure",
	})
	if a, b := outcome(results["inodes/a"]), outcome(results["inodes/b"]); a == b {
		t.Errorf("both files are %s", a)
	}
	after := subtree(m, "small") + subtree(m, "ro")
	if after != strings.Replace(before, "small/old 100600", "small/old 100644", 1) {
		t.Errorf("the file systems are\n%swere\n%s", after, before)
	}
	for name, cause := range map[string]string{"small/new": "no space left on device", "ro/old": "read-only file system"} {
		if text := messages(results[name]); !strings.Contains(text, cause) {
			t.Errorf("the error of %s is %s", name, text)
		}
	}
}

func TestImmutable(t *testing.T) {
	root(t)
	m := newMachine(t)
	m.write("f", "old", 0o600)
	m.write("g", "old", 0o600)
	f, err := os.Open(m.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const immutable = 0x10 // FS_IMMUTABLE_FL
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|immutable)
	}
	if err != nil {
		t.Logf("the file system of the temporary directory has no immutable files: %v", err)
		return
	}
	defer func() {
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			t.Error(err)
		}
	}()
	before := subtree(m, "f")
	m.check(m.run(res("f", "content", "new", "mode", "0644", "owner", "daemon"), res("g", "content", "new")),
		map[string]string{"f": "failed content owner mode", "g": "changed content"})
	if after := subtree(m, "f"); after != before {
		t.Errorf("the file is %s, was %s", after, before)
	}
	m.check(m.run(res("f", "ensure", "absent"), res("g", "ensure", "absent")), map[string]string{"f": "failed ensure", "g": "changed ensure"})
	if entries, _ := os.ReadDir(m.dir); len(entries) != 1 {
		t.Errorf("there are %d files", len(entries))
	}
}
