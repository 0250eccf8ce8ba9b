package archive

import (
	"cmp"
	"fmt"
	"math"
	"os"

	"bolt/transport"
)

// Default limits of a download. By default, only the free space on the disk limits
// its size.
const (
	DefaultFiles = 1_000_000
	DefaultDepth = 4096
)

func withDefaults(l transport.Limits) transport.Limits {
	if l.Used == nil {
		l.Used = new(transport.Usage)
	}
	return transport.Limits{Files: cmp.Or(l.Files, DefaultFiles), Bytes: cmp.Or(l.Bytes, math.MaxInt64), Depth: cmp.Or(l.Depth, DefaultDepth), Used: l.Used}
}

// A limitError is the error of a download that exceeds a limit.
type limitError struct{ msg, hint string }

func (e *limitError) Error() string { return e.msg }

func tooMany(n int) error {
	return &limitError{fmt.Sprintf("it has more than %d files and directories", n), "Download less, or raise the limit with --max-files."}
}

func tooLarge(n int64) error {
	return &limitError{fmt.Sprintf("its files have more than %d bytes", n), "Download less, or raise the limit with --max-size."}
}

func tooDeep(n int) error {
	return &limitError{fmt.Sprintf("its directories are nested more than %d deep", n), "Download less, or raise the limit with --max-depth."}
}

const (
	// minRoom is the disk space that a small file or a directory uses.
	minRoom = 4 << 10
	// freely is the amount of data that a download can write before the first
	// check of the disk.
	freely = 64 << 20
	// lookAfter is the amount of data between two checks.
	lookAfter = 1 << 20
	// maxReserve is the space that must stay free. On a disk of less than 20
	// GiB, it is a twentieth of the disk.
	maxReserve = 1 << 30
)

// A room checks the free space of the disk during a download, so that a large download
// fails before the disk is full.
type room struct {
	dir      *os.Root
	reserves bool // false: the download may fill the disk
	taken    int64
	next     int64 // the value of taken at the next check
}

// take must be called before n bytes are written.
func (r *room) take(n int64) error {
	r.taken += n
	if !r.reserves || r.taken < max(r.next, freely) {
		return nil
	}
	r.next = r.taken + lookAfter
	free, size, ok := diskSpace(r.dir)
	if reserve := min(size/20, maxReserve); ok && free < reserve {
		return &limitError{fmt.Sprintf("the disk has only %d MiB left", free>>20),
			"Free disk space, or set --max-size to fill the disk further."}
	}
	return nil
}
