package archive

import (
	"cmp"
	"fmt"
	"math"
	"os"

	"bolt/transport"
)

// What a download may hold, unless its Limits say otherwise. The size is only
// limited by the room on the disk then.
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

// A limitError is a download that is over a limit.
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
	// minRoom is what a small file or a directory takes on a disk.
	minRoom = 4 << 10
	// freely is what each download may write without a look at the disk.
	freely = 64 << 20
	// lookAfter is how much is written between two looks.
	lookAfter = 1 << 20
	// maxReserve is left free on a disk, or a twentieth of a smaller one.
	maxReserve = 1 << 30
)

// A room is the disk that a download is written to. A large download ends
// before it has filled the disk.
type room struct {
	dir      *os.Root
	reserves bool // false: the disk may become full
	taken    int64
	next     int64 // how much may be taken before the next look
}

// take is called before n bytes are written.
func (r *room) take(n int64) error {
	r.taken += n
	if !r.reserves || r.taken < max(r.next, freely) {
		return nil
	}
	r.next = r.taken + lookAfter
	free, size, ok := diskSpace(r.dir)
	if reserve := min(size/20, maxReserve); ok && free < reserve {
		return &limitError{fmt.Sprintf("the disk has only %d MiB left", free>>20),
			"Make room, or set --max-size to fill the disk further."}
	}
	return nil
}
