package textfile

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// As calls f with the rights of a user on files: files that f makes belong to the user. If this process
// cannot take another identity because it does not run as root, f is just called. f must not start goroutines.
func As(id *Identity, f func() error) error {
	if id == nil || os.Geteuid() != 0 {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		// The identity belongs to the thread. The goroutine ends without unlocking its thread, so that the
		// thread ends with it.
		runtime.LockOSThread()
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
			}
			done <- err
		}()
		if err = become(id); err == nil {
			err = f()
		}
	}()
	return <-done
}

// become takes the identity for the file system. The kernel takes the powers of root over files away
// together with the user.
func become(id *Identity) error {
	if err := unix.Setgroups(id.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := unix.Setfsgid(id.GID); err != nil {
		return os.NewSyscallError("setfsgid", err)
	}
	if err := unix.Setfsuid(id.UID); err != nil {
		return os.NewSyscallError("setfsuid", err)
	}
	// The call does not report failures, but a second call returns the present user.
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != id.UID {
		return fmt.Errorf("the identity of the user %d cannot be taken", id.UID)
	}
	return nil
}
