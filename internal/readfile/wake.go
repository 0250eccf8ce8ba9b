package readfile

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Wakeable returns a reader of a file whose waits end when ctx is done: Read then
// returns the cause of ctx. stop releases the reader; the file stays open.
func Wakeable(ctx context.Context, f *os.File) (r io.Reader, stop func(), err error) {
	wake, bell, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	cancel := context.AfterFunc(ctx, func() { bell.Close() })
	return &wakeable{f, wake, func() error { return context.Cause(ctx) }}, func() {
		if cancel() {
			bell.Close()
		}
		wake.Close()
	}, nil
}

type wakeable struct {
	f, wake *os.File
	cause   func() error
}

// Read waits for the file or for the end of the context.
func (w *wakeable) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(w.f.Fd()), Events: unix.POLLIN}, {Fd: int32(w.wake.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, fmt.Errorf("poll: %w", err)
		case fds[1].Revents != 0:
			return 0, w.cause()
		}
		return w.f.Read(p)
	}
}
