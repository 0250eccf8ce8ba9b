// Package peercred returns the user at the other end of a unix socket and the
// owner of a file. A client and a daemon of one user use it to check each
// other.
package peercred

import (
	"io/fs"
	"syscall"
)

// Owner returns the user ID of a file's owner, or -1 if the system does not
// report it.
func Owner(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}
