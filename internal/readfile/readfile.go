// Package readfile reads whole files, in bounded memory and without waiting
// forever. A path that a person or a program names can be a pipe without a
// writer, a device without an end, or a directory.
//
//	text, err := readfile.Read(ctx, path, readfile.Language)
//
// Waits of file systems that are not local cannot be interrupted: the operating
// system does not support that for files.
package readfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Size limits of files, by purpose.
const (
	// Language is for files that the language reads: programs, templates, data,
	// facts, and files that functions return. The data made of a file can take
	// sixty times its size.
	Language = 16 << 20
	// Config is for files that are written or collected for a project:
	// configuration, inventories, facts.
	Config = 64 << 20
	// Payload is for files that are sent as they are: scripts, commands, lists
	// of targets.
	Payload = 256 << 20
	// Key is for keys and certificates.
	Key = 1 << 20
)

// errNobodyWrites is the error of a named pipe that delivered no data.
var errNobodyWrites = errors.New("it is a pipe that nobody writes to")

// A LargeError is the error of a file that is larger than its limit.
type LargeError struct{ Limit int64 }

// Error returns a message with the limit.
func (e *LargeError) Error() string {
	if e.Limit < 1<<20 {
		return fmt.Sprintf("it is larger than %d bytes", e.Limit)
	}
	return fmt.Sprintf("it is larger than %d MiB", e.Limit>>20)
}

// Read returns the bytes of a file, if there are at most limit. Errors are
// *fs.PathError. If ctx is done, it ends a wait, and the error is its cause.
//
// A pipe, also a pipe of the shell's <(…), is read to its end, however late the
// end comes. A named pipe that delivers no data is an error, because an empty
// pipe cannot be distinguished from a missing writer. A writer that opens the
// pipe later may be too late.
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, err := read(ctx, path, limit)
	if err == nil {
		return data, nil
	}
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: cause}
}

func read(ctx context.Context, path string, limit int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Files that are always ready do not support deadlines, and do not need
	// them.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, syscall.EISDIR
	case info.Size() > limit && info.Mode().IsRegular():
		return nil, &LargeError{limit}
	}
	var size int64
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	data, err := whole(ctx, f, limit, size)
	if err == nil && len(data) == 0 && info.Mode().Type() == fs.ModeNamedPipe && !anonymous(f) {
		return nil, errNobodyWrites
	}
	return data, err
}

// Open opens a file for reading. It does not wait for the writer of a pipe, and
// no terminal becomes the controlling terminal of the process.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Whole returns all bytes of a reader, if there are at most limit. It checks ctx
// only between reads: the reader must end its waits by itself.
func Whole(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	return whole(ctx, r, limit, 0)
}

// maxPart is the size of one piece of memory if the total size is unknown.
// Pieces that double in size would reserve several times the total.
const maxPart = 1 << 20

// whole is Whole with an estimate of the size.
func whole(ctx context.Context, r io.Reader, limit, size int64) ([]byte, error) {
	var parts [][]byte
	var total int64
	part := make([]byte, 0, min(max(size, 0), limit)+512) // there is room to detect the end
	for {
		n, err := r.Read(part[len(part):cap(part)])
		part = part[:len(part)+n]
		total += int64(n)
		switch {
		case total > limit:
			return nil, &LargeError{limit}
		case errors.Is(err, io.EOF):
			if parts == nil {
				return part, nil
			}
			return slices.Concat(append(parts, part)...), nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		if len(part) == cap(part) {
			parts = append(parts, part)
			part = make([]byte, 0, min(2*cap(part), maxPart))
		}
	}
}

// anonymous reports whether a pipe has no name, such as the shell's <(…). Every
// possible writer of such a pipe has had it open from the beginning, so a pipe
// without a writer is at its end.
func anonymous(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	name := ""
	if err := c.Control(func(fd uintptr) { name, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }); err != nil {
		return false
	}
	return strings.HasPrefix(name, "pipe:[")
}
