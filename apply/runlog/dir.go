// Package runlog keeps the records of the helper's runs on a machine: a lock, so that one
// run works at a time; the highest sequence number; the release of the last run; and a journal of each run.
//
// All is in the state directory, which belongs to the user of the helper and which no
// other user can write to. Journals have the names of resources and their status. They do
// not have values or messages, so they have no secrets.
//
// A journal is a file of lines. Its lines about refreshes are on the disk before the change
// that they belong to is made. Other lines can be lost if the machine goes down. If a run has
// no line for its end, it was interrupted.
package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/peercred"
)

// A Dir is a state directory.
type Dir struct{ path string }

// The names in a state directory.
const (
	lockName  = "lock"
	fenceName = "sequence"
	// releaseName has the release of each node.
	releaseName = "release"
	runsName    = "runs"
	journal     = ".log"
)

// Open opens a state directory, and creates it if its parent exists. Its path must be
// absolute and without symbolic links. Other users must not be able to write to the
// directory, or to replace it.
func Open(path string) (*Dir, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, fmt.Errorf("the state directory %q is not a clean absolute path", path)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("the state directory: %w", err)
	}
	if err := check(path); err != nil {
		return nil, fmt.Errorf("the state directory %s: %w", path, err)
	}
	d := &Dir{path}
	if err := d.Make(runsName); err != nil {
		return nil, err
	}
	return d, nil
}

// Path returns the path of a name in the directory.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Make makes a directory in the state directory. A link in its place is an error: old files are removed from these
// directories, and a link could lead to the files of others.
func (d *Dir) Make(name string) error {
	path := d.Path(name)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Lstat(path); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory. Remove it", path)
		}
	}
	if err != nil {
		return fmt.Errorf("the state directory: %w", err)
	}
	return nil
}

// check checks each component of a path: it must be a directory of root or of this user,
// and the last one must be of this user. Others can write to a component only if it is
// sticky, like /tmp.
func check(path string) error {
	me := os.Geteuid()
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		last := at == path
		owner := peercred.Owner(info)
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link", at)
		case !mode.IsDir():
			return fmt.Errorf("%s is not a directory", at)
		case owner != me && (last || owner != 0):
			return fmt.Errorf("%s belongs to another user (UID %d)", at, owner)
		case mode.Perm()&0o022 != 0 && (last || mode&fs.ModeSticky == 0):
			return fmt.Errorf("other users can write to %s", at)
		case last && mode.Perm() != 0o700:
			if err := os.Chmod(at, 0o700); err != nil {
				return err
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// maxID is the length that the ID of a run can have.
const maxID = 64

// CheckID checks the ID of a run, which names a file.
func CheckID(run string) error {
	ok := run != "" && len(run) <= maxID && run[0] != '-'
	for _, c := range []byte(run) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("%q cannot be the ID of a run: it can have letters, digits and dashes, %d at most", run, maxID)
	}
	return nil
}

// list returns the paths of the names in a directory that match a pattern. filepath.Glob would take characters of the state
// directory for a pattern, and ignore errors of reading.
func (d *Dir) list(name, pattern string) ([]string, error) {
	entries, err := os.ReadDir(d.Path(name))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		match, err := filepath.Match(pattern, e.Name())
		if err != nil {
			return nil, err
		}
		if match {
			paths = append(paths, d.Path(name, e.Name()))
		}
	}
	return paths, nil
}

// Expire removes the files of a directory that match a pattern and have not changed for some time.
func (d *Dir) Expire(name, pattern string, age time.Duration) error {
	paths, err := d.list(name, pattern)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > age {
			err = os.Remove(p)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Prune removes the files of a directory that match a pattern, except for the newest.
func (d *Dir) Prune(name, pattern string, keep int) error {
	paths, err := d.list(name, pattern)
	if err != nil {
		return err
	}
	type old struct {
		path string
		at   time.Time
	}
	var files []old
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() {
			files = append(files, old{p, info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b old) int {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
		return strings.Compare(b.path, a.path)
	})
	var errs []error
	for _, f := range files[min(keep, len(files)):] {
		if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) { // another run can have removed it
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
