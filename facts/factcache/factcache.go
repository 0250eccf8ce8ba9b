// Package factcache stores facts of targets between invocations, so that
// targets can be selected by facts without connecting to them.
//
//	cache := factcache.Open(dir)
//	err := cache.Put(factcache.Record{Target: "web1", Collected: time.Now(), Source: "task", Facts: facts})
//	r, err := cache.Get(ctx, "web1", factcache.Only("os"))
//
// Each target has a file whose name is a digest of the target's name. So any
// string can be a name on any file system, several processes need no lock, and
// a damaged file affects one target. Files are replaced as a whole and have a
// checksum.
//
// A selection by "facts.os.family" needs only a small part of the facts. So
// top-level facts are stored separately (see record.go), and Get decodes only
// the requested facts.
package factcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/atomicfile"
	"bolt/internal/readfile"
)

// Kind is the kind of errors about the cache itself.
const Kind = "bolt/fact-cache-error"

// maxRecord limits the facts of a target, as JSON. Facts of facter have tens of
// KiB. The limit exists because each selection by facts reads the record.
const maxRecord = 16 << 20

// A Record is the facts of one target and the time of their collection.
type Record struct {
	Target    string    // its name, without a password
	Collected time.Time // to the second
	Source    string    // where the facts are from: "task", "puppetdb"
	Version   string    // the version of the program that collected them
	Facts     *ordered.Map
}

// Age returns the age of the facts at a time. If they were collected later than
// that, by a clock that was ahead, the age is 0.
func (r *Record) Age(now time.Time) time.Duration { return max(0, now.Sub(r.Collected)) }

// A Want selects top-level facts; the zero value selects none.
type Want struct {
	all   bool
	facts []string
}

// All selects all facts.
func All() Want { return Want{all: true} }

// Only selects these facts.
func Only(facts ...string) Want { return Want{facts: facts} }

// has takes bytes, so that a comparison does not allocate a string.
func (w Want) has(fact []byte) bool {
	for _, f := range w.facts {
		if f == string(fact) {
			return true
		}
	}
	return w.all
}

// A DamagedError is the error for a file that is not a record, or not a
// complete one. The facts can be collected again.
type DamagedError struct {
	Path string
	Err  error
}

// Error names the file.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the file %s cannot be read: %v", e.Path, fault.WithoutPath(e.Err))
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A Cache is a directory of records. It is safe for concurrent use, also by
// several processes.
type Cache struct {
	dir      string
	encoders sync.Pool // of *encoder, which have a megabyte each
}

// Open returns the cache in a directory. It creates nothing; Prepare does. A
// cache without a directory is empty.
func Open(dir string) *Cache {
	return &Cache{dir: dir, encoders: sync.Pool{New: func() any { return new(encoder) }}}
}

// Dir returns the directory of the records.
func (c *Cache) Dir() string { return c.dir }

// suffix ends the names of records.
const suffix = ".facts"

// path returns the path of a target's record.
func (c *Cache) path(target string) string {
	sum := sha256.Sum256([]byte(target))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+suffix)
}

// Prepare creates the directory with mode 0700 and removes temporary files of
// writers that were killed.
func (c *Cache) Prepare(now time.Time) error {
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		err = os.Chmod(c.dir, 0o700) // the directory can exist already, with another mode
	}
	if err != nil {
		return c.fault(err, "could not be made")
	}
	return c.each(func(path string, e fs.DirEntry) error {
		if isRecord(path) {
			return nil
		}
		if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < abandoned {
			return nil // another process has removed the file, or is writing it
		}
		return os.Remove(path)
	})
}

// abandoned is the age from which a temporary file is left over from a killed writer.
const abandoned = time.Hour

// Put replaces the record of a target. Call Prepare before.
func (c *Cache) Put(r Record) error {
	e := c.encoders.Get().(*encoder)
	defer c.encoders.Put(e)
	data, err := e.encode(&r)
	if err == nil {
		err = replace(c.path(r.Target), data)
	}
	if err != nil {
		return &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The facts could not be kept in %s: %v", c.dir, fault.WithoutPath(err))}
	}
	return nil
}

// replace writes a record. It first removes a link, a named pipe or another
// non-regular file at that path, because atomicfile would follow it or could
// block on it.
func replace(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return atomicfile.Write(path, data, 0o600)
}

// Empty reports whether the cache does not have any records.
func (c *Cache) Empty() bool {
	d, err := os.Open(c.dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(100)
		if slices.ContainsFunc(names, isRecord) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func isRecord(name string) bool { return strings.HasSuffix(name, suffix) }

// Get returns the record of a target with the requested facts, or nil if it does not
// exist. The error is a *DamagedError, or the cause of ctx's end.
func (c *Cache) Get(ctx context.Context, target string, want Want) (*Record, error) {
	r, err := c.read(ctx, c.path(target), want)
	if err == nil && r != nil && r.Target != target {
		return nil, &DamagedError{c.path(target), errors.New("it is of another target")}
	}
	return r, err
}

func (c *Cache) read(ctx context.Context, path string, want Want) (*Record, error) {
	data, err := readfile.Read(ctx, path, maxRecord+maxHead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &DamagedError{path, err}
	}
	r, err := decode(data, want)
	if err != nil {
		return nil, &DamagedError{path, err}
	}
	return r, nil
}

// Forget removes the record of a target and reports whether it existed.
func (c *Cache) Forget(target string) (bool, error) {
	err := os.Remove(c.path(target))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, c.fault(err, "could not be changed")
}

// ForgetBefore removes all records with facts from before a time, and all
// damaged records. This includes targets that are no longer in the inventory.
// It returns the number of removed records.
func (c *Cache) ForgetBefore(ctx context.Context, t time.Time) (n int, err error) {
	err = c.each(func(path string, _ fs.DirEntry) error {
		if !isRecord(path) {
			return nil
		}
		r, err := c.read(ctx, path, Only())
		if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
			return err
		}
		if err == nil && (r == nil || !r.Collected.Before(t)) {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		n++
		return nil
	})
	return n, err
}

// each calls a function for each file. A file that another process has removed
// is not an error.
func (c *Cache) each(f func(path string, e fs.DirEntry) error) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c.fault(err, "could not be read")
	}
	for _, e := range entries {
		err := f(filepath.Join(c.dir, e.Name()), e)
		if _, ofFile := errors.AsType[*fs.PathError](err); ofFile && !errors.Is(err, fs.ErrNotExist) {
			return c.fault(err, "could not be changed")
		} else if err != nil && !ofFile {
			return err
		}
	}
	return nil
}

func (c *Cache) fault(err error, what string) error {
	return &fault.Error{Kind: Kind, Err: err, Details: ordered.Of("path", c.dir),
		Msg: fmt.Sprintf("The cache of facts in %s %s: %v", c.dir, what, fault.WithoutPath(err))}
}
