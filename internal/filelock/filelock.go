// Package filelock lets processes that change the same files of a directory take turns: one
// process holds the directory's lock (flock(2)), and the others wait. The lock is on the
// directory itself, so no lock file is left behind. It ends with the process that holds it. A
// file can have a lock of its own.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// firstPause and maxPause bound the time that a waiting process sleeps between two attempts.
// Files are changed within milliseconds.
const (
	firstPause = time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// Dir takes the lock of a directory, which must be readable, and waits for it until ctx ends.
// Call unlock when the files are written.
//
// On file systems without locks (some network file systems) Dir does not wait, and unlock
// does nothing.
func Dir(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := File(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// File is Dir for an open file, for callers that change only this file. The lock ends when
// the file is closed.
func File(ctx context.Context, f *os.File) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if err := Try(f); !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", f.Name(), context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// ErrHeld is the error of Try if another process, or another open file of this
// process, holds the lock.
var ErrHeld = errors.New("another process holds the lock")

// Try is File without waiting.
func Try(f *os.File) error { return try(f, unix.LOCK_EX) }

// TryShared is Try for a lock that several open files can have at the same time. It finds out
// whether another process has the lock of Try.
func TryShared(f *os.File) error { return try(f, unix.LOCK_SH) }

func try(f *os.File, how int) error {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	switch {
	case err == nil, errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS):
		return nil
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return ErrHeld
	}
	return fmt.Errorf("lock %s: %w", f.Name(), err)
}
