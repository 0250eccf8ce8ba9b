package pty

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open makes a pseudo-terminal of 80 columns and 24 rows (pty(7), pts(4)). A program that has slave as its terminal
// is controlled by master.
func Open() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := master.SyscallConn()
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	var number uint32
	var inner error
	err = raw.Control(func(fd uintptr) {
		if inner = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); inner != nil {
			return
		}
		if inner = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); inner != nil {
			return
		}
		number, inner = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
	})
	if err == nil {
		err = inner
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(number), 10), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
