package spawn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Inherited returns the socket that systemd listens on for this process
// (sd_listen_fds(3)), or nil. pid and fds are the values of LISTEN_PID and
// LISTEN_FDS.
func Inherited(pid, fds string) (net.Listener, error) {
	if n, err := strconv.Atoi(pid); err != nil || n != os.Getpid() {
		return nil, nil
	}
	if fds != "1" {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS is %q, but must be 1", fds)
	}
	f := os.NewFile(3, "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket activation: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok || !filepath.IsAbs(u.Addr().String()) {
		l.Close()
		return nil, errors.New("socket activation: the socket is not a unix socket with a path")
	}
	u.SetUnlinkOnClose(false) // systemd owns the file
	return u, nil
}
