// Package textfile reads text files of the host and replaces them safely.
//
// A reader of such a file sees the old or the new text, never a part. The file keeps its owner, group and
// mode. Symbolic links are followed. As protects against links that another user has made: it does its work
// with the rights of that user.
package textfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"bolt/internal/atomicfile"
	"bolt/internal/readfile"
)

// Limit is the size of the largest file that is read, in bytes.
const Limit = 64 << 20

// An Identity is a user of the host with its groups.
type Identity struct {
	UID, GID int
	Groups   []int // all groups of the user
}

// Read returns the text of a regular file. exists is false if there is no such file.
func Read(ctx context.Context, path string) (text string, exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular():
		return "", false, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	data, err := readfile.Read(ctx, path, Limit)
	return string(data), err == nil, err
}

// Write replaces the text of a file. A new file gets mode, without regard to the umask.
func Write(path, text string, mode fs.FileMode) error {
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	err = atomicfile.Write(path, []byte(text), mode)
	switch {
	case err == nil && isNew:
		return os.Chmod(path, mode)
	case isNew:
		return err
	case errors.Is(err, syscall.EBUSY) || errors.Is(err, fs.ErrPermission):
		// A file that is a mount point, such as /etc/hosts in a container, can only be written in place. So can a
		// writable file in a directory that is not writable.
		if inPlace(path, text) == nil {
			return nil
		}
	}
	return err
}

func inPlace(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Lines splits a text after its line ends. The last line can be without one.
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
