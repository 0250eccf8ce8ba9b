package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxEntries and maxNames limit the index of an archive, which is held in
	// memory: about 50 bytes per entry in addition to its path.
	maxEntries = 1 << 20
	maxNames   = 64 << 20
	// trailer is the end of a tar stream: two blocks of zeros.
	trailer   = 1024
	blockSize = 512
)

// FS is the file system in an archive of Pack. It also supports paths that are
// not UTF-8. It is safe for concurrent use if its reader is.
type FS struct {
	// Origin is the path from which the archive was packed, "" if it is not
	// known; see Describe. It must be set before FS is used.
	Origin string

	r       io.ReaderAt
	entries []entry // in the order of comparePaths
}

// entry is a file or directory. It is its own fs.FileInfo and fs.DirEntry.
type entry struct {
	path   string
	offset int64 // of a file's bytes
	size   int64
	mode   fs.FileMode
	end    int // index after the last entry below it
}

// Open reads the index of an archive of size bytes. The FS later reads files
// from r; the caller remains the owner of r. Open accepts only the format of
// Pack: its kinds of entries, its order, its end, and no data in the fields
// that Pack leaves empty. It limits the size of the index (a million files).
func Open(r io.ReaderAt, size int64) (*FS, error) {
	x := indexer{from: io.NewSectionReader(r, 0, size), size: size, fs: &FS{r: r}, maxEntries: maxEntries, maxNames: maxNames}
	if err := x.read(); err != nil {
		return nil, fmt.Errorf("packed tree: %w", err)
	}
	return x.fs, nil
}

// Top returns the name of the entry at the top.
func (f *FS) Top() string { return f.entries[0].path }

// An indexer reads the headers of an archive.
type indexer struct {
	from  *io.SectionReader
	size  int64
	fs    *FS
	names int   // bytes in all paths
	inner []int // directories on the path to the last entry, including that entry

	maxEntries, maxNames int
}

func (x *indexer) read() error {
	tr := tar.NewReader(x.from) // seeks over the files, and reads no further than necessary
	next := int64(0)            // position of the next header
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		offset, err := x.from.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if err := x.add(h, offset); err != nil {
			return err
		}
		next = offset + (h.Size+blockSize-1)/blockSize*blockSize
	}
	switch {
	case len(x.fs.entries) == 0:
		return errors.New("it is empty")
	case next != x.size-trailer:
		return errors.New("it has a wrong end")
	}
	x.leave(0)
	return nil
}

func (x *indexer) add(h *tar.Header, offset int64) error {
	name, isDir := h.Name, h.Typeflag == tar.TypeDir
	if isDir {
		name = strings.TrimSuffix(name, "/")
	}
	switch {
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return fmt.Errorf("%q is %s", clip(name), notCopied)
	case len(name) > maxPath || !isPath(name) || isDir && h.Name != name+"/":
		return fmt.Errorf("%q is not a path", clip(name))
	case !plain(h) || isDir && h.Size != 0:
		return fmt.Errorf("the header of %q has unexpected fields", clip(name))
	case len(x.fs.entries) == x.maxEntries:
		return fmt.Errorf("it has more than %d files", x.maxEntries)
	case x.names+len(name) > x.maxNames:
		return fmt.Errorf("its paths take more than %d bytes", x.maxNames)
	}
	if n := len(x.fs.entries); n > 0 {
		if comparePaths(x.fs.entries[n-1].path, name) >= 0 {
			return fmt.Errorf("%q is out of order", clip(name))
		}
		if !x.enter(path.Dir(name)) {
			return fmt.Errorf("%q is in no directory", clip(name))
		}
	} else if !isBase(name) {
		return fmt.Errorf("%q is in no directory", clip(name))
	}
	e := entry{path: name, offset: offset, size: h.Size, mode: fs.FileMode(h.Mode), end: len(x.fs.entries) + 1}
	if isDir {
		e.mode |= fs.ModeDir
		x.inner = append(x.inner, len(x.fs.entries))
	}
	x.names += len(name)
	x.fs.entries = append(x.fs.entries, e)
	return nil
}

