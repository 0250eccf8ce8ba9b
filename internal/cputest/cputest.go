// Package cputest measures the processor time of code for tests.
package cputest

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Used returns the processor time of f. Goroutines that f starts do not count. Unlike the time on a clock, it does not
// depend on other work of the machine.
func Used(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &before)
	f()
	if err := errors.Join(err, unix.Getrusage(unix.RUSAGE_THREAD, &after)); err != nil {
		t.Fatal(err)
	}
	return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
}
