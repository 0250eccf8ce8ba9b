// Package inotify reports changes of paths on Linux, also of paths that do not exist yet.
//
// The kernel watches inodes, not paths. So a Watcher watches each directory from the root down to the path for the name of the next
// part, and the file itself. If a part is created, removed, renamed or replaced, the Watcher follows the path again. A path that goes
// through symbolic links is followed twice: as it is written, and as it resolves.
//
// A Watcher adds a watch of a directory before it looks for the next part. So it cannot miss a change. The
// caller reads the state after the watch was added, and a later change has an event.
//
// The kernel drops events if its queue is full, and reports that it did. The Watcher then reports that all paths may have changed. It
// cannot see changes through a memory map (mmap(2)) or changes that another machine makes on a network file system; Remote
// finds the latter.
//
// fsnotify was considered. It watches paths that exist, without the directories above them, and hides the mask of its watches. So
// the larger part of this package would be needed with it, too.
package inotify

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// names are the events of a directory that change which files its names stand for.
	names = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	// contents are the events of a file or directory itself. A directory also has these events for its files.
	contents = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	// moves are events after which the path must be followed again.
	moves = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_IGNORED | unix.IN_UNMOUNT
)

// maxTree is the number of directories that are watched below one path.
const maxTree = 10000

// A Change is the result of events.
type Change struct {
	Paths []Path // they may have changed
	All   bool   // the kernel has dropped events, so every path may have changed
	// Lost are the paths that could be watched before and cannot be watched now, with the reason. Unless All is set, Paths has them, too.
	Lost map[Path]error
}

// A Path is a path to watch. Name is absolute and clean.
type Path struct {
	Name string
	Tree bool // also everything below it
}

// A Watcher watches paths. It is safe for concurrent use.
type Watcher struct {
	file *os.File
	fd   int

	mu      sync.Mutex
	paths   map[Path]bool
	watches map[int32]*watch
	// lost are the paths that cannot be watched, with the reason.
	lost map[Path]error
	most int // directories below one path
}

// A watch is a watched inode.
type watch struct {
	dir string // a path of it, if it is a directory
	// byName are the paths that go through a name in this directory. self are the paths that end here. trees are the paths of which this is a
	// directory below.
	byName map[string]map[Path]bool
	self   map[Path]bool
	trees  map[Path]bool
}

// New returns a Watcher without paths. Close ends it.
func New() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("files cannot be watched: %w", err)
	}
	return &Watcher{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, paths: make(map[Path]bool), watches: make(map[int32]*watch), lost: make(map[Path]error), most: maxTree}, nil
}

// Close ends the Watcher, and Run.
func (w *Watcher) Close() error { return w.file.Close() }

// Set replaces the watched paths. It returns the paths that cannot be watched, with the reason, such as
// that the user has too many watches.
func (w *Watcher) Set(paths []Path) map[Path]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := make(map[Path]bool, len(paths))
	for _, p := range paths {
		wanted[p] = true
	}
	for p := range w.paths {
		if !wanted[p] {
			w.forget(p)
			delete(w.lost, p)
		}
	}
	w.paths = wanted
	for _, p := range paths {
		w.follow(p)
	}
	w.drop()
	return maps.Clone(w.lost)
}

// Run reads events until Close, and calls changed with their result. The error is an error of reading; nil after Close.
func (w *Watcher) Run(changed func(Change)) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buffer)
		if errors.Is(err, fs.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("changes of files cannot be read: %w", err)
		}
		events, err := parse(buffer[:n])
		if err != nil { // nothing is known about the events behind it
			events = append(events, event{wd: -1, mask: unix.IN_Q_OVERFLOW})
		}
		if c := w.take(events); c.All || len(c.Paths) > 0 {
			changed(c)
		}
	}
}

