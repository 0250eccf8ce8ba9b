// Package appendfile is the file layer of logs and journals: files of lines that are
// only ever added to.
//
// A [File] is open and locked (flock(2)) until Close, so one process writes at
// a time. A log opens it for each record, and many processes share it; a
// journal keeps it open. Append writes whole lines. If the disk is full, the
// part that was written is removed. A crash can leave part of a line at the end
// (a torn tail). [Reader] reports it as an open line, and the caller handles
// it.
//
// The package never follows a symbolic link to a file, and opens only regular files
// (package ownfile).
package appendfile

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/ownfile"
)

// A File is open for appending and locked. Except for ReadAt, its methods must not be
// called by several goroutines at a time.
type File struct {
	file *os.File
}

// Existence selects whether Open creates a file, opens an existing file, or
// both.
type Existence uint8

const (
	Any      Existence = iota // open the file, or create it
	New                       // create it; a file that is there is an error
	Existing                  // open it; a missing file is an error
)

// Open opens the file at path, with mode 0600 if it creates it, and waits for the lock
// until ctx ends. The name of a new file is on the disk when Open returns, if the file
// system can do that. If the file is renamed or removed meanwhile (logrotate(8)), Open
// starts again with the file that then has the name.
func Open(ctx context.Context, path string, e Existence) (*File, error) {
	flags := os.O_RDWR | os.O_APPEND
	switch e {
	case Any:
		flags |= os.O_CREATE
	case New:
		flags |= os.O_CREATE | os.O_EXCL
	}
	for {
		f, err := ownfile.Open(path, flags, 0o600)
		if err != nil {
			return nil, err
		}
		current, err := lock(ctx, f, path)
		if current {
			return &File{f}, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lock locks f. current is false if path names another file by then, or after an error.
func lock(ctx context.Context, f *os.File, path string) (current bool, err error) {
	if err := filelock.File(ctx, f); err != nil {
		return false, err
	}
	here, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if err != nil || !os.SameFile(here, there) {
		return false, nil
	}
	if here.Size() == 0 {
		if err := atomicfile.SyncDir(filepath.Dir(path)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Append writes lines, each with its end, in one call. With sync they are on
// the disk when it returns. After an error, the file contains no part of the
// lines, unless Sync failed or the file could not be truncated.
func (f *File) Append(lines []byte, sync bool) error {
	if n, err := f.file.Write(lines); err != nil {
		if info, serr := f.file.Stat(); n > 0 && serr == nil {
			_ = f.file.Truncate(info.Size() - int64(n))
		}
		return err
	}
	if sync {
		return f.file.Sync()
	}
	return nil
}

// Size returns the length in bytes.
func (f *File) Size() (int64, error) {
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Cut removes all bytes after the first size bytes: a torn tail.
func (f *File) Cut(size int64) error { return f.file.Truncate(size) }

// ReadAt reads as io.ReaderAt does.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Close ends the lock and closes the file.
func (f *File) Close() error { return f.file.Close() }

// BootID returns the ID that the kernel generates at each start of the machine
// (proc_sys_kernel(5)), or "" if it is unknown. After a restart of the machine, only
// the synced lines of a file are certain to be there.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
