// Package fileset lists the files below a directory, for the types file and tidy.
package fileset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/glob"
)

// maxLevels bounds the depth of a walk, so that hostile trees do not exhaust the stack.
const maxLevels = 1000

// Options choose the files of a directory.
type Options struct {
	// Follow makes links to directories directories.
	Follow bool
	// Confined leaves out links that lead out of the directory. Only Follow needs it: without Follow, no
	// link is followed.
	Confined bool
	// Limit is the number of levels below the directory; a negative one is all.
	Limit int
	// Ignore are patterns of names that are left out, with all that is below them.
	Ignore []string
	// Most is the number of files that is allowed; not positive: any.
	Most int
}

// An Entry is a file.
type Entry struct {
	Name string // relative to the directory
	Type fs.FileMode
}

// A MostError is for a directory with more files than Options.Most.
type MostError struct {
	Dir  string
	Most int
}

func (e *MostError) Error() string {
	return fmt.Sprintf("%s has more than %d files, the number that max_files allows", e.Dir, e.Most)
}

// List returns the files below a directory, sorted by name. A directory is before its content. A
// directory that does not exist, or a path that is not a directory, has no files. So has a link to a
// directory without Follow.
func List(ctx context.Context, dir string, o Options) ([]Entry, error) {
	info, err := os.Lstat(dir)
	if o.Follow && err == nil {
		info, err = os.Stat(dir)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := walk{ctx: ctx, Options: o, dir: dir}
	if !o.Follow || o.Confined {
		w.root, err = os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer w.root.Close()
		// The directory can have become a link since it was looked at.
		if now, err := w.root.Stat("."); err != nil || !os.SameFile(now, info) {
			return nil, fmt.Errorf("%s has changed while it was read", dir)
		}
	}
	if err := w.visit("", []fs.FileInfo{info}); err != nil {
		return nil, err
	}
	slices.SortFunc(w.found, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return w.found, nil
}

type walk struct {
	Options
	ctx   context.Context //nolint:containedctx // of one call of List
	dir   string
	root  *os.Root // nil if links can lead anywhere
	found []Entry
}

// visit adds the files of a directory. above are the directories on the way to it, with itself.
func (w *walk) visit(rel string, above []fs.FileInfo) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	level := len(above)
	if w.Limit >= 0 && level > w.Limit || level > maxLevels {
		return nil
	}
	entries, err := w.read(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.ContainsFunc(w.Ignore, func(pattern string) bool { return glob.File(pattern, e.Name(), false) }) {
			continue
		}
		name := path.Join(rel, e.Name())
		info, err := w.look(name, e)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed, or the link is dangling or leads out
		}
		if err != nil {
			return err
		}
		if w.Most > 0 && len(w.found) == w.Most {
			return &MostError{Dir: w.dir, Most: w.Most}
		}
		w.found = append(w.found, Entry{name, info.Mode().Type()})
		if !info.IsDir() || slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
			continue
		}
		if err := w.visit(name, append(above, info)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) read(rel string) ([]fs.DirEntry, error) {
	if rel == "" {
		rel = "."
	}
	var f *os.File
	var err error
	if w.root != nil {
		f, err = w.root.Open(rel)
	} else {
		f, err = os.Open(filepath.Join(w.dir, rel))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// look returns the state of a file; the error is fs.ErrNotExist for a file that is left out.
func (w *walk) look(name string, e fs.DirEntry) (fs.FileInfo, error) {
	switch {
	case e.Type()&(fs.ModeSymlink|fs.ModeDir) == 0 || e.Type() == fs.ModeSymlink && !w.Follow:
		return plain{e}, nil
	case w.root == nil:
		return os.Stat(filepath.Join(w.dir, name))
	case !w.Follow:
		return w.root.Lstat(name)
	}
	info, err := w.root.Stat(name)
	if err != nil && e.Type() == fs.ModeSymlink {
		return nil, fs.ErrNotExist
	}
	return info, err
}

// plain is an entry of a directory, without the state of the file.
type plain struct{ fs.DirEntry }

func (p plain) Mode() fs.FileMode      { return p.Type() }
func (p plain) Size() int64            { return 0 }
func (p plain) ModTime() (t time.Time) { return t }
func (p plain) Sys() any               { return nil }
