package ssh

import (
	"net"

	"golang.org/x/sys/unix"
)

// ackNow makes the kernel acknowledge received data at once. The kernel resets
// the option after a while, so it is set after each read. Errors are ignored,
// because the option affects only speed.
func ackNow(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1)
	})
}
