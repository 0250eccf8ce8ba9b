package project

import "golang.org/x/sys/unix"

// OpenFiles returns the number of files that this process can have open, for Sources,
// or 0 if it is not known. Go's runtime has raised the limit as far as possible, and
// resets it for the programs that bolt starts.
func OpenFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}
