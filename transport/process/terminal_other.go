//go:build !linux

package process

import (
	"errors"
	"os"
)

// openTerminal is not offered here: each system makes pseudo-terminals in its
// own way.
func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.New("programs with a terminal are supported on Linux only")
}
