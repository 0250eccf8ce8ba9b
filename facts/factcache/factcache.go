// Package factcache keeps facts of targets between invocations, so that targets
// can be chosen by them without being asked.
//
//	cache := factcache.Open(dir)
//	err := cache.Put(factcache.Record{Target: "web1", Collected: time.Now(), Source: "task", Facts: facts})
//	r, err := cache.Get(ctx, "web1", factcache.Only("os"))
//
// Each target has a file of its own, whose name is a digest of the target's: so
// any text may be a name, on any file system, several processes need no turns,
// and what damages a file takes the facts of one target. A file is replaced
// whole, and has a checksum.
//
// Of a choice by "facts.os.family" the rest of the facts is of no interest, and
// it is most of them. So facts of the top level are kept one by one (see
// record.go), and Get makes values only of those that are wanted.
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

// Kind is that of the errors about the cache itself.
const Kind = "bolt/fact-cache-error"

// maxRecord is how large the facts of a target may be, as JSON. facter's have
// tens of KiB; what is larger is read for each choice by facts.
const maxRecord = 16 << 20

// A Record is what is known of one target, and since when.
type Record struct {
	Target    string    // its name, without a password
	Collected time.Time // to the second
	Source    string    // where the facts are from: "task", "puppetdb"
	Version   string    // of the program that collected them
	Facts     *ordered.Map
}

// Age is how old the facts are at a time; what was collected later than that,
// by a clock that went ahead, is new.
func (r *Record) Age(now time.Time) time.Duration { return max(0, now.Sub(r.Collected)) }

// A Want says which facts of the top level are wanted; the zero value wants
// none.
type Want struct {
	all   bool
	facts []string
}

// All wants all facts.
func All() Want { return Want{all: true} }

// Only wants these.
func Only(facts ...string) Want { return Want{facts: facts} }

// has takes bytes, of which comparing makes no string.
func (w Want) has(fact []byte) bool {
	for _, f := range w.facts {
		if f == string(fact) {
			return true
		}
	}
	return w.all
}

// A DamagedError is that of a file that is no record, or not a whole one. Its
// facts can be collected again.
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

// Open returns the cache in a directory. Nothing is made before Prepare: a cache
// without a directory is empty.
func Open(dir string) *Cache {
	return &Cache{dir: dir, encoders: sync.Pool{New: func() any { return new(encoder) }}}
}

// Dir is where the records are.
func (c *Cache) Dir() string { return c.dir }

// suffix ends the names of records.
const suffix = ".facts"

// path is where the record of a target is.
func (c *Cache) path(target string) string {
	sum := sha256.Sum256([]byte(target))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+suffix)
}

// Prepare makes the directory, for its owner alone, and removes what writers
// left there that were killed.
func (c *Cache) Prepare(now time.Time) error {
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		err = os.Chmod(c.dir, 0o700) // it may be older, and somebody's else idea
	}
	if err != nil {
		return c.fault(err, "could not be made")
	}
	return c.each(func(path string, e fs.DirEntry) error {
		if isRecord(path) {
			return nil
		}
		if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < abandoned {
			return nil // it is gone by now, or being written
		}
		return os.Remove(path)
	})
}

// abandoned is from which age on nobody writes a file any more.
const abandoned = time.Hour

// Put replaces the record of a target. Its directory has been prepared.
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

// replace writes a record. What is no file, such as a link or a named pipe, goes
// first: atomicfile would write to where it leads, and might wait there for ever.
func replace(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return atomicfile.Write(path, data, 0o600)
}

// Empty reports whether no facts are kept at all.
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

// Get returns the record of a target with the facts that are wanted; nil if
// there is none. The error is a *DamagedError, or the cause of ctx's end.
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

// Forget removes the record of a target, and tells whether there was one.
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

// ForgetBefore removes the records of all targets, also of those that nobody
// knows any more, whose facts are from before a time, and those that are
// damaged. It tells how many.
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

// each calls a function for each file. What another process has removed is no
// error.
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
