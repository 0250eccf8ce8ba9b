package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"bolt/run"
)

// wakeable returns a reader of a file that does not wait any more once ctx is
// done: it returns run.ErrStopped then. stop lets go of it; the file stays
// open.
func wakeable(ctx context.Context, f *os.File) (r io.Reader, stop func(), err error) {
	wake, bell, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	cancel := context.AfterFunc(ctx, func() { bell.Close() })
	return &wakeableFile{f, wake}, func() {
		if cancel() {
			bell.Close()
		}
		wake.Close()
	}, nil
}

type wakeableFile struct{ f, wake *os.File }

// Read waits for the file or for the bell.
func (w *wakeableFile) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(w.f.Fd()), Events: unix.POLLIN}, {Fd: int32(w.wake.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, fmt.Errorf("poll: %w", err)
		case fds[1].Revents != 0:
			return 0, run.ErrStopped
		}
		return w.f.Read(p)
	}
}
