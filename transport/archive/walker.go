package archive

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// A walker opens directories below a root. It keeps some directories on the
// current path open. So if the entries of a tree come directory by directory,
// an entry costs only a few steps instead of a walk from the top.
type walker struct {
	top  *os.Root
	path []string // names on the path to the current directory
	open []opened // outermost first; the last one is the current directory
}

type opened struct {
	*os.Root
	depth int // number of path elements that lead to it
}

// maxOpen is the maximum number of directories that a walker keeps open. A
// hundred simultaneous downloads must not use all file descriptors of a
// process.
const maxOpen = 10

// parent returns the directory of a clean relative path, and the base name. The
// directory is valid until the next call.
func (w *walker) parent(name string) (*os.Root, string, error) {
	dir, base := path.Split(name)
	for name := range strings.SplitSeq(w.leave(strings.TrimSuffix(dir, "/")), "/") {
		if name == "" {
			continue
		}
		if err := w.enter(name); err != nil {
			return nil, "", err
		}
	}
	return w.current(), base, nil
}

// leave goes up to the innermost open directory that contains dir or is dir. It
// returns the rest of dir's path.
func (w *walker) leave(dir string) (rest string) {
	shared, rests := 0, dir
	for shared < len(w.path) && rests != "" {
		name, after, _ := strings.Cut(rests, "/")
		if name != w.path[shared] {
			break
		}
		rests = after
		shared++
	}
	for len(w.open) > 0 && w.open[len(w.open)-1].depth > shared {
		w.drop(len(w.open) - 1)
	}
	depth := 0
	if n := len(w.open); n > 0 {
		depth = w.open[n-1].depth
	}
	for _, name := range w.path[:depth] {
		dir = strings.TrimPrefix(dir[len(name):], "/")
	}
	w.path = w.path[:depth]
	return dir
}

// enter opens a directory in the current one. It does not follow links.
func (w *walker) enter(name string) error {
	info, err := w.current().Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	d, err := w.current().OpenRoot(name)
	if err != nil {
		return err
	}
	w.path = append(w.path, name)
	w.open = append(w.open, opened{d, len(w.path)})
	if len(w.open) > maxOpen {
		w.thin()
	}
	return nil
}

// thin closes one directory so that the distances between the others grow with
// their distance from the current one. So the way up through a deep tree takes
// few steps per directory.
func (w *walker) thin() {
	least, which := math.Inf(1), 0
	for i, d := range w.open[:len(w.open)-1] {
		before := 0
		if i > 0 {
			before = w.open[i-1].depth
		}
		if gap := float64(w.open[i+1].depth-before) / float64(len(w.path)-d.depth); gap < least {
			least, which = gap, i
		}
	}
	w.drop(which)
}

func (w *walker) drop(i int) {
	_ = w.open[i].Close()
	w.open = slices.Delete(w.open, i, i+1)
}

func (w *walker) current() *os.Root {
	if len(w.open) == 0 {
		return w.top
	}
	return w.open[len(w.open)-1].Root
}

func (w *walker) close() {
	for len(w.open) > 0 {
		w.drop(len(w.open) - 1)
	}
	w.path = nil
}
