package spawn

import (
	"errors"
	"io/fs"
	"os"

	"bolt/internal/ownfile"
)

// maxLog is the size at which the daemon starts a new log file. The previous
// file stays until the next change.
const maxLog = 4 << 20

// A Log is the daemon's log file, for one writer at a time.
type Log struct {
	path string
	f    *os.File
	size int64
}

// OpenLog opens the log to append to it.
func OpenLog(path string) (*Log, error) {
	f, err := ownfile.OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Log{path: path, f: f, size: info.Size()}, nil
}

// Write appends p, and starts a new file first if the current one is full.
func (l *Log) Write(p []byte) (int, error) {
	if l.size+int64(len(p)) > maxLog {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *Log) Close() error { return l.f.Close() }

func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, err := OpenLog(l.path)
	if err != nil {
		return err
	}
	l.f.Close()
	*l = *next
	return nil
}
