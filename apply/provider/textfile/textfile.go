// Package textfile reads text files of the host and replaces them safely.
//
// A reader of such a file sees the old or the new text, never a part. The file keeps its owner, group and
// mode, its SELinux context and its access list. Symbolic links are followed as far as package safepath does: a
// link of a user leads only to files of that user. As does its work with the rights of a user.
package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
)

// Limit is the size of the largest file that is read, in bytes.
const Limit = 64 << 20

// An Identity is a user of the host with its groups.
type Identity struct {
	UID, GID int
	Groups   []int // all groups of the user
}

// Read returns the text of a regular file. exists is false if the file does not exist.
func Read(ctx context.Context, path string) (text string, exists bool, err error) {
	dir, name, err := safepath.Last(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer dir.Close()
	f, err := openAt(dir, name, path, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > Limit:
		err = fmt.Errorf("it has more than %d bytes", Limit)
	default:
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", false, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(f, Limit))
	return string(data), err == nil, err
}

// openAt opens a name in a directory that is not a link. It does not wait for the other side of a FIFO.
func openAt(dir *os.File, name, path string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Write replaces the text of a file. A new file gets mode, without regard to the umask.
func Write(path, text string, mode fs.FileMode) error {
	dir, name, err := safepath.Last(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	old, err := openAt(dir, name, path, unix.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(dir, name, path, text, nil, mode)
	case err != nil:
		return err
	}
	defer old.Close()
	err = replace(dir, name, path, text, old, mode)
	// A file that is a mount point, such as /etc/hosts in a container, can only be written in place. A writable
	// file in a directory that is not writable can also be written only in place.
	if errors.Is(err, unix.EBUSY) || errors.Is(err, fs.ErrPermission) {
		if inPlace(dir, name, path, text) == nil {
			return nil
		}
	}
	return err
}

// replace writes a temporary file and renames it to a name. The new file gets the attributes of the old file,
// if the old file exists.
func replace(dir *os.File, name, path, text string, old *os.File, mode fs.FileMode) error {
	temp := "." + name + ".bolt"
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(dir.Fd()), temp, flags, 0o600)
	if err == unix.EEXIST { // a run that was killed has left it
		if err = unix.Unlinkat(int(dir.Fd()), temp, 0); err == nil {
			fd, err = unix.Openat(int(dir.Fd()), temp, flags, 0o600)
		}
	}
	if err != nil {
		return &fs.PathError{Op: "create", Path: filepath.Join(filepath.Dir(path), temp), Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err = fill(f, text, old, mode); err == nil {
		if err = unix.Renameat(int(dir.Fd()), temp, int(dir.Fd()), name); err != nil {
			err = &fs.PathError{Op: "rename", Path: path, Err: err}
		}
	}
	if err != nil {
		unix.Unlinkat(int(dir.Fd()), temp, 0)
		return err
	}
	return syncDir(dir)
}

func fill(f *os.File, text string, old *os.File, mode fs.FileMode) error {
	if old != nil {
		var err error
		if mode, err = dress(f, old); err != nil {
			return err
		}
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil { // also without regard to the umask
		return err
	}
	return f.Sync()
}

// dress copies the owner, the group, the SELinux context and the access list of an old file to a new file, and
// returns the mode for the new file. If the group cannot be set, the new group gets the permissions of all
// other users.
func dress(f, old *os.File) (fs.FileMode, error) {
	info, err := old.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "replace", Path: old.Name(), Err: errors.New("it is not a regular file")}
	}
	mode := info.Mode().Perm()
	st := info.Sys().(*syscall.Stat_t)
	if f.Chown(int(st.Uid), int(st.Gid)) != nil && f.Chown(-1, int(st.Gid)) != nil {
		mode = mode&^0o070 | mode&0o007<<3
	}
	for _, name := range []string{"security.selinux", "system.posix_acl_access"} {
		value := make([]byte, maxAttribute)
		n, err := unix.Fgetxattr(int(old.Fd()), name, value)
		if err != nil { // there is none, or the file system has none
			continue
		}
		own := make([]byte, maxAttribute)
		if m, err := unix.Fgetxattr(int(f.Fd()), name, own); err == nil && bytes.Equal(own[:m], value[:n]) {
			continue // it came from the directory
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, value[:n], 0); err != nil {
			return 0, &fs.PathError{Op: "set " + name, Path: old.Name(), Err: err}
		}
	}
	return mode, nil
}

// maxAttribute is the size that Linux allows for an extended attribute.
const maxAttribute = 64 << 10

// syncDir brings the new name to the disk. A descriptor with O_PATH cannot be synced.
func syncDir(dir *os.File) error {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == unix.EACCES { // a directory can be writable and not readable
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = unix.Fsync(fd); err == unix.EINVAL || err == unix.ENOTSUP { // some network file systems
		return nil
	}
	return err
}

func inPlace(dir *os.File, name, path, text string) error {
	f, err := openAt(dir, name, path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	if info, serr := f.Stat(); serr != nil || !info.Mode().IsRegular() {
		f.Close()
		return errors.Join(serr, fs.ErrInvalid)
	}
	// A disk that is full must not cost the old text, so the room is reserved first, where the file system can do that.
	if err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, max(int64(len(text)), 1)); err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		err = nil
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Same returns a path that is equal for all paths of a file: without symbolic links, as far as it exists.
func Same(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// Lines splits a text after its line ends. The last line can lack a line end.
func Lines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Chomp returns a line without its line end, which is \n, \r\n or \r.
func Chomp(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// End returns a line with a line end, if it has none.
func End(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n"
}
