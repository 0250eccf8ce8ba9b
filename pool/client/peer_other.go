//go:build !linux && !darwin

package client

import (
	"errors"
	"io/fs"
	"net"
)

// peerOf has no answer here, so nobody is trusted.
func peerOf(net.Conn) (uid, pid int, err error) { return 0, 0, errors.ErrUnsupported }

func ownerOf(fs.FileInfo) int { return -1 }
