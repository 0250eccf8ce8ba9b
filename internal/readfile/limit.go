package readfile

import (
	"errors"
	"syscall"
)

// OutOfFiles reports whether err means that this process or the machine has
// reached its limit of open files.
func OutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
