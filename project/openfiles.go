package project

import "golang.org/x/sys/unix"

// OpenFiles returns how many files this process may have open, for Sources; 0 if it is
// not known. Go's runtime has raised the limit as far as possible, and lowers it again
// for the programs that we start.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}
