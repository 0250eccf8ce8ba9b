// Package safepath opens paths so that links of other users cannot redirect a process to foreign files.
//
// If a process of root follows every link in a path, the owners of the links choose the files that it changes.
// For example, if a user replaces ~/.ssh by a link to /root/.ssh, keys for that user become keys for root. So a
// link is followed if it belongs to root or to the user of the process. A link of another user is followed only
// to a file or directory of that same user; otherwise the error is a *LinkError. The model is chase(3) of
// systemd with CHASE_SAFE.
//
// The results are descriptors, so the checked object cannot be exchanged afterwards.
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A LinkError is the error for a link that leads from one user to another.
type LinkError struct {
	Path  string // that has the link, or is it
	Owner uint32 // of the link
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is or contains a symbolic link of the user with the UID %d. The link leads to a file of another user. "+
		"Remove the link, or apply the resource as that user (--run-as)", e.Path, e.Owner)
}

// maxLinks bounds the links in a path, as path_resolution(7) does.
const maxLinks = 40

// Open opens the object at an absolute path, with O_PATH. It also follows a link at the last component. The
// caller closes the file.
func Open(path string) (*os.File, error) { return open(path, 0) }

// open adds flags of open(2).
func open(path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	// Most paths have no links, so one system call does. Kernels before 5.6 do not have it.
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil && err != unix.ENOTDIR && err != unix.ENOENT {
		w := walk{}
		if fd, err = w.object(unix.AT_FDCWD, path); err == nil && flags&unix.O_DIRECTORY != 0 {
			err = directory(fd)
		}
	}
	if err != nil {
		return nil, wrap(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// directory closes a descriptor that is not of a directory.
func directory(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}

// Parent opens the directory of an absolute path, and returns the last component. The last component is not
// checked: it can be a link. It is "." for the root directory. The caller closes the directory.
func Parent(path string) (dir *os.File, name string, err error) {
	above, name := filepath.Split(filepath.Clean(path))
	if name == "" {
		name = "."
	}
	dir, err = open(above, unix.O_DIRECTORY)
	return dir, name, err
}

// Last is Parent, but also follows links at the last component: when Last checks name, it is not a link. The
// object need not exist. The caller must open it with O_NOFOLLOW.
func Last(path string) (dir *os.File, name string, err error) {
	dir, name, err = Parent(path)
	if err != nil {
		return nil, "", err
	}
	w := walk{}
	fd, name, err := w.last(int(dir.Fd()), name)
	if err != nil {
		dir.Close()
		return nil, "", wrap(path, err)
	}
	if fd != int(dir.Fd()) {
		dir.Close()
		dir = os.NewFile(uintptr(fd), filepath.Dir(path))
	}
	return dir, name, nil
}

// MakeAll makes the directory at an absolute path, and the missing directories above it, with the mode 0755 less
// the umask. Directories that exist stay as they are.
func MakeAll(path string) error {
	path = filepath.Clean(path)
	exists := func() error {
		dir, err := open(path, unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		return dir.Close()
	}
	if err := exists(); !errors.Is(err, fs.ErrNotExist) || path == "/" {
		return err
	}
	if err := MakeAll(filepath.Dir(path)); err != nil {
		return err
	}
	dir, name, err := Parent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = unix.Mkdirat(int(dir.Fd()), name, 0o755)
	if err == unix.EEXIST { // another process has made it, or it is a link
		return exists()
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// trusted reports whether the links of a user are followed anywhere.
func trusted(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

// A walk follows one path.
type walk struct{ links int }

// last follows the links at a name. The directory that it returns is at, or a new descriptor.
func (w *walk) last(at int, name string) (int, string, error) {
	dir := at
	fail := func(err error) (int, string, error) {
		if dir != at {
			unix.Close(dir)
		}
		return -1, "", err
	}
	var owner *uint32 // of a link of another user that has led here
	for {
		var st unix.Stat_t
		err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT {
			err = unix.Fstat(dir, &st) // for a new file, its directory decides
		}
		switch {
		case err != nil:
			return fail(err)
		case owner != nil && *owner != st.Uid:
			return fail(&LinkError{Owner: *owner})
		case st.Mode&unix.S_IFMT != unix.S_IFLNK:
			return dir, name, nil
		}
		if !trusted(st.Uid) {
			uid := st.Uid
			owner = &uid
		}
		target, err := readlink(dir, name)
		if err != nil {
			return fail(err)
		}
		if w.links++; w.links > maxLinks {
			return fail(unix.ELOOP)
		}
		above, base := filepath.Split(strings.TrimRight(target, "/"))
		if base == "" || base == "." || base == ".." {
			above, base = target, "."
		}
		next, err := w.object(dir, above)
		if err != nil {
			return fail(err)
		}
		if dir != at {
			unix.Close(dir)
		}
		dir, name = next, base
	}
}

// object opens the object at a path. The path is absolute, or relative to a directory.
func (w *walk) object(at int, path string) (int, error) {
	if strings.HasPrefix(path, "/") {
		at = unix.AT_FDCWD
	}
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	start := "."
	if at == unix.AT_FDCWD {
		start = "/"
	}
	now, err := unix.Openat(at, start, flags, 0)
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		next, err := unix.Openat(now, part, flags, 0)
		if err == nil {
			next, err = w.through(now, next, part)
		}
		unix.Close(now)
		if err != nil {
			return -1, err
		}
		now = next
	}
	return now, nil
}

// through returns the object that a link leads to, and an object that is not a link as it is. It closes the
// descriptor of a link.
func (w *walk) through(dir, fd int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fd, nil
	}
	target, err := readlink(fd, "")
	unix.Close(fd)
	if err != nil {
		return -1, err
	}
	if w.links++; w.links > maxLinks {
		return -1, unix.ELOOP
	}
	to, err := w.object(dir, target)
	if err != nil || trusted(st.Uid) {
		return to, err
	}
	var there unix.Stat_t
	if err = unix.Fstat(to, &there); err == nil && there.Uid != st.Uid {
		err = &LinkError{Owner: st.Uid}
	}
	if err != nil {
		unix.Close(to)
		return -1, err
	}
	return to, nil
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

func wrap(path string, err error) error {
	var link *LinkError
	if errors.As(err, &link) {
		return &LinkError{filepath.Clean(path), link.Owner}
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}
