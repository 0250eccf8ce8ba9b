package peercred

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// Of returns the user and the process at the other end of a unix socket
// (LOCAL_PEERCRED and LOCAL_PEERPID, unix(4)).
func Of(conn net.Conn) (uid, pid int, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	if ctl := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid = int(cred.Uid)
			pid, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	}); ctl != nil {
		return 0, 0, ctl
	}
	return uid, pid, err
}
