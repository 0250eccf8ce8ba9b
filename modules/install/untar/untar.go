// Package untar unpacks untrusted tar archives into a directory: releases of
// modules, and trees of commits.
//
//	err := untar.Extract(ctx, r, dir, untar.Options{Strip: true})
//
// It writes nothing outside of the directory, for any names and links.
// Directories, regular files and links among them are unpacked; devices, pipes
// and sparse files are errors. Owners, times and special bits are ignored: a
// file is executable or not. The amount of written data is limited.
package untar

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Default limits of an archive. The largest modules have some thousands of
// files and a few dozen megabytes.
const (
	maxBytes = 1 << 30
	maxFiles = 100_000
)

// maxPath is the maximum length of an entry's name: Linux's PATH_MAX.
const maxPath = 4096

// maxDepth is the maximum depth of directories: each file can create that many.
const maxDepth = 64

// Options set how to unpack.
type Options struct {
	// Strip removes the first element of all names, which must be the same in
	// all entries: releases have everything in one directory.
	Strip bool
	// Bytes and Files are the limits of the archive; 0 is the default.
	Bytes int64
	Files int
}

// Extract unpacks the tar stream r into dir, which must exist and should be
// empty. After an error dir contains a part of the archive.
func Extract(ctx context.Context, r io.Reader, dir string, o Options) error {
	if o.Bytes == 0 {
		o.Bytes = maxBytes
	}
	if o.Files == 0 {
		o.Files = maxFiles
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	x := &extractor{root: root, o: o, left: o.Bytes}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if err := x.entry(ctx, h, tr); err != nil {
			return err
		}
	}
	if x.files == 0 {
		return errors.New("the archive is empty")
	}
	return x.linkAll()
}

type extractor struct {
	root  *os.Root
	o     Options
	top   string
	files int
	left  int64
	links []link
}

// A link is created at the end, so that nothing is written through one.
type link struct{ name, target string }

func (x *extractor) entry(ctx context.Context, h *tar.Header, r io.Reader) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeXHeader:
		return nil // a comment; git writes the commit there
	}
	if x.files++; x.files > x.o.Files {
		return fmt.Errorf("the archive has more than %d files", x.o.Files)
	}
	name, err := x.name(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return x.dir(name)
	case tar.TypeReg:
		if name == "." {
			return fmt.Errorf("the archive has a file %q where its directory should be", h.Name)
		}
		if h.PAXRecords["GNU.sparse.realsize"] != "" || h.PAXRecords["GNU.sparse.size"] != "" {
			return fmt.Errorf("the archive has a sparse file %q", h.Name)
		}
		return x.file(name, h, r)
	case tar.TypeSymlink:
		if name == "." {
			return fmt.Errorf("the archive has a link %q where its directory should be", h.Name)
		}
		if h.Linkname == "" || path.IsAbs(h.Linkname) || strings.ContainsRune(h.Linkname, 0) ||
			!local(path.Join(path.Dir(name), h.Linkname)) {
			return outside(h.Name, h.Linkname)
		}
		x.links = append(x.links, link{name, h.Linkname})
		return nil
	}
	return fmt.Errorf("the archive has %q, which is neither a file, a directory nor a symbolic link", h.Name)
}

func outside(name, target string) error {
	return fmt.Errorf("the archive has a link %q to %q, outside of its directory", name, target)
}

// local reports whether a clean path stays below its starting directory.
func local(name string) bool {
	return name != ".." && !strings.HasPrefix(name, "../") && !path.IsAbs(name)
}

// name checks the name of an entry. It removes the first element if Strip is
// set.
func (x *extractor) name(name string) (string, error) {
	clean := path.Clean(name)
	if strings.Count(clean, "/") > maxDepth {
		return "", fmt.Errorf("the archive has an entry %.200q, more than %d directories deep", name, maxDepth)
	}
	if name == "" || len(name) > maxPath || strings.ContainsRune(name, 0) || path.IsAbs(name) || hasDotDot(name) {
		return "", fmt.Errorf("the archive has an entry %.200q, which is not a path inside it", name)
	}
	if !x.o.Strip {
		return clean, nil
	}
	if clean == "." {
		return ".", nil
	}
	top, rest, below := strings.Cut(clean, "/")
	if x.top == "" {
		x.top = top
	}
	if top != x.top {
		return "", fmt.Errorf("the archive has %.200q beside its directory %q", name, x.top)
	}
	if !below {
		return ".", nil
	}
	return rest, nil
}

func hasDotDot(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func (x *extractor) dir(name string) error {
	if name == "." {
		return nil
	}
	if err := x.root.MkdirAll(name, 0o755); err != nil {
		return written(name, err)
	}
	return nil
}

func (x *extractor) file(name string, h *tar.Header, r io.Reader) error {
	if h.Size > x.left {
		return fmt.Errorf("the archive holds more than %d MiB", x.o.Bytes>>20)
	}
	x.left -= h.Size
	if dir := path.Dir(name); dir != "." {
		if err := x.root.MkdirAll(dir, 0o755); err != nil {
			return written(name, err)
		}
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	// If two entries have one name, the last one takes effect, as in every tar.
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return written(name, err)
	}
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	if err != nil {
		return written(name, err)
	}
	return nil
}

func written(name string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("write %s of the archive: %w", name, err)
}

// linkAll creates the links. The target of a link depends on the other links,
// so all are checked at the end.
func (x *extractor) linkAll() error {
	for _, l := range x.links {
		if dir := path.Dir(l.name); dir != "." {
			if err := x.root.MkdirAll(dir, 0o755); err != nil {
				return written(l.name, err)
			}
		}
		if err := x.root.Symlink(l.target, l.name); err != nil {
			return written(l.name, err)
		}
	}
	for _, l := range x.links {
		// A dangling link is harmless: os.Root distinguishes it from a link
		// that leads outside, unless there are too many links on the way.
		switch _, err := x.root.Stat(l.name); {
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case errors.Is(err, syscall.ELOOP):
			return fmt.Errorf("the archive has a link %q to %q, which leads to itself or through too many others", l.name, l.target)
		default:
			return outside(l.name, l.target)
		}
	}
	return nil
}
