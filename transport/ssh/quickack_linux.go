package ssh

import (
	"net"

	"golang.org/x/sys/unix"
)

// ackNow asks for an immediate acknowledgement of what was received. The
// kernel forgets the wish by and by, so it is said after each read. Errors do
// not matter: it is only about speed.
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
