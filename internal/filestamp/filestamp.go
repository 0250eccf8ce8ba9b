// Package filestamp reports whether a file has changed since it was last read,
// without reading it again.
package filestamp

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// grain is above the grain of file times (a tick of the kernel).
const grain = 20 * time.Millisecond

// A Stamp is the state of a file as far as it can be seen from outside. Stamps are
// comparable: the file is as it was if they are equal, unless the earlier one was
// Fresh. The zero Stamp is that of no file.
type Stamp struct {
	Exists   bool
	Dev, Ino uint64
	Size     int64
	Time     time.Time
	Mode     fs.FileMode
	UID, GID uint32
}

// Of returns the stamp of a file whose state is at hand.
func Of(info fs.FileInfo) Stamp {
	s := Stamp{Exists: true, Size: info.Size(), Time: info.ModTime(), Mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.UID, s.GID = uint64(st.Dev), st.Ino, st.Uid, st.Gid
	}
	return s
}

// At returns the stamp of the file at a path now. It is zero if there is none, or if
// it cannot be looked at.
func At(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Of(info)
}

// Fresh reports whether the file was written so shortly before now that its time may
// not tell a second change.
func (s Stamp) Fresh() bool { return s.Exists && time.Since(s.Time) < grain }
