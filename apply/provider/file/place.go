package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
)

// A place is a name in an open directory. Its owner closes it.
type place struct {
	dir  int // descriptor of the directory
	name string
	file *os.File // of dir
}

// path returns the path for messages.
func (p place) path() string {
	if p.file == nil {
		return p.name
	}
	return filepath.Join(p.file.Name(), p.name)
}

func (p place) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// near returns the place of an item for reading it.
func (f *item) near() (place, error) {
	if f.r.Within != "" {
		return f.inside()
	}
	return place{dir: unix.AT_FDCWD, name: f.path}, nil
}

// parent returns the place of an item for changing it. The directory is open, so another process cannot
// exchange it meanwhile.
func (f *item) parent() (place, error) {
	if f.r.Within != "" {
		return f.inside()
	}
	return openParent(f.path)
}

func openParent(path string) (place, error) {
	d, name, err := safepath.Parent(path)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, fmt.Errorf("its parent directory %s does not exist", filepath.Dir(path))
	}
	if err != nil {
		return place{}, err
	}
	return place{int(d.Fd()), name, d}, nil
}

// inside returns the place of a generated file.
func (f *item) inside() (place, error) {
	root, err := f.root()
	if err != nil {
		return place{}, err
	}
	defer root.Close()
	dir, name := filepath.Split(f.within())
	d, err := root.Open(filepath.Clean(dir + "."))
	if err != nil {
		return place{}, err
	}
	return place{int(d.Fd()), name, d}, nil
}

// within returns the path of a generated file, relative to the directory of its generator.
func (f *item) within() string {
	rel, err := filepath.Rel(f.r.Within, f.path)
	if err != nil {
		return f.path // which the root refuses
	}
	return rel
}

// root opens the generator's directory. The caller closes it.
func (f *item) root() (*os.Root, error) {
	if !f.follow {
		if is, err := os.Lstat(f.r.Within); err == nil && is.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("the directory %s has become a link", f.r.Within)
		}
	}
	return openRoot(f.r.Within)
}

// openRoot is os.OpenRoot for a path whose links are safe to follow.
func openRoot(path string) (*os.Root, error) {
	safe, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	defer safe.Close()
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if err = same(safe, root, path); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func same(safe *os.File, root *os.Root, path string) error {
	was, err := safe.Stat()
	if err != nil {
		return err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(was, now) {
		err = fmt.Errorf("the directory %s was exchanged meanwhile", path)
	}
	return err
}

// A state describes the object at a path.
type state struct {
	kind   string // as in ensure; "" if nothing exists
	st     unix.Stat_t
	target string // of a link
	sum    string // of the content, if it is not as wanted
	label  label
}

func (s *state) exists() bool { return s.kind != "" }

func (s *state) mode() uint32 { return s.st.Mode & 0o7777 }

// String returns the state for messages.
func (s *state) String() string {
	if !s.exists() {
		return absent
	}
	return s.kind
}

// look returns the state at a place without its content. A missing object is not an error.
func (f *item) look(p place) (s state, err error) {
	err = unix.Fstatat(p.dir, p.name, &s.st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && f.follow && s.st.Mode&unix.S_IFMT == unix.S_IFLNK {
		if err := f.stays(); err != nil {
			return s, err
		}
		err = unix.Fstatat(p.dir, p.name, &s.st, 0)
	}
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return state{}, nil
	case err != nil:
		return state{}, &fs.PathError{Op: "stat", Path: f.path, Err: err}
	}
	s.kind = kindOf(s.st.Mode)
	if s.kind == link {
		s.target, err = readLink(p)
	}
	return s, err
}

// stays reports an error for a generated file that is a link out of the generator's directory.
func (f *item) stays() error {
	if f.r.Within == "" {
		return nil
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = root.Stat(f.within())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// kindOf returns Puppet's word for a type of file.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return regular
	case unix.S_IFDIR:
		return directory
	case unix.S_IFLNK:
		return link
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR:
		return "characterSpecial"
	case unix.S_IFBLK:
		return "blockSpecial"
	}
	return "unknown"
}

func readLink(p place) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(p.dir, p.name, buf)
		if err != nil {
			return "", &fs.PathError{Op: "readlink", Path: p.name, Err: err}
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// open opens the file at a place for reading. It does not wait for a writer of a pipe.
func (f *item) open(p place) (io.ReadCloser, error) {
	if f.follow && f.r.Within != "" {
		root, err := f.root()
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.OpenFile(f.within(), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	}
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if !f.follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openat(p, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.path, Err: err}
	}
	return reader(fd), nil
}

// A reader reads from a descriptor. An os.File would make several more system calls.
type reader int

func (r reader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(r), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (r reader) Close() error { return unix.Close(int(r)) }

func openat(p place, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(p.dir, p.name, flags, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// temporary returns the name of the temporary file for the file name. It is the same in each run.
func temporary(name string) string {
	const suffix = ".bolt"
	if t := "." + name + suffix; len(t) <= unix.NAME_MAX && !strings.HasPrefix(name, "..") {
		return t
	}
	return "." + sha.summed(name)[:32] + suffix
}
