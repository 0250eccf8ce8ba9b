package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"bolt/transport"
)

// Extract extracts a tar stream of the one file or directory base into root. It
// writes nothing outside of root (os.Root), for any names in the stream and
// any links that exist already. Files and directories get their
// permission bits. A hard link becomes a link to a file of the same stream, or
// a copy if the file system does not support links. Extract refuses all other
// kinds of entries, and streams that exceed the limits.
func Extract(r io.Reader, root *os.Root, base string, limits transport.Limits) error {
	return newExtractor(root, base, limits).extract(r)
}

func newExtractor(root *os.Root, base string, limits transport.Limits) *extractor {
	reserves := limits.Bytes == 0
	limits = withDefaults(limits)
	return &extractor{
		root: root, base: base, at: walker{top: root}, limits: limits, used: limits.Used,
		room: room{dir: root, reserves: reserves, taken: limits.Used.Bytes + int64(limits.Used.Files)*minRoom},
		seed: maphash.MakeSeed(), files: make(map[uint64]struct{}),
	}
}

func (x *extractor) extract(r io.Reader) error {
	defer x.at.close()
	x.empty = true
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive from the machine: %w", err)
		}
		if err := x.entry(h, tr); err != nil {
			return err
		}
	}
	if x.empty {
		return errEmptyArchive
	}
	return x.finish()
}

// undo removes the directory base if this extractor created it and it is empty.
func (x *extractor) undo() {
	if x.made {
		_ = x.root.Remove(x.base) // a directory with content stays
	}
}

// errEmptyArchive is the error for an empty archive: tar could read nothing.
// tar itself reports the reason.
var errEmptyArchive = errors.New("the archive from the machine is empty")

type extractor struct {
	root   *os.Root
	base   string
	at     walker
	limits transport.Limits
	room   room

	used  *transport.Usage
	empty bool // no entry has arrived
	made  bool // this extractor has created the directory base
	buf   []byte

	// files holds the hash of the path of each file that was written. Only
	// these files may be link targets.
	seed  maphash.Seed
	files map[uint64]struct{}

	// closed are the directories that their owner cannot write, read or search,
	// in order of arrival. They get their modes at the end.
	closed []dirMode
	names  int // bytes in their paths
}

type dirMode struct {
	name string
	mode fs.FileMode
}

// maxClosedNames limits the memory for the paths of closed directories.
const maxClosedNames = 32 << 20

const ownerAll = 0o700

func (x *extractor) entry(h *tar.Header, r io.Reader) error {
	name, err := x.name(h.Name)
	if err != nil {
		return err
	}
	x.empty = false
	if x.used.Files++; x.used.Files > x.limits.Files {
		return tooMany(x.limits.Files)
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		return x.dir(name, mode)
	case tar.TypeReg, tar.TypeCont:
		if isSparse(h) {
			break
		}
		return x.file(name, mode, h.Size, r)
	case tar.TypeLink:
		return x.link(name, h.Linkname)
	}
	return fmt.Errorf("%q is neither a regular file nor a directory", h.Name)
}

// isSparse reports whether an entry holds only the parts of a file that are not
// zero. A few bytes of such an entry could fill the disk. tar creates such
// entries only on request.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// name checks a path of the archive: it must be base or below it.
func (x *extractor) name(name string) (string, error) {
	clean := path.Clean(name)
	if strings.Contains(name, "\x00") || clean != x.base && !strings.HasPrefix(clean, x.base+"/") {
		return "", fmt.Errorf("the archive from the machine has an entry %q that is not below %q", clip(name), x.base)
	}
	if strings.Count(clean, "/") > x.limits.Depth {
		return "", tooDeep(x.limits.Depth)
	}
	return clean, nil
}

func (x *extractor) dir(name string, mode fs.FileMode) error {
	parent, base, err := x.at.parent(name)
	if err != nil {
		return err
	}
	if err := x.room.take(minRoom); err != nil {
		return err
	}
	made, err := makeDir(parent, base)
	if err != nil {
		return err
	}
	x.made = x.made || made && name == x.base
	if mode&ownerAll == ownerAll {
		return parent.Chmod(base, mode)
	}
	if x.names += len(name); x.names > maxClosedNames {
		return fmt.Errorf("more directories without write permission than %d MiB of paths hold", maxClosedNames>>20)
	}
	x.closed = append(x.closed, dirMode{name, mode})
	return parent.Chmod(base, mode|ownerAll)
}

