//go:build !linux && !darwin

package peercred

import (
	"errors"
	"net"
)

// Of always returns an error on this system, so no peer is trusted.
func Of(net.Conn) (uid, pid int, err error) { return 0, 0, errors.ErrUnsupported }
