package transporttest

import (
	"syscall"
	"testing"
)

// smallDisk mounts an empty file system of 1 MB, which needs root.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := worldDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=1777"); err != nil {
		t.Fatalf("a file system that is full cannot be tested: mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
