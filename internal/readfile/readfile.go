// Package readfile reads files whole, in bounded memory and without waiting
// for ever: what a person or a program names may be a pipe that nobody writes
// to, a device that never ends, a directory.
//
//	text, err := readfile.Read(ctx, path, readfile.Language)
//
// What cannot be interrupted are the waits of file systems that are not local:
// the operating system has no such waits for files.
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

// How large a file may be, by what it is for.
const (
	// Language is for what the language reads: programs, templates, data,
	// facts, and files that functions return. What is made of one can take
	// sixty times its size.
	Language = 16 << 20
	// Config is for what is written or collected for a project: configuration,
	// inventories, facts.
	Config = 64 << 20
	// Payload is for what is sent as it is: scripts, commands, lists of targets.
	Payload = 256 << 20
	// Key is for keys and certificates.
	Key = 1 << 20
)

// errNobodyWrites is the error of a named pipe that nothing came out of.
var errNobodyWrites = errors.New("it is a pipe that nobody writes to")

// A LargeError is the error of what has more bytes than may be read.
type LargeError struct{ Limit int64 }

// Error says how much may be read.
func (e *LargeError) Error() string {
	if e.Limit < 1<<20 {
		return fmt.Sprintf("it is larger than %d bytes", e.Limit)
	}
	return fmt.Sprintf("it is larger than %d MiB", e.Limit>>20)
}

// Read returns the bytes of a file, if there are at most limit. Errors are
// *fs.PathError; once ctx is done, which ends a wait, they are its cause.
//
// A pipe, also one of the shell's <(…), is read to its end, however late that
// comes. A named pipe that gives nothing is an error: who meant it to be empty
// cannot be told from who forgot to write. One that is about to be opened for
// writing may be too late.
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
	// Files that are always ready have no deadlines, and need none.
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

// Open opens a file to be read. It does not wait for who writes to a pipe, and
// no terminal becomes that of the process.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Whole returns all of what a reader gives, if that are at most limit bytes. It
// looks at ctx between reads alone: the reader ends its waits by itself.
func Whole(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	return whole(ctx, r, limit, 0)
}

// maxPart is how much is read into one piece of memory where it is not known
// how much comes: what is put aside for pieces that double would be several
// times the whole.
const maxPart = 1 << 20

// whole is Whole for about so many bytes.
func whole(ctx context.Context, r io.Reader, limit, size int64) ([]byte, error) {
	var parts [][]byte
	var total int64
	part := make([]byte, 0, min(max(size, 0), limit)+512) // there is room to see the end
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

// anonymous tells whether a pipe has no name, as the shell's <(…): whoever
// could write to it has had it from the beginning, so that one without a
// writer is at its end.
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
