// Package filestamp reports whether a file has changed since it was last read,
// without reading it again.
package filestamp

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// grain is longer than the resolution of file times (a tick of the kernel).
const grain = 20 * time.Millisecond

// A Stamp is the state of a file without its content. Stamps are comparable: if two
// are equal, the file has not changed, unless the earlier Stamp was Fresh. The zero
// Stamp stands for a missing file.
type Stamp struct {
	Exists   bool
	Dev, Ino uint64
	Size     int64
	Time     time.Time
	Mode     fs.FileMode
	UID, GID uint32
}

// Of returns the stamp of a file from its FileInfo.
func Of(info fs.FileInfo) Stamp {
	s := Stamp{Exists: true, Size: info.Size(), Time: info.ModTime(), Mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.UID, s.GID = uint64(st.Dev), st.Ino, st.Uid, st.Gid
	}
	return s
}

// At returns the present stamp of the file at a path. It is zero if the file does
// not exist or os.Stat fails.
func At(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Of(info)
}

// Fresh reports whether the file was written so recently that a second change might
// not change its time.
func (s Stamp) Fresh() bool { return s.Exists && time.Since(s.Time) < grain }
