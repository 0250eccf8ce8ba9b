// Package peercred tells whose the other end of a unix socket is, and whose a
// file is: what a client and a daemon of one user have to know of each other.
package peercred

import (
	"io/fs"
	"syscall"
)

// Owner returns the user whom a file belongs to, -1 if the system does not
// tell.
func Owner(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}