// plain reports whether a header has no data in the fields that Pack leaves
// empty.
func plain(h *tar.Header) bool {
	return h.Format == tar.FormatGNU && h.Mode&^int64(fs.ModePerm) == 0 && h.Size >= 0 && h.ModTime.Equal(packedAt) &&
		h.Uid == 0 && h.Gid == 0 && h.Uname == "" && h.Gname == "" && h.Linkname == "" && h.Devmajor == 0 && h.Devminor == 0 &&
		h.AccessTime.IsZero() && h.ChangeTime.IsZero() && len(h.PAXRecords) == 0
}

// enter leaves directories until dir is the innermost one. It returns false if
// dir is none of them.
func (x *indexer) enter(dir string) bool {
	i := len(x.inner) - 1
	for i >= 0 && x.fs.entries[x.inner[i]].path != dir {
		i--
	}
	if i < 0 {
		return false
	}
	x.leave(i + 1)
	return true
}

// leave closes all directories except the outermost depth ones.
func (x *indexer) leave(depth int) {
	for _, i := range x.inner[depth:] {
		x.fs.entries[i].end = len(x.fs.entries)
	}
	x.inner = x.inner[:depth]
}

// isPath is fs.ValidPath, but rejects "." and accepts paths that are not UTF-8.
func isPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !isBase(part) {
			return false
		}
	}
	return true
}

// comparePaths orders paths so that a directory is before everything below it,
// and everything below it is before the directory's next sibling.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		default:
			return 1
		}
	}
	return len(a) - len(b)
}

// clip limits the length of a name in a message.
func clip(name string) string { return name[:min(len(name), 200)] }

// find returns the entry of a path, or the error of an operation on it. "." is
// a directory that contains the entry at the top.
func (f *FS) find(op, name string) (*entry, error) {
	if name == "." {
		return &entry{path: ".", mode: fs.ModeDir | 0o555, end: len(f.entries)}, nil
	}
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return comparePaths(e.path, name) })
	switch {
	case ok:
		return &f.entries[i], nil
	case !isPath(name):
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS. A file is an io.ReaderAt and an io.Seeker, too.
func (f *FS) Open(name string) (fs.File, error) {
	e, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return &openDir{entry: e, fs: f, next: f.first(e)}, nil
	}
	return &openFile{io.NewSectionReader(f.r, e.offset, e.size), e}, nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	e, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	d := openDir{entry: e, fs: f, next: f.first(e)}
	return d.ReadDir(-1)
}

// first returns the index of the first entry in a directory, or of the entry
// after an empty directory.
func (f *FS) first(dir *entry) int {
	if dir.path == "." {
		return 0
	}
	i, _ := slices.BinarySearchFunc(f.entries, dir.path, func(e entry, name string) int { return comparePaths(e.path, name) })
	return i + 1
}

func (e *entry) Name() string               { return path.Base(e.path) }
func (e *entry) Size() int64                { return e.size }
func (e *entry) Mode() fs.FileMode          { return e.mode }
func (e *entry) ModTime() time.Time         { return packedAt }
func (e *entry) IsDir() bool                { return e.mode.IsDir() }
func (e *entry) Sys() any                   { return nil }
func (e *entry) Type() fs.FileMode          { return e.mode.Type() }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }

type openFile struct {
	*io.SectionReader
	entry *entry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	entry *entry
	fs    *FS
	next  int // index of the next entry to list
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.entry.path, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	for d.next < d.entry.end && (n <= 0 || len(list) < n) {
		e := &d.fs.entries[d.next]
		list = append(list, e)
		d.next = e.end
	}
	if n > 0 && len(list) == 0 {
		return nil, io.EOF
	}
	return list, nil
}
