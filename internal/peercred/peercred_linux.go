package peercred

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// Of returns the user and the process at the other end of a unix socket
// (SO_PEERCRED, unix(7)). A client gets the process that began to listen; a
// server gets the process that connected.
func Of(conn net.Conn) (uid, pid int, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctl != nil {
		return 0, 0, ctl
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
