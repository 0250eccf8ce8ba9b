// Package atomicfile replaces a file so that a reader, or the next start
// after a crash, sees the whole old or the whole new content.
//
// The new content goes to a temporary file in the same directory, which is
// synced, except by WriteUnsynced, and then renamed over the old one; POSIX
// rename(2) is atomic.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"bolt/internal/ownfile"
)

// Write replaces the content of a file that users edit, too. A new file gets mode
// (before the umask). An old file keeps its mode and, if the process may set them,
// its owner and group. If the name is a symbolic link, Write replaces the file that the
// link points to. Something that is not a regular file, such as /dev/null, is
// never replaced but written to.
func Write(name string, data []byte, mode fs.FileMode) error {
	return writeFrom(name, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteOwn replaces a file of the program's own data. The new file has mode (before the
// umask), even if the old file had another mode. A symbolic link and
// anything else that is not a regular file is an error.
func WriteOwn(name string, data []byte, mode fs.FileMode) error {
	return writeOwn(name, data, mode, true)
}

// WriteUnsynced is WriteOwn for data that can be made again, such as a cache: it does not
// wait for the disk. After a crash of the machine, the file may be empty or damaged.
func WriteUnsynced(name string, data []byte, mode fs.FileMode) error {
	return writeOwn(name, data, mode, false)
}

func writeOwn(name string, data []byte, mode fs.FileMode, sync bool) error {
	old, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case old.Mode()&fs.ModeSymlink != 0:
		return &fs.PathError{Op: "write", Path: name, Err: ownfile.ErrLink}
	case !old.Mode().IsRegular():
		return &fs.PathError{Op: "write", Path: name, Err: ownfile.ErrNotRegular}
	}
	return replace(name, mode, nil, sync, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeFrom is Write with the content that fill writes. If fill fails, the
// old file stays and the error is fill's.
func writeFrom(name string, mode fs.FileMode, fill func(io.Writer) error) error {
	name, err := ownfile.Follow(name)
	if err != nil {
		return err
	}
	old, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return writeThrough(name, fill)
	}

	return replace(name, mode, old, true, fill)
}

// replace replaces a file by a new file. If old is not nil, the new file is made like it.
// With sync, the new file is on the disk when replace returns.
func replace(name string, mode fs.FileMode, old fs.FileInfo, sync bool, fill func(io.Writer) error) error {
	f, err := createTemp(name, mode)
	if err != nil {
		return err
	}
	if err := commit(f, name, old, sync, fill); err != nil {
		f.Close() // a second Close does no harm
		os.Remove(f.Name())
		return err
	}
	if !sync {
		return nil
	}
	return SyncDir(filepath.Dir(name))
}

func commit(f *os.File, name string, old fs.FileInfo, sync bool, fill func(io.Writer) error) error {
	if old != nil {
		if err := makeLike(f, old); err != nil {
			return err
		}
	}
	if err := fill(f); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// makeLike gives a new file the mode of the old file and, if the process may set them, its
// owner and group. If the group cannot be set, the new group gets the permissions of all
// other users, so that no user gains access.
func makeLike(f *os.File, old fs.FileInfo) error {
	mode := old.Mode().Perm()
	if st, ok := old.Sys().(*syscall.Stat_t); ok && f.Chown(int(st.Uid), int(st.Gid)) != nil && f.Chown(-1, int(st.Gid)) != nil {
		mode = mode&^0o070 | mode&0o007<<3
	}
	return f.Chmod(mode)
}

// createTemp is os.CreateTemp with a mode, so that the umask takes effect.
func createTemp(name string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(name)
	for range 100 {
		temp := dir + "." + base + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
		f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode.Perm())
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("create %s: no free temporary name", name)
}

func writeThrough(name string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// SyncDir brings the names in a directory to the disk, such as the name of a new file. It
// returns no error if the file system cannot do that (some network file systems), or if
// the user may not read the directory.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) { // a directory may be writable and not readable
			return nil
		}
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