// makeDir creates a directory, unless there is one.
func makeDir(parent *os.Root, base string) (made bool, err error) {
	err = parent.Mkdir(base, ownerAll)
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	info, err := parent.Lstat(base)
	if err != nil || info.IsDir() {
		return false, err
	}
	if err := parent.RemoveAll(base); err != nil {
		return false, err
	}
	err = parent.Mkdir(base, ownerAll)
	return err == nil, err
}

// file writes a new file, so that nothing is written through a link. It removes
// an incomplete file.
func (x *extractor) file(name string, mode fs.FileMode, size int64, r io.Reader) (err error) {
	if x.used.Bytes += size; x.used.Bytes > x.limits.Bytes {
		return tooLarge(x.limits.Bytes)
	}
	parent, base, err := x.at.parent(name)
	if err != nil {
		return err
	}
	f, err := create(parent, base)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = parent.Remove(base) // the first error is returned
		}
	}()
	if err := x.fill(f, size, r); err != nil {
		return err
	}
	x.files[x.key(name)] = struct{}{}
	return f.Chmod(mode)
}

// create opens a new file and replaces any existing entry.
func create(parent *os.Root, base string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := parent.OpenFile(base, flags, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := parent.RemoveAll(base); err != nil {
		return nil, err
	}
	return parent.OpenFile(base, flags, 0o600)
}

// fill writes size bytes to a file, as long as there is enough space.
func (x *extractor) fill(f *os.File, size int64, r io.Reader) error {
	if x.buf == nil {
		x.buf = make([]byte, readBuffer)
	}
	if size == 0 {
		return x.room.take(minRoom)
	}
	for left := size; left > 0; {
		n := min(left, int64(len(x.buf)))
		if err := x.room.take(max(n, minRoom)); err != nil {
			return err
		}
		if _, err := io.ReadFull(r, x.buf[:n]); err != nil {
			return err
		}
		if _, err := f.Write(x.buf[:n]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func (x *extractor) key(name string) uint64 { return maphash.String(x.seed, name) }

// link adds another name for a file.
func (x *extractor) link(name, target string) error {
	from, err := x.name(target)
	if err != nil {
		return err
	}
	if from == name {
		return fmt.Errorf("the archive from the machine links %q to itself", clip(name))
	}
	if _, written := x.files[x.key(from)]; !written {
		return fmt.Errorf("the archive from the machine links %q to something that is not one of its files", clip(name))
	}
	info, err := x.linked(name, from)
	if err != nil || info == nil {
		return err
	}
	return x.duplicate(name, from, info)
}

// linked creates a hard link. If the file system does not support that, it
// returns the FileInfo of the file to copy.
func (x *extractor) linked(name, from string) (fs.FileInfo, error) {
	source, sourceBase, err := x.at.parent(from)
	if err != nil {
		return nil, err
	}
	info, err := source.Lstat(sourceBase)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // it was replaced in the meantime
		return nil, fmt.Errorf("the archive from the machine links %q to something that is not one of its files", clip(name))
	}
	parent, base, err := x.at.parent(name)
	if err != nil {
		return nil, err
	}
	if err := parent.RemoveAll(base); err != nil {
		return nil, err
	}
	if err := x.room.take(minRoom); err != nil {
		return nil, err
	}
	if path.Dir(from) == path.Dir(name) {
		err = parent.Link(sourceBase, base)
	} else {
		err = x.root.Link(from, name)
	}
	if err != nil {
		return info, nil // too many links, or no support for links
	}
	x.files[x.key(name)] = struct{}{}
	return nil, nil
}

// duplicate copies a file that was written.
func (x *extractor) duplicate(name, from string, info fs.FileInfo) error {
	source, base, err := x.at.parent(from)
	if err != nil {
		return err
	}
	f, err := source.Open(base)
	if err != nil {
		return err
	}
	defer f.Close()
	return x.file(name, info.Mode().Perm(), info.Size(), f)
}

// finish sets the permission bits of the closed directories, inner ones first.
// Nothing more is written into them after that.
func (x *extractor) finish() error {
	for i := len(x.closed) - 1; i >= 0; i-- {
		parent, base, err := x.at.parent(x.closed[i].name)
		if err != nil {
			return err
		}
		if err := parent.Chmod(base, x.closed[i].mode); err != nil {
			return err
		}
	}
	return nil
}
