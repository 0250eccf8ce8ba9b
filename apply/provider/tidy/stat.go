package tidy

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// statOf is the state of a file in the form of the system.
func statOf(info fs.FileInfo) *unix.Stat_t {
	st := info.Sys().(*syscall.Stat_t)
	return &unix.Stat_t{
		Mode: st.Mode, Size: st.Size,
		Atim: unix.Timespec(st.Atim), Mtim: unix.Timespec(st.Mtim), Ctim: unix.Timespec(st.Ctim),
	}
}