// take handles events.
func (w *Watcher) take(events []event) Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c Change
	touched, moved := make(map[Path]bool), make(map[Path]bool)
	for _, e := range events {
		if e.mask&unix.IN_Q_OVERFLOW != 0 {
			c.All = true
			continue
		}
		at := w.watches[e.wd]
		if at == nil {
			continue
		}
		for _, set := range []map[Path]bool{at.byName[e.name], at.trees} {
			for p := range set {
				touched[p] = true
				if e.mask&moves != 0 {
					moved[p] = true
				}
			}
		}
		if e.name == "" {
			for p := range at.self {
				touched[p] = true
			}
			if e.mask&(moves) != 0 {
				for p := range at.all() {
					touched[p], moved[p] = true, true
				}
			}
		}
		if e.mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
			delete(w.watches, e.wd)
		}
	}
	if c.All {
		moved = w.paths
	}
	before := maps.Clone(w.lost)
	for p := range moved {
		w.forget(p)
		w.follow(p)
	}
	if len(moved) > 0 {
		w.drop()
	}
	for p, err := range w.lost {
		if before[p] == nil {
			if c.Lost == nil {
				c.Lost = make(map[Path]error)
			}
			c.Lost[p] = err
		}
	}
	c.Paths = slices.Collect(maps.Keys(touched))
	return c
}

// all returns the paths that use a watch.
func (a *watch) all() map[Path]bool {
	set := maps.Clone(a.self)
	if set == nil {
		set = make(map[Path]bool)
	}
	maps.Copy(set, a.trees)
	for _, paths := range a.byName {
		maps.Copy(set, paths)
	}
	return set
}

// forget removes a path from all watches.
func (w *Watcher) forget(p Path) {
	for _, at := range w.watches {
		delete(at.self, p)
		delete(at.trees, p)
		for name, set := range at.byName {
			if delete(set, p); len(set) == 0 {
				delete(at.byName, name)
			}
		}
	}
}

// drop removes the watches that no path uses.
func (w *Watcher) drop() {
	for wd, at := range w.watches {
		if len(at.self)+len(at.trees)+len(at.byName) == 0 {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // the inode may be gone
			delete(w.watches, wd)
		}
	}
}

// follow adds the watches of a path.
func (w *Watcher) follow(p Path) {
	delete(w.lost, p)
	err := w.along(p, p.Name)
	if real := resolved(p.Name); err == nil && real != p.Name {
		err = w.along(p, real)
	}
	if err == nil && p.Tree {
		left := w.most
		err = w.below(p, p.Name, &left)
	}
	if err != nil {
		w.lost[p] = err
	}
}

// resolved returns a path without symbolic links, as far as it exists.
func resolved(name string) string {
	rest := ""
	for at := name; at != "/"; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
	return name
}

// along watches the directories of a path, and the file at its end.
func (w *Watcher) along(p Path, name string) error {
	dir := "/"
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "/"), "/") {
		at, err := w.add(dir, names)
		if at == nil {
			return err
		}
		at.dir = dir
		if at.byName == nil {
			at.byName = make(map[string]map[Path]bool)
		}
		if at.byName[part] == nil {
			at.byName[part] = make(map[Path]bool)
		}
		at.byName[part][p] = true
		dir = filepath.Join(dir, part)
	}
	at, err := w.add(name, contents|unix.IN_DONT_FOLLOW)
	if at != nil {
		if at.self == nil {
			at.self = make(map[Path]bool)
		}
		at.self[p] = true
	}
	return err
}

// below watches a directory and all directories below it.
func (w *Watcher) below(p Path, dir string, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("there are more than %d directories in it", w.most)
	}
	at, err := w.add(dir, names|contents)
	if at == nil {
		return err
	}
	at.dir = dir
	if at.trees == nil {
		at.trees = make(map[Path]bool)
	}
	at.trees[p] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is gone, which has an event, or it cannot be read, so nothing in it is managed
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := w.below(p, filepath.Join(dir, e.Name()), left); err != nil {
				return err
			}
		}
	}
	return nil
}

// add watches a file. It returns nil if the file does not exist; then a directory above it has an event when it does.
func (w *Watcher) add(name string, mask uint32) (*watch, error) {
	wd, err := unix.InotifyAddWatch(w.fd, name, mask|unix.IN_MASK_ADD)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, nil
	case errors.Is(err, unix.ENOSPC):
		return nil, errors.New("the user has too many watches. Raise fs.inotify.max_user_watches")
	case err != nil:
		return nil, &fs.PathError{Op: "watch", Path: name, Err: err}
	}
	at := w.watches[int32(wd)]
	if at == nil {
		at = &watch{}
		w.watches[int32(wd)] = at
	}
	return at, nil
}
