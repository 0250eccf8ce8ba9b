package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bolt/format/fault"
)

// CheckFile returns an error (kind bolt/file-error) unless path is a file that this
// process can read, and not a directory. what is the kind of file in messages, such
// as "script".
func CheckFile(what, path string) error {
	info, err := checkReadable(what, path)
	if err == nil && info.IsDir() {
		return fault.File(path, nil, "The %s '%s' is not a file", what, path)
	}
	return err
}

// CheckTree is CheckFile for a file, or for a directory with its content.
func CheckTree(what, path string) error { return checkTree(what, path, nil) }

// checkTree follows symbolic links, so it must detect a link to one of the
// directories above it.
func checkTree(what, path string, above []fs.FileInfo) error {
	info, err := checkReadable(what, path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return fault.File(path, nil, "The %s '%s' is neither a regular file nor a directory", what, path)
	}
	if err != nil || !info.IsDir() {
		return err
	}
	for _, dir := range above {
		if os.SameFile(dir, info) {
			return fault.File(path, nil, "The %s '%s' is a link to a directory that it is in", what, path)
		}
	}
	above = append(above, info)
	entries, err := os.ReadDir(path)
	if err != nil {
		return fault.File(path, err, "The %s '%s' is unreadable: %v", what, path, fault.WithoutPath(err))
	}
	for _, e := range entries {
		if err := checkTree(what, filepath.Join(path, e.Name()), above); err != nil {
			return err
		}
	}
	return nil
}

func checkReadable(what, path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.File(path, err, "The %s '%s' does not exist", what, path)
	case err != nil:
		return nil, fault.File(path, err, "The %s '%s' is unreadable: %v", what, path, fault.WithoutPath(err))
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS); err != nil {
		return nil, fault.File(path, err, "The %s '%s' is unreadable: %v", what, path, err)
	}
	return info, nil
}
