//go:build !linux

package ssh

import "net"

// ackNow does nothing: only Linux has this option.
func ackNow(net.Conn) {}
