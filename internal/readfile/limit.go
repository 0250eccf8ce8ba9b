package readfile

import (
	"errors"
	"syscall"
)

// OutOfFiles reports whether err is the limit of open files, of this process or
// of the machine.
func OutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
