// Package files is a store of contents and logs in a directory.
//
//	version              the version of this layout
//	blobs/ab/cdef…       a content, named by its digest
//	logs/NAME.jsonl      a log: an event a line
//	summaries/NAME.jsonl the summary of a log: a value a line
//	leases/NAME/         the last lease of a name, and the file that its holder locks
//
// Only the user that made the directory can read it. The store makes directories and files when it
// writes for the first time, so a command that only reads leaves nothing behind.
//
// # Logs
//
// Each line of a log has the SHA-256 of itself and of the previous line's sum. If a line was
// edited, removed or inserted, Load and Append return an error with the file and the line. A
// store verifies the lines that it has not read before. The events of one Append are consecutive lines. Each
// line has the number of the lines that follow. After a crash, the last lines can be incomplete (a torn tail).
// They are ignored, and the next Append removes them.
//
// Append locks the file (flock(2)) while it writes. Load and Watch do not. Each Append syncs its events with
// one fsync(2).
//
// A summary has the form of lines that would follow the log. So it is void as soon as other lines follow, or if it was edited.
//
// # Leases
//
// The holder of a lease also locks a file until its process ends. If the machine has not been started again and the file
// is not locked, the holder has ended. Another process can then take the lease at once.
package files

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
	"sync"
	"sync/atomic"

	"bolt/internal/atomicfile"
	"bolt/internal/readfile"
	"bolt/store"
)

// version is the version of the layout. A store with another version is not opened.
const version = "1"

// A Store is a store.Store in a directory.
type Store struct {
	dir      string
	prepared atomic.Bool // the directory and its version are there

	mu    sync.Mutex
	tails map[string]tail // the verified part of each log, by name
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a directory, which need not exist.
func Open(ctx context.Context, dir string) (*Store, error) {
	const limit = 100
	text, err := readfile.Read(ctx, filepath.Join(dir, "version"), limit)
	switch v := strings.TrimSpace(string(text)); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case v != version:
		return nil, fmt.Errorf("the store in %s has the version %q, but this version of bolt reads the version %s", dir, v, version)
	}
	return &Store{dir: dir, tails: make(map[string]tail)}, nil
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// prepare makes a directory of the store.
func (s *Store) prepare(dir string) error {
	if !s.prepared.Load() {
		if err := makeDir(s.dir); err != nil {
			return err
		}
		name := filepath.Join(s.dir, "version")
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			if err := atomicfile.WriteOwn(name, []byte(version+"\n"), 0o600); err != nil {
				return err
			}
		}
		s.prepared.Store(true)
	}
	return makeDir(dir)
}

// makeDir is os.MkdirAll with the names on the disk.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDir(parent)
}

// checked checks the arguments of methods that take a name and a context.
func checked(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return store.CheckName(name)
}

// walk calls a function for the path, relative to dir, of each regular file below dir.
func walk(ctx context.Context, dir string, each func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return each(filepath.ToSlash(rel), d)
	})
}

// readAll reads a file of the store, which has at most max bytes.
func readAll(f *os.File, max int64) ([]byte, error) {
	var data bytes.Buffer
	if info, err := f.Stat(); err == nil {
		data.Grow(int(min(info.Size(), max)) + bytes.MinRead)
	}
	_, err := data.ReadFrom(io.LimitReader(f, max+1))
	if err == nil && int64(data.Len()) > max {
		err = fmt.Errorf("it has more than %d bytes", max)
	}
	return data.Bytes(), err
}
