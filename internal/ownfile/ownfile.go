// Package ownfile opens files to write in directories to which other users may
// be able to write, such as the directory of a project.
//
// Another user could put a symbolic link there, and root would then change the
// file that it leads to. Open never follows a link in the last component of a
// path. OpenNamed and Resolve follow only links that root or the user of this
// process has made. Follow is for files that users edit: it follows all links.
// The directories of a path can be links.
//
// The package owns only the files that it returns.
package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bolt/internal/peercred"
)

var (
	// ErrLink is the error of Open for a symbolic link.
	ErrLink = errors.New("it is a symbolic link: remove it, or give the path of the file itself")
	// ErrNotRegular is the error of Open for anything else that is not a regular file.
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrDirectory is the error of Open for a directory that is opened to write.
	ErrDirectory = errors.New("it is a directory")
	errHardLink  = errors.New("it has another name (a hard link), so that writing would change that file: remove it")
)

// A foreignError is the error of a file or link of another user.
type foreignError struct {
	What string // "a file", "a symbolic link"
	UID  int
}

func (e *foreignError) Error() string {
	name := strconv.Itoa(e.UID)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("it is %s of the user %s: remove it, or run bolt as that user", e.What, name)
}

// Open opens a regular file as os.OpenFile does, and never a link. It does not
// wait for the other end of a FIFO.
func Open(path string, flags int, mode fs.FileMode) (*os.File, error) {
	truncate := flags&os.O_TRUNC != 0
	f, err := os.OpenFile(path, flags&^os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	case errors.Is(err, unix.EISDIR):
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrDirectory}
	case errors.Is(err, unix.ENXIO):
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err == nil && truncate {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenOwn is Open for a file that must belong to the user of this process, to root,
// or to the owner of its directory, and must not have a second name (a hard link).
func OpenOwn(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := Open(path, flags&^os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	if err = checkOwner(f, path); err == nil && flags&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkOwner(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return &fs.PathError{Op: "open", Path: path, Err: errHardLink}
	}
	if uid := peercred.Owner(info); !mine(uid) && uid != peercred.Owner(dir) {
		return &fs.PathError{Op: "open", Path: path, Err: &foreignError{"a file", uid}}
	}
	return nil
}

// OpenNamed opens a file that a configuration names. It need not be a regular file:
// it can be /dev/stderr.
func OpenNamed(path string, flags int, mode fs.FileMode) (*os.File, error) {
	to, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if !inProc(to) {
		flags |= unix.O_NOFOLLOW
	}
	f, err := os.OpenFile(to, flags, mode)
	if errors.Is(err, unix.ELOOP) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	}
	return f, err
}

// maxLinks is the number of links that the kernel follows in a path
// (path_resolution(7)).
const maxLinks = 40

// resolve is Follow, except that a link of another user is an error.
func resolve(path string) (string, error) { return follow(path, mine) }

// Follow follows the links at the end of a path. The file that the links point to need
// not exist. Links in /proc are not followed.
func Follow(path string) (string, error) {
	return follow(path, func(int) bool { return true })
}

// follow follows the links whose owners are allowed.
func follow(path string, allowed func(uid int) bool) (string, error) {
	at := path
	for range maxLinks {
		before, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil
		case err != nil:
			return "", err
		case before.Mode()&fs.ModeSymlink == 0 || inProc(at):
			return at, nil
		}
		if uid := peercred.Owner(before); !allowed(uid) {
			return "", &fs.PathError{Op: "open", Path: path, Err: &foreignError{"a symbolic link", uid}}
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if after, err := os.Lstat(at); err != nil || !os.SameFile(before, after) {
			return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("the symbolic link was replaced while it was read: try again")}
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// inProc reports whether a path is in /proc, where links are names of open files.
func inProc(path string) bool { return strings.HasPrefix(filepath.Clean(path), "/proc/") }

// mine reports whether a user is root or the user of this process.
func mine(uid int) bool { return uid == 0 || uid == os.Geteuid() }
