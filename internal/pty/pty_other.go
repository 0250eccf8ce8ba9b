//go:build !linux

package pty

import (
	"errors"
	"os"
)

// Open returns an error on this system.
func Open() (master, slave *os.File, err error) {
	return nil, nil, errors.New("programs with a terminal are supported on Linux only")
}
