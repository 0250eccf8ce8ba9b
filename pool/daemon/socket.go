package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bolt/internal/peercred"
)

// ErrRunning is in the chain of New's error when another daemon serves the
// socket.
var ErrRunning = errors.New("another daemon is running")

const (
	lockName = "lock"
	// maxSocketPath is sizeof(sun_path) without its final NUL (unix(7)).
	maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1
)

// A socket is the unix socket on which the daemon listens. If the daemon made
// the file, it holds the lock. Only the holder of the lock may remove the file.
type socket struct {
	listener net.Listener
	path     string
	lock     *os.File    // nil for an inherited listener
	made     os.FileInfo // the socket's file, as bind made it
	closing  sync.Once
}

// listen takes the lock and replaces any socket at path. Because listen holds
// the lock, that socket belongs to no running daemon.
func listen(path string) (*socket, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes; a socket's path can have at most %d", path, len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	s := &socket{path: path, lock: lock}
	if err := s.bind(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, bare(err))
	}
	return s, nil
}

// privateDir makes dir, but not its parents. If dir exists, it checks that dir
// belongs to this user and that no other user has access to it.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the directory %s of the socket: %w", dir, bare(err))
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("directory %s of the socket: %w", dir, bare(err))
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("directory %s of the socket: it is a symbolic link, which another user could change", dir)
	case !info.IsDir():
		return fmt.Errorf("directory %s of the socket: not a directory", dir)
	case peercred.Owner(info) != os.Geteuid():
		return fmt.Errorf("directory %s of the socket: it belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("directory %s of the socket: other users have access to it (mode %04o): its mode must be 0700", dir, info.Mode().Perm())
	}
	return nil
}

// takeLock locks the file. The file is never removed: otherwise two daemons
// could hold locks on two files of the same name.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, bare(err))
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, ErrRunning)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The PID is only information for people, so a full disk must not prevent
	// the start.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// bind listens. No other user can connect before the socket's mode is set,
// because the directory is closed to other users.
func (s *socket) bind() error {
	switch info, err := os.Lstat(s.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the file exists and is not a socket")
	default:
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // close removes the file if it is still this daemon's
	s.listener = l
	if err = os.Chmod(s.path, 0o600); err == nil {
		s.made, err = os.Lstat(s.path)
	}
	if err != nil {
		_ = os.Remove(s.path)
		l.Close()
	}
	return err
}

// close releases the socket and the lock. Only the first call does anything.
func (s *socket) close() (err error) {
	s.closing.Do(func() {
		if s.made != nil {
			if now, stat := os.Lstat(s.path); stat == nil && os.SameFile(now, s.made) {
				err = os.Remove(s.path)
			}
		}
		if s.lock != nil {
			_ = s.lock.Truncate(0) // the PID is only information for people
			err = errors.Join(err, s.lock.Close())
		}
		// The listener is closed last: a client that was not accepted notices
		// it and may start another daemon at once.
		err = errors.Join(err, s.listener.Close())
	})
	return err
}

// bare returns the cause alone, for messages that already contain the operation
// and the path.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		return e.Err
	}
	return err
}
