package archive

import (
	"os"
	"syscall"
)

// diskSpace returns the free space for the user on the file system of a
// directory, and the size of that file system, in bytes.
func diskSpace(dir *os.Root) (free, size int64, ok bool) {
	f, err := dir.Open(".")
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	var s syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &s); err != nil || s.Blocks == 0 {
		return 0, 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), true
}
